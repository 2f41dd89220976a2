/* SPDX-License-Identifier: Apache-2.0 */
/* sample_options.h - what is asked of the samples of a process beside its threads' stacks. */
#ifndef AGENT_DISCOVER_SAMPLE_OPTIONS_H
#define AGENT_DISCOVER_SAMPLE_OPTIONS_H

#include "unwind/cpy.h"

/* Which stacks go on through the asyncio tasks that await what runs. */
enum sample_options_tasks {
    TASKS_NONE,
    TASKS_RUNNING, /* those of threads that run a task */
    TASKS_ALL      /* and tasks that wait, by themselves, have stacks of their own */
};

/* All 0: nothing. It holds no pointer: see target_profile.h. */
struct sample_options {
    uint32_t frames;                 /* enum cpy_frame_option */
    bool exception;                  /* VALUE_EXCEPTION */
    bool gil;                        /* VALUE_GIL is what somebody wants to know */
    bool main_only;                  /* no thread but each interpreter's main one */
    enum sample_options_tasks tasks; /* CPython 3.14 and later */
    uint64_t hang_ns;                /* what does nothing for so long hangs; 0: nothing does */
};

/* What the memory of some versions does not tell: bit, what of it is said. */
#define MISSING_OPTIONS(X)                                                                      \
    X(NATIVE, "keeps no mark where C code calls Python (3.11 and later do): no <native>")       \
    X(GC, "does not tell which thread collects garbage (3.7 and later with a GIL do): no <GC>") \
    X(GIL, "has no GIL that a thread could hold: no GIL time, and no thread is seen stuck")     \
    X(TASKS, "keeps asyncio's tasks where nobody finds them (3.14 and later do not): threads' " \
             "own stacks instead")

enum missing_option {
#define MISSING_OPTION(name, text) MISSING_OPTION_##name,
    MISSING_OPTIONS(MISSING_OPTION)
#undef MISSING_OPTION
        MISSING_OPTION_COUNT
};

/* What of `wants` a target's version does not tell: a bit for each enum missing_option. */
uint32_t sample_options_missing(const struct sample_options *options,
                                const struct cpy_target *target);

/* The end of a sentence that begins with the version. Static. */
const char *missing_option_text(enum missing_option lack);

#endif
