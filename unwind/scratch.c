/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - the memory that a target needs only while it is read, of its own or shared. */
#include <stdlib.h>

#include "unwind/target.h"

/* The stack that is used where there is no room to keep one. */
static bool make_stack(struct kept_stack *stack)
{
    struct keep nowhere = {0};

    return keep_room(&nowhere, stack, CPY_DEPTH_MAX);
}

struct cpy_scratch *cpy_scratch_new(void)
{
    struct cpy_scratch *scratch = calloc(1, sizeof(*scratch));

    if (!scratch)
        return NULL;
    scratch->walk = walk_scratch_new();
    scratch->raw = malloc(sizeof(*scratch->raw));
    scratch->addrs = malloc(CPY_DEPTH_MAX * sizeof(*scratch->addrs));
    scratch->frames = malloc(CPY_DEPTH_MAX * sizeof(*scratch->frames));
    if (scratch->walk && scratch->raw && scratch->addrs && scratch->frames &&
        make_stack(&scratch->stack))
        return scratch;
    cpy_scratch_free(scratch);
    return NULL;
}

void cpy_scratch_free(struct cpy_scratch *scratch)
{
    if (!scratch)
        return;
    walk_scratch_free(scratch->walk);
    free(scratch->raw);
    free(scratch->addrs);
    free(scratch->frames);
    free(scratch->stack.raw);
    free(scratch->stack.frames);
    onsite_free(scratch->onsite);
    free(scratch);
}

bool cpy_scratch_read_onsite(struct cpy_scratch *scratch)
{
    if (!scratch)
        return false;
    if (!scratch->onsite)
        scratch->onsite = onsite_new();
    return scratch->onsite != NULL;
}

void cpy_use_scratch(struct cpy_target *t, struct cpy_scratch *scratch)
{
    if (!t->borrows)
        cpy_scratch_free(t->scratch);
    t->scratch = scratch;
    t->borrows = true;
}
