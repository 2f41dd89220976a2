/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_options.h - options of the samples of a process, beside the stacks of its threads.
 */
#ifndef AGENT_DISCOVER_SAMPLE_OPTIONS_H
#define AGENT_DISCOVER_SAMPLE_OPTIONS_H

#include "agent/proc/cmdline.h"
#include "unwind/cpy.h"

/* Whether stacks are extended by the asyncio tasks that await the running one. */
enum sample_options_tasks {
    TASKS_NONE,    /* no */
    TASKS_RUNNING, /* stacks of threads that run a task */
    TASKS_ALL      /* these, and each waiting task has a stack of its own */
};

/* All 0: no options. Holds no pointer, see target_profile.h. */
struct sample_options {
    uint32_t frames;                 /* bits of enum cpy_frame_option */
    bool exception;                  /* measure VALUE_EXCEPTION (service.h) */
    bool gil;                        /* VALUE_GIL (service.h) is used */
    bool main_only;                  /* sample only the main thread of the process */
    enum sample_options_tasks tasks; /* CPython 3.14 and later */
    enum cmdline_role role;          /* becomes a label of its samples */
    uint64_t hang_ns; /* time after which a process counts as hung (hang.h); 0: not detected */
};

/* Options that some Python versions do not support: name; rest of a sentence "CPython VERSION ...",
 * for users. */
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

/* The options in use that the target's version does not support: bit N is enum missing_option N. */
uint32_t sample_options_missing(const struct sample_options *options,
                                const struct cpy_target *target);

/* The text of MISSING_OPTIONS. Static. */
const char *missing_option_text(enum missing_option lack);

#endif
