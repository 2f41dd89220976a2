/* SPDX-License-Identifier: Apache-2.0 */
/* missing_features.c - which features the memory of a version does not tell. */
#include "unwind/target.h"

/* Python code that C code calls has a frame of its own kind, or a mark, from 3.11 on. */
static uint32_t lacking_frames(const struct layout *l)
{
    bool tells_collecting =
        l->interp.collecting != NO_FIELD || l->runtime.collecting != NO_FIELD; /* not 3.6 */

    return (l->frames == FRAMES_OBJECT ? (uint32_t)CPY_FRAME_NATIVE : 0) |
           (tells_collecting && !l->free_threaded ? 0 : (uint32_t)CPY_FRAME_GC) |
           (l->frames == FRAMES_OBJECT ? (uint32_t)CPY_FRAME_POSITIONS : 0);
}

static uint32_t lacking_status(const struct layout *l)
{
    return (l->thread.gil_requested == NO_FIELD ? (uint32_t)CPY_STATUS_GIL_WAIT : 0) |
           (l->free_threaded ? (uint32_t)CPY_STATUS_GIL : 0);
}

void cpy_missing_features(const struct cpy_target *t, const struct cpy_options *asked,
                          struct cpy_options *out)
{
    const struct layout *l = &t->found.layout;

    *out = (struct cpy_options){.frames = asked->frames & lacking_frames(l),
                                .status = asked->status & lacking_status(l)};
}

bool cpy_tells_tasks(const struct cpy_target *t)
{
    return t->found.layout.generator.size != 0;
}
