/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - prints the counters of the unwinder and of the engine: what a recording cost, and what
 * was dropped, by reason.
 *
 * All output goes through the rows here, so that a counter that is new in CPY_STATS of
 * unwind/cpy.h appears everywhere at once.
 */
#ifndef AGENT_SAMPLING_STATS_H
#define AGENT_SAMPLING_STATS_H

#include "agent/sampling/engine.h"
#include "base/buf.h"

enum { STATS_REFUSALS_WINDOW = 200 }; /* stacks */

/* State of stats_refused for one target. All zeros at first. */
struct stats_refusals {
    uint64_t whole, torn; /* counts of whole and of torn stacks when the window began */
    bool told;            /* stats_refused has given a reason */
};

/* One counter of the unwinder. All static. */
struct stats_row {
    const char *label; /* the key in JSON, the end of a metric's name */
    const char *text;  /* what it counts, for people */
    size_t offset;     /* of its uint64_t in struct cpy_stats */
};

/* The `index`th counter, NULL behind the last. */
const struct stats_row *stats_row(size_t index);

/* Value of a counter in `stats`. */
uint64_t stats_value(const struct cpy_stats *stats, const struct stats_row *row);

/* Adds the counters of one target to `sum`. */
void stats_add(struct cpy_stats *sum, const struct cpy_stats *more);

/* Adds a duration to a histogram. */
void stats_took(struct engine_times *times, uint64_t took_ns);

/* Adds a histogram to `sum`. */
void stats_add_times(struct engine_times *sum, const struct engine_times *more);

/* Appends what was lost, by reason, as part of a sentence; or "nothing dropped". */
void stats_dropped(const struct engine_stats *engine, const struct cpy_stats *unwinder,
                   struct buf *out);

/* Appends the share of each class in the CPU time, as part of a sentence: "95.0% of it on stacks
 * that were seen, 3.0% between samples". */
void stats_cpu(const struct cpu_by_class *cpu, struct buf *out);

/*
 * Updates *refusals after a sample with the counters of the target. Gives the main reason (static)
 * the first time that more than half of STATS_REFUSALS_WINDOW stacks in a row were torn; else NULL.
 */
const char *stats_refused(struct stats_refusals *refusals, const struct cpy_stats *target);

/*
 * Appends why a recording has no stack: all were torn. `ended`: the process has exited. False, and
 * nothing is appended: no stack was torn.
 */
MUST_CHECK bool stats_no_stack(const struct cpy_stats *unwinder, bool ended, struct buf *out);

/* Appends the counters of the unwinder, one a line, with their average over `samples`. */
void stats_text(uint64_t samples, const struct cpy_stats *unwinder, struct buf *out);

/* Appends the counters of both as one JSON object, as pystrobe(8) describes it. */
void stats_json(const struct engine_stats *engine, const struct cpy_stats *unwinder,
                struct buf *out);

#endif
