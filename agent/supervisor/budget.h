/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.h - keeps what profiling costs to what was promised.
 *
 * The promise is a share of one core, over a minute: a quarter of a minute of what was not used of
 * it may be used later, to open a process or to encode a profile, and what was used too much is
 * saved again.
 *
 * Over it, first all periods are stretched alike, as far as they may be; then targets are shed, an
 * eighth to a half at a time, the one that was found last first. So it is with memory, but
 * that periods are stretched BUDGET_MEMORY_FACTOR_MAX times at most: fewer samples are fewer stacks
 * to keep, but what is known of each target stays. All comes back slowly, so that it does not
 * swing.
 *
 * What people ask for at the page counts, and is saved again by sampling less often; but it says
 * nothing about how many targets there may be.
 *
 * Shape:   budget_init; budget_step every BUDGET_STEP_NS; what is to be done stands in `state`.
 * Threads: one. Reads no clock and no file: what was used is an argument.
 */
#ifndef AGENT_SUPERVISOR_BUDGET_H
#define AGENT_SUPERVISOR_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { BUDGET_MEMORY_FACTOR_MAX = 4 };

#define BUDGET_STEP_NS UINT64_C(1000000000)

/* What was promised; 0: nothing was, it may use what it needs. */
struct budget_limits {
    double cpu; /* share of one core: 0.01 is 1 % */
    uint64_t memory_bytes;
};

/* What was used in all until now. */
struct budget_use {
    uint64_t cpu_ns;
    uint64_t asked_cpu_ns;       /* of it, what people asked for */
    uint64_t memory_bytes;       /* that is in use now */
    uint64_t asked_memory_bytes; /* of it, for what people asked for */
    size_t targets;              /* that are sampled now */
    double factor_max; /* no period gets longer if they are stretched further; 1 or more */
};

/* For whoever asks. */
struct budget_state {
    struct budget_limits promised;
    double used_cpu; /* share of one core, of the last seconds */
    double mean_cpu; /* the same since the beginning */
    uint64_t used_memory_bytes;
    double factor;      /* periods are up to so many times as long as asked for; 1: as asked */
    size_t targets_max; /* no more may be sampled; SIZE_MAX: as many as there are */
    uint64_t dropped_targets; /* targets that were given up for it, so far */
    uint64_t over;            /* steps that ended with more used than promised, so far */
};

struct budget {
    struct budget_state state;
    uint64_t begun_ns, begun_cpu_ns; /* the first step */
    uint64_t last_ns, last_cpu_ns;   /* the last one; 0: there was none */
    uint64_t last_asked_cpu_ns;
    double own_cpu;       /* as state.used_cpu, but for what people asked for */
    double step_cpu;      /* the same of the last step alone */
    double wanted_cpu;    /* what it would take with periods as asked for, were all of it samples */
    double credit_ns;     /* CPU time that may be used beyond the promise */
    double cpu_factor;    /* what the CPU time asks for; state.factor is the larger one */
    double memory_factor; /* ... and the memory */
    unsigned
        steps_since_change; /* steps since memory was saved, or targets were shed, or came back */
    unsigned spent;         /* steps that took too much with periods as long as they may get */
};

void budget_init(struct budget *budget, const struct budget_limits *limits);

/* Other limits from now on; what was stretched and shed comes back in time. */
void budget_set_limits(struct budget *budget, const struct budget_limits *limits);

/* Decides anew. The caller gives up all targets beyond state.targets_max, and adds them to shed. */
void budget_step(struct budget *budget, const struct budget_use *use, uint64_t now_ns);

/*
 * The memory of a process that is no file's, 0: of this one. Not in the logic above, so that tests
 * bring their own. Gives: bytes; 0: the process is gone.
 */
uint64_t budget_memory_of(pid_t pid);

#endif
