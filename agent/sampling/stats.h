/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - shows the counters of the unwinder and of the engine: what a recording cost, and
 * what of it was dropped, by reason.
 *
 * Whatever shows them goes through the rows here, so that a counter that unwind/cpy.h adds
 * is in all of them at once.
 */
#ifndef AGENT_SAMPLING_STATS_H
#define AGENT_SAMPLING_STATS_H

#include "agent/sampling/engine.h"
#include "base/buf.h"

enum { STATS_REFUSALS_WINDOW = 200 }; /* stacks */

/* Whether most stacks of one target are refused. All zeros at first. */
struct stats_refusals {
    uint64_t whole, torn; /* of the target, when this window began */
    bool told;
};

/* One counter of the unwinder. All static. */
struct stats_row {
    const char *label; /* the key in JSON, the end of a metric's name */
    const char *text;  /* what it counts, for people */
    size_t offset;     /* of its uint64_t in struct cpy_stats */
};

/* The `index`th counter, NULL behind the last. */
const struct stats_row *stats_row(size_t index);

/* Its value. */
uint64_t stats_value(const struct cpy_stats *stats, const struct stats_row *row);

/* Adds the counters of one target to a sum. */
void stats_add(struct cpy_stats *sum, const struct cpy_stats *more);

/* Notes that something took so long. */
void stats_took(struct engine_times *times, uint64_t took_ns);

/* Adds some to a sum. */
void stats_add_times(struct engine_times *sum, const struct engine_times *more);

/* Appends what was lost, by reason, as part of a sentence; or "nothing dropped". */
void stats_dropped(const struct engine_stats *engine, const struct cpy_stats *unwinder,
                   struct buf *out);

/* Appends what CPU time was given to, as part of a sentence: "95.0% of it on stacks that were seen"
 * and, if there is some, what else. */
void stats_cpu(const struct cpu_by_class *cpu, struct buf *out);

/*
 * Updates it after a sample. Gives why (static) if more than half of the last
 * STATS_REFUSALS_WINDOW stacks were refused, for the first time; else NULL.
 */
const char *stats_refused(struct stats_refusals *refusals, const struct cpy_stats *target);

/*
 * Appends why a recording has no stack, if all that were tried were refused; `ended`: the process
 * is there no more. False: none was tried.
 */
MUST_CHECK bool stats_no_stack(const struct cpy_stats *unwinder, bool ended, struct buf *out);

/* Appends the counters of the unwinder, one a line, with their average over `samples`. */
void stats_text(uint64_t samples, const struct cpy_stats *unwinder, struct buf *out);

/* Appends all of them as one JSON object, as pystrobe(8) describes it. */
void stats_json(const struct engine_stats *engine, const struct cpy_stats *unwinder,
                struct buf *out);

#endif
