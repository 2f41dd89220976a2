/* SPDX-License-Identifier: Apache-2.0 */
/* sample_options.c - see sample_options.h. */
#include "agent/discover/sample_options.h"

uint32_t wants_lacking(const struct wants *wants, const struct cpy_target *target)
{
    const struct cpy_options asked = {.frames = wants->frames, .status = CPY_STATUS_GIL};
    struct cpy_options lacks;
    bool gil = wants->gil || wants->hang_ns > 0;

    cpy_lacks(target, &asked, &lacks);
    return (lacks.frames & CPY_FRAME_NATIVE ? 1U << WANTS_LACK_NATIVE : 0) |
           (lacks.frames & CPY_FRAME_GC ? 1U << WANTS_LACK_GC : 0) |
           (lacks.status & CPY_STATUS_GIL && gil ? 1U << WANTS_LACK_GIL : 0) |
           (wants->tasks != TASKS_NONE && !cpy_tells_tasks(target) ? 1U << WANTS_LACK_TASKS : 0);
}

const char *wants_lack_text(enum wants_lack lack)
{
    static const char *const texts[] = {
#define WANTS_TEXT(name, text) text,
        WANTS_LACKS(WANTS_TEXT)
#undef WANTS_TEXT
    };

    return texts[lack];
}
