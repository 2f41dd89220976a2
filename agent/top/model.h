/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - what pystrobe top knows: the values of functions, lines and threads since the
 * start and in the last seconds.
 *
 * Time comes in slices. One that has become older than the window is taken off the recent sums
 * again, so that a new slice costs what it has in it and not what there is.
 *
 * Shape:   top_model_new; for each slice top_model_begin, then top_model_add for each profile of
 *          it; read it; top_model_free.
 * Threads: a model belongs to one thread at a time.
 */
#ifndef AGENT_TOP_MODEL_H
#define AGENT_TOP_MODEL_H

#include "agent/top/items.h"
#include "pprof/stacks.h"

enum top_kind { TOP_FUNCTIONS, TOP_LINES, TOP_THREADS, TOP_KINDS };

enum { TOP_SLICES_MAX = 256 };

/* What a slice took, beside what is in its profiles. */
struct top_counts {
    uint64_t duration_ns; /* real time */
    uint64_t samples, missed;
    uint64_t stacks, torn; /* that were read whole, that were given up */
    uint64_t own_cpu_ns;   /* of pystrobe itself */
};

/* Sums of everything. */
struct top_whole {
    struct top_counts counts;
    int64_t values[TOP_VALUES];
};

struct top_slice; /* private */

struct top_model {
    struct top_items tables[TOP_KINDS];
    struct top_whole whole, recent;
    uint64_t window_ns;
    struct top_slice *slices; /* owned ring of TOP_SLICES_MAX */
    size_t first, slice_count;
    uint32_t number; /* of the last slice, from 1 */
    uint64_t row;    /* counts the rows that were added */
};

/* `window_ns`: how long the last seconds are. Gives NULL: out of memory. */
MUST_CHECK struct top_model *top_model_new(uint64_t window_ns);

/* Begins a slice; the oldest go out of the window. */
void top_model_begin(struct top_model *model, const struct top_counts *counts);

/*
 * Adds a profile to the slice: at least the usual values of a service, with its labels of
 * processes and threads.
 *
 * Gives: false: out of memory, the slice is there in part.
 */
MUST_CHECK bool top_model_add(struct top_model *model, const struct pprof_stacks *stacks);

/* True if a thread was there in the last slice. */
bool top_model_is_live(const struct top_model *model, const struct top_item *thread);

/* NULL is fine. */
void top_model_free(struct top_model *model);

#endif
