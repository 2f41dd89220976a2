/* SPDX-License-Identifier: Apache-2.0 */
/* sample_options.c - see sample_options.h. */
#include "agent/discover/sample_options.h"

uint32_t sample_options_missing(const struct sample_options *options,
                                const struct cpy_target *target)
{
    const struct cpy_options asked = {.frames = options->frames, .status = CPY_STATUS_GIL};
    struct cpy_options lacks;
    bool gil = options->gil || options->hang_ns > 0;

    cpy_missing_features(target, &asked, &lacks);
    return (lacks.frames & CPY_FRAME_NATIVE ? 1U << MISSING_OPTION_NATIVE : 0) |
           (lacks.frames & CPY_FRAME_GC ? 1U << MISSING_OPTION_GC : 0) |
           (lacks.status & CPY_STATUS_GIL && gil ? 1U << MISSING_OPTION_GIL : 0) |
           (options->tasks != TASKS_NONE && !cpy_tells_tasks(target) ? 1U << MISSING_OPTION_TASKS
                                                                     : 0);
}

const char *missing_option_text(enum missing_option lack)
{
    static const char *const texts[] = {
#define MISSING_OPTION_TEXT(name, text) text,
        MISSING_OPTIONS(MISSING_OPTION_TEXT)
#undef MISSING_OPTION_TEXT
    };

    return texts[lack];
}
