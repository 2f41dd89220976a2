/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.h - keeps the CPU time and memory of profiling within the limits of the settings.
 *
 * CPU time is judged over the last minute. Opening processes has an account of its own, and
 * requests of users have limits elsewhere; the rest (samples, scans, delivery) must stay within
 * the limit `cpu`. Samples get at least a quarter of the limit, even if scans and delivery take
 * more than the rest. Usage of the first seconds counts as if spread over BUDGET_PATIENCE_NS,
 * because the agent's own start, which is part of it, comes once.
 *
 * Samples: while the last minute is within the limit, targets are sampled at the rates asked for.
 * Then samples, scans and delivery may take up to 1.5 times the limit, and together with opening
 * and requests up to twice the limit. During bursts only the minute's limit counts. Beyond these
 * limits, the CPU time that scans and delivery leave is divided fairly between owners, and between
 * the targets of each (fair_share.h): the most expensive targets are slowed first, down to one
 * sample a second. If an owner's targets then still take more than its share, and more than a
 * quarter of the limit, for BUDGET_PATIENCE_NS, the most expensive ones are left out.
 *
 * Opening: may take what samples, scans and delivery leave of the limit, and always a quarter of
 * the limit. Unused time is saved up: at most 30 s of the limit, 60 s at the start. Processes that
 * do not fit wait.
 *
 * Memory: if it is beyond the limit for BUDGET_PATIENCE_NS, the targets that add most to profiles
 * are left out. Memory for requests of users does not count.
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
#define BUDGET_FULL_NS     (60 * NS_PER_S) /* see BUDGET_NEWS_FULL */
#define BUDGET_PATIENCE_NS (10 * NS_PER_S)

enum { BUDGET_STEPS = 61 }; /* the ends of the steps of one minute */

/* The limits; 0: none. */
struct budget_limits {
    double cpu; /* share of one core: 0.01 is 1 % */
    uint64_t memory_bytes;
};

/* Usage of all processes of pystrobe up to now. */
struct budget_use {
    uint64_t cpu_ns;       /* CPU time in all */
    uint64_t asked_cpu_ns; /* part of cpu_ns: for requests of users */
    uint64_t opening_ns;   /* part of cpu_ns: to open processes */
    uint64_t sampling_ns;  /* engine_stats.sampling_ns: may be more CPU time than samples took */
    uint64_t memory_bytes; /* in use now */
    uint64_t asked_memory_bytes; /* part of memory_bytes: for requests of users */
};

/* Result of the last step. In the first minute, values of a minute are those since the start. */
struct budget_state {
    struct budget_limits promised; /* the limits of the settings */
    double used_cpu; /* share of one core, mean of the last minute, without opening and requests */
    double used_opening_cpu;    /* the same for opening alone */
    double used_cpu_ns;         /* CPU time of the last minute, without opening and requests */
    uint64_t used_memory_bytes; /* with memory for requests */
    double share_ns;            /* most that each owner may use, ns a second; INFINITY: no limit */
    size_t slowed;              /* targets that are sampled less often than asked for */
    double slowest_hz;          /* the least rate of those; 0: none is slowed */
    double wanted_cpu;          /* share of one core that all would take at the rates asked for */
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
    double samples_ns;  /* limit for samples, ns a second, in the unit of sampling_ns */
    double other_cpu;   /* share of one core that scans and delivery take */
    double charged;     /* sampling_ns for each ns of CPU time that samples took: 1 or more */
    bool spent;         /* a minute used more than the limit; true until the last minute is within
                         * the limit and all rates asked for fit into it */
    double told_hz;     /* slowest_hz when budget_news last gave BUDGET_NEWS_SLOWED; 0: it never
                         * did, or gave BUDGET_NEWS_FULL since */
    uint64_t full_ns;   /* monotonic: since when none is slowed after told_hz was set; else 0 */
    uint64_t floor_ns;  /* monotonic: since when one sample a second is too much; 0: it is not */
    uint64_t memory_ns; /* monotonic: since when memory is too much; 0: it is not */
    /* The caller must leave out targets in this step to free so much, and count them in
     * state.left_out; 0: none. */
    uint64_t excess_memory_bytes;
};

void budget_init(struct budget *budget, const struct budget_limits *limits);

/* Sets other limits; earlier usage still counts. */
void budget_set_limits(struct budget *budget, const struct budget_limits *limits);

/* Updates usage, limits for samples and opening, and memory. Nothing if no time has passed. */
void budget_step(struct budget *budget, const struct budget_use *use, uint64_t now_ns);

/* Divides the CPU time between `targets`, sorted by fair_share_sort: sets the share of each,
 * updates the state, and marks targets as left out. Gives how many. `bursts`: a burst runs. */
size_t budget_divide(struct budget *budget, struct fair_share_target *targets, size_t count,
                     bool bursts);

/* A change that the log should tell. */
enum budget_news {
    BUDGET_NEWS_NONE,
    BUDGET_NEWS_SLOWED, /* targets are slowed; or slowest_hz fell below half of told_hz */
    BUDGET_NEWS_FULL    /* no target was slowed for BUDGET_FULL_NS, so that rates which go up and
                         * down are told once */
};

/* Call it after each budget_divide. */
enum budget_news budget_news(struct budget *budget);

/* True if one more process may be opened. `opening_ns`: as in struct budget_use, now; `under_way`:
 * processes that are being opened. */
bool budget_may_open(const struct budget *budget, uint64_t opening_ns, size_t under_way);

/*
 * Private memory of a process in RAM, not mapped from a file, in bytes; pid 0: this process. Gives
 * 0 if it cannot be read. In budget_use.c, so that tests of budget.c can give other values.
 */
uint64_t budget_memory_of(pid_t pid);

#endif
