/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - data of pystrobe top: the values of functions, lines and threads, since the start and
 * in the window (the last seconds).
 *
 * Time comes in slices. A slice that has left the window is subtracted from the recent sums. So the
 * cost of a slice depends on its own size, not on that of the tables.
 *
 * Shape:   top_model_new; for each slice top_model_begin, then top_model_add for each of its
 *          profiles; read the members; top_model_free.
 * Threads: a model belongs to one thread at a time.
 */
#ifndef AGENT_TOP_MODEL_H
#define AGENT_TOP_MODEL_H

#include "agent/top/items.h"
#include "pprof/stacks.h"

enum top_kind { TOP_FUNCTIONS, TOP_LINES, TOP_THREADS, TOP_KINDS };

enum { TOP_SLICES_MAX = 256 }; /* most slices in the window */

/* Counters of some time, beside its profiles. */
struct top_counts {
    uint64_t duration_ns;     /* real time */
    uint64_t samples, missed; /* as in struct engine_stats */
    uint64_t stacks, torn;    /* stacks that were read whole; that were given up */
    uint64_t own_cpu_ns;      /* CPU time of pystrobe itself */
};

/* Sums over all items. */
struct top_whole {
    struct top_counts counts;
    int64_t values[TOP_VALUES]; /* by enum service_value */
};

struct top_slice; /* private */

struct top_model {
    struct top_items tables[TOP_KINDS]; /* by enum top_kind */
    struct top_whole whole, recent;     /* since the start; in the window */
    uint64_t window_ns;                 /* length of the window */
    struct top_slice *slices;           /* owned ring of TOP_SLICES_MAX */
    size_t first, slice_count;          /* index of the oldest in the ring; how many are used */
    uint32_t number;                    /* of the last slice, from 1 */
    uint64_t row;                       /* number of rows added so far */
};

/* Gives: a model, ended with top_model_free; NULL: out of memory. */
MUST_CHECK struct top_model *top_model_new(uint64_t window_ns);

/* Begins a slice with these counts; drops slices that leave the window. */
void top_model_begin(struct top_model *model, const struct top_counts *counts);

/*
 * Adds a profile to the slice. It must have the values of TOP_VALUES first. The labels "pid",
 * "thread id" and "thread name" of a row name its thread. False: out of memory; a part was added.
 */
MUST_CHECK bool top_model_add(struct top_model *model, const struct pprof_stacks *stacks);

/* True if the last slice had rows of this thread. */
bool top_model_is_live(const struct top_model *model, const struct top_item *thread);

/* NULL is fine. */
void top_model_free(struct top_model *model);

#endif
