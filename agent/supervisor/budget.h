/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.h - keeps the CPU time and memory of profiling within the limits of the settings.
 *
 * CPU time is judged over the last minute. Opening processes and requests of users have accounts of
 * their own; what remains (samples, scans, delivery) must stay within `cpu`. At least a quarter of
 * `cpu` is for samples, even if scans and delivery take the rest.
 * In the first BUDGET_PATIENCE_NS scans and delivery count as if they had taken that long, because
 * the agent's own start, which is among them, comes once.
 *
 * Samples: while the last minute is within the limit, targets are sampled at the rates asked for.
 * Samples, scans and delivery may take up to 1.5 times the limit then, and together with opening
 * and requests up to twice the limit. During bursts, which users ask for, only the minute's limit
 * counts. Beyond these limits, the CPU time that scans and delivery leave is divided fairly between
 * owners, and between the targets of each (fair_share.h): the most expensive targets are slowed
 * first, down to one sample a second. If at one sample a second an owner's targets still take more
 * than its share, and more than a quarter of the limit, the most expensive ones are left out after
 * BUDGET_PATIENCE_NS.
 *
 * Opening: may take what samples, scans and delivery leave of the limit, and always a quarter of
 * the limit. What it does not use is saved up: 30 s of the limit at most, 60 s at the start.
 * Processes that do not fit wait.
 *
 * Memory: if it is beyond the limit for BUDGET_PATIENCE_NS, the targets that add most to profiles
 * are left out. Memory for requests of users does not count here.
 *
 * Shape:   budget_init; budget_step every BUDGET_STEP_NS, then budget_divide and budget_news.
 * Threads: one. Reads no clock and no file: usage is an argument.
 */
#ifndef AGENT_SUPERVISOR_BUDGET_H
#define AGENT_SUPERVISOR_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/sampling/fair_share.h"
#include "base/time_units.h"

#define BUDGET_STEP_NS     NS_PER_S
#define BUDGET_FULL_NS     (60 * NS_PER_S)
#define BUDGET_PATIENCE_NS (10 * NS_PER_S)

enum { BUDGET_STEPS = 61 }; /* the ends of the steps of one minute */

/* The limits; 0: none. */
struct budget_limits {
    double cpu; /* share of one core: 0.01 is 1 % */
    uint64_t memory_bytes;
};

/* Usage up to now. */
struct budget_use {
    uint64_t cpu_ns;
    uint64_t asked_cpu_ns; /* of it, for requests of users */
    uint64_t opening_ns;   /* of it, to open processes */
    uint64_t sampling_ns;  /* for samples, as targets are charged: may be more than they took */
    uint64_t memory_bytes; /* in use now */
    uint64_t asked_memory_bytes; /* of it, for requests of users */
};

/* Result of the last step. In the first minute, means are those since the start. */
struct budget_state {
    struct budget_limits promised; /* the limits of the settings */
    double used_cpu; /* share of one core, mean of the last minute, without opening and requests */
    double used_opening_cpu;    /* the same for opening */
    double used_cpu_ns;         /* CPU time of the last minute, without opening and requests */
    uint64_t used_memory_bytes; /* with requests */
    double share_ns;            /* CPU time of each owner, ns a second; INFINITY: as asked for */
    size_t slowed;              /* targets that are sampled less often than asked for */
    double slowest_hz;          /* the least rate of those; 0: there are none */
    double wanted_cpu;          /* share of one core that it would take to slow none */
    uint64_t left_out;          /* targets left out for the limits, so far */
};

/* Usage up to the end of a step. */
struct budget_mark {
    uint64_t now_ns; /* monotonic; 0: no step yet */
    struct budget_use use;
};

struct budget {
    struct budget_state state;
    struct budget_mark marks[BUDGET_STEPS]; /* ring */
    size_t newest;                          /* index in marks */
    double opening_left_ns;                 /* CPU time that opening may take now; < 0: overdrawn */
    double samples_ns;  /* CPU time for samples, ns a second, as targets are charged */
    double other_cpu;   /* share of one core that scans and delivery take */
    double charged;     /* ns charged to targets for each ns of CPU time used: 1 or more */
    bool spent;         /* the last minute used more than the limit; stays true until
                         * all rates asked for fit into the limit again */
    double told_hz;     /* slowest_hz when budget_news last gave BUDGET_NEWS_SLOWED; 0: it gave
                         * BUDGET_NEWS_FULL since, or neither */
    uint64_t full_ns;   /* monotonic: since when none is slowed after that; 0: some are */
    uint64_t floor_ns;  /* monotonic: since when one sample a second is too much; 0: it is not */
    uint64_t memory_ns; /* monotonic: since when memory is too much; 0: it is not */
    /* For the caller to free in this step by leaving out targets, which it adds to state.left_out;
     * 0: none. */
    uint64_t excess_memory_bytes;
};

void budget_init(struct budget *budget, const struct budget_limits *limits);

/* Sets other limits; what was used still counts. */
void budget_set_limits(struct budget *budget, const struct budget_limits *limits);

/* Updates all but the shares. Does nothing if no time has passed. */
void budget_step(struct budget *budget, const struct budget_use *use, uint64_t now_ns);

/* Divides the CPU time: sets the share of each target (which the caller has sorted:
 * fair_share_sort), updates the state, and marks targets to be left out. Gives how many it marked.
 * `bursts`: a burst runs. */
size_t budget_divide(struct budget *budget, struct fair_share_target *targets, size_t count,
                     bool bursts);

/* What has changed that a log should tell. */
enum budget_news {
    BUDGET_NEWS_NONE,
    BUDGET_NEWS_SLOWED, /* targets are slowed, or to less than half of the rate that was told */
    BUDGET_NEWS_FULL    /* none has been slowed for BUDGET_FULL_NS: so rates that go up and down are
                         * told once */
};

/* To be called after each budget_divide. */
enum budget_news budget_news(struct budget *budget);

/* True if one more process may be opened; `opening_ns`: as in struct budget_use, now; `under_way`:
 * processes that are being opened. */
bool budget_may_open(const struct budget *budget, uint64_t opening_ns, size_t under_way);

/*
 * Memory of a process that is in RAM and neither of a file nor shared, in bytes; pid 0: of this
 * process. Gives 0 if it cannot be read. In budget_use.c, so that tests of budget.c can give other
 * values.
 */
uint64_t budget_memory_of(pid_t pid);

#endif
