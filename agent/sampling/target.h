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
 * Ends:  when the pidfd is readable, 50 samples in a row fail, or engine_drop is called
 * Test:  tests/unit/sampling/test_engine.c: another_one_with_its_number_is_not_it
 */
struct target {
    struct proc_id id;
    uint64_t exec_mark; /* proc_exec_mark of the program when sampling began */
    struct target_profile profile;
    struct tick tick; /* when it is due next */
    struct sampling_cost cost;
    double share_ns;                         /* cost that it may have a second; INFINITY: any */
    int pidfd;                               /* owned: readable when it exits; -1: not available */
    unsigned raced;                          /* samples in a row that failed */
    uint64_t name_ns;                        /* monotonic: when to ask its name again; UINT64_MAX:
                                                the name is final */
    uint64_t settle_ns;                      /* monotonic: when the name becomes final at last */
    uint64_t another_ns, another_backoff_ns; /* monotonic: when to look for a second interpreter */
    uint64_t another_mapped;                 /* proc_memory_mark at the last such look */
    uint64_t samples;                        /* as in struct engine_stats, as `failed` */
    uint64_t failed[ENGINE_OUTCOMES];
    struct stats_refusals refusals;
    struct process process;
    struct hang_profile hanging;
};

#endif
