/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.h - keeps the CPU time and memory of profiling within the limits of the settings.
 *
 * The CPU limit is a share of one core, over a minute. Up to a quarter of a minute of unused CPU
 * time may be used later, to open a process or encode a profile (credit); what was used beyond the
 * limit is saved again (debt).
 *
 * Beyond the CPU limit all periods are first stretched alike, as far as they may be. Then targets
 * are dropped, an eighth to a half at a time, newest first. Memory is handled likewise, but for it
 * periods are stretched at most BUDGET_MEMORY_FACTOR_MAX times: fewer samples give fewer stacks to
 * store, but the state of each target stays. Periods and targets return slowly, so that it does not
 * oscillate.
 *
 * What users ask for over HTTP has limits of its own (web_budget.h): it is part of what is shown as
 * used, and neither stretches periods nor drops targets.
 *
 * Shape:   budget_init; budget_step every BUDGET_STEP_NS; the result is in `state`.
 * Threads: one. Reads no clock and no file: usage is an argument.
 */
#ifndef AGENT_SUPERVISOR_BUDGET_H
#define AGENT_SUPERVISOR_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/time_units.h"

enum { BUDGET_MEMORY_FACTOR_MAX = 4 };

#define BUDGET_STEP_NS NS_PER_S

/* The limits; 0: none. */
struct budget_limits {
    double cpu; /* share of one core: 0.01 is 1 % */
    uint64_t memory_bytes;
};

/* Usage up to now. */
struct budget_use {
    uint64_t cpu_ns;
    uint64_t asked_cpu_ns;       /* of it, for requests of users */
    uint64_t memory_bytes;       /* in use now */
    uint64_t asked_memory_bytes; /* of it, for requests of users */
    size_t targets;              /* sampled now */
    double factor_max;           /* largest factor that has an effect; 1 or more */
};

/* Result of the last step. */
struct budget_state {
    struct budget_limits promised;
    double used_cpu; /* share of one core, mean of the last seconds; with requests of users */
    uint64_t used_memory_bytes;
    double factor;            /* of periods; 1: as in the settings */
    size_t targets_max;       /* most targets that may be sampled; SIZE_MAX: no limit */
    uint64_t dropped_targets; /* dropped for the limits, so far */
    uint64_t over;            /* steps of which sampling used more than the CPU limit, so far */
};

struct budget {
    struct budget_state state;
    uint64_t begun_ns;             /* at the first step */
    uint64_t last_ns, last_cpu_ns; /* at the last one; 0: none yet */
    uint64_t last_asked_cpu_ns;
    double own_cpu;       /* as state.used_cpu, without requests of users */
    double step_cpu;      /* the same, last step only */
    double wanted_cpu;    /* use with factor 1, if all of it were samples */
    double credit_ns;     /* CPU time left over; below 0: debt */
    double cpu_factor;    /* for the CPU limit; state.factor is the larger one */
    double memory_factor; /* for the memory limit */
    unsigned
        steps_since_change; /* steps since memory was saved, or targets were shed, or came back */
    unsigned spent;         /* steps beyond the CPU limit at factor_max */
};

void budget_init(struct budget *budget, const struct budget_limits *limits);

/* Sets other limits; periods and targets return to them in time. */
void budget_set_limits(struct budget *budget, const struct budget_limits *limits);

/* Updates `state`. The caller drops all targets beyond state.targets_max and counts them in
 * dropped_targets. */
void budget_step(struct budget *budget, const struct budget_use *use, uint64_t now_ns);

/*
 * Memory of a process that is not backed by a file; pid 0: of this process. Not part of the logic
 * above, so that tests bring their own. Gives: bytes; 0: the process is gone.
 */
uint64_t budget_memory_of(pid_t pid);

#endif
