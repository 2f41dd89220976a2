/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - one process that the engine samples. */
#ifndef AGENT_SAMPLING_TARGET_H
#define AGENT_SAMPLING_TARGET_H

#include "agent/discover/target_profile.h"
#include "agent/sampling/engine.h"
#include "agent/sampling/hang_profile.h"
#include "agent/sampling/process.h"
#include "agent/sampling/sampling_cost.h"
#include "agent/sampling/stats.h"
#include "agent/sampling/ticks.h"

/*
 * Cache: processes that are sampled
 * Key:   pid and start time, held by a pidfd
 * Ends:  when the pidfd tells its end, 50 samples in a row fail, or the finder lets it go
 * Test:  tests/unit/sampling/test_engine.c: another_one_with_its_number_is_not_it
 */
struct target {
    struct proc_id id;  /* descriptors of a process: `pidfd`, and what cpy_open says */
    uint64_t exec_mark; /* proc_exec_mark of the program that is sampled */
    struct target_profile profile;
    struct tick tick; /* when it is due next */
    struct sampling_cost cost;
    double share_ns;                         /* CPU time that it may use a second; INFINITY: any */
    int pidfd;                               /* owned: tells its end; -1: the kernel has none */
    unsigned raced;                          /* samples in a row that failed */
    uint64_t name_ns;                        /* when to ask again what it is called; UINT64_MAX:
                                                that is settled */
    uint64_t settle_ns;                      /* when that is settled, whatever it says */
    uint64_t another_ns, another_backoff_ns; /* when to look next for a second interpreter in it */
    uint64_t another_mapped;                 /* proc_memory_mark when that was done */
    uint64_t samples;                        /* so far */
    uint64_t failed[ENGINE_OUTCOMES];        /* of those */
    struct stats_refusals refusals;
    struct process process;
    struct hang_profile hanging; /* while it hangs */
};

#endif
