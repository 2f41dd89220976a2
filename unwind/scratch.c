/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - memory that targets need only during a sample; of one target, or shared. */
#include <stdlib.h>
#include <unistd.h>

#include "unwind/target.h"

/* Makes room for the stack that is used if the thread cache has none. */
static bool make_stack(struct cached_stack *stack)
{
    struct thread_cache nowhere = {0};

    return thread_cache_reserve(&nowhere, stack, CPY_DEPTH_MAX);
}

/* A part of the descriptors that there may be; each process needs some. */
static size_t stat_files_max(void)
{
    enum { PART = 32 };
    const long limit = sysconf(_SC_OPEN_MAX) / PART;

    return limit < 1 ? 1 : limit < SCHED_IDLE_FILES_MAX ? (size_t)limit : SCHED_IDLE_FILES_MAX;
}

struct cpy_scratch *cpy_scratch_new(void)
{
    struct cpy_scratch *scratch = calloc(1, sizeof(*scratch));

    if (!scratch)
        return NULL;
    scratch->stat_files.max = stat_files_max();
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
    sched_idle_files_finish(&scratch->stat_files);
    walk_scratch_free(scratch->walk);
    free(scratch->raw);
    free(scratch->addrs);
    free(scratch->frames);
    free(scratch->stack.raw);
    free(scratch->stack.frames);
    bpf_reader_free(scratch->bpf_reader);
    free(scratch);
}

bool cpy_scratch_use_bpf(struct cpy_scratch *scratch)
{
    if (!scratch)
        return false;
    if (!scratch->bpf_reader)
        scratch->bpf_reader = bpf_reader_new();
    return scratch->bpf_reader != NULL;
}

size_t cpy_scratch_files_left(const struct cpy_scratch *scratch)
{
    return sched_idle_files_left(&scratch->stat_files);
}

void cpy_use_scratch(struct cpy_target *t, struct cpy_scratch *scratch)
{
    if (!t->scratch_borrowed)
        cpy_scratch_free(t->scratch);
    t->scratch = scratch;
    t->scratch_borrowed = true;
}
