/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/top: knows the terminal view: its model, its keys, its screen. Does not know the
 * agent: it samples by itself.
 *
 * live.h - samples what pystrobe top is to show, and keeps its model up to date.
 *
 * Shape:   top_live_open; engine_run with its engine, top_live_slice whenever a slice of time is
 *          over; top_live_close.
 * Threads: one.
 */
#ifndef AGENT_TOP_LIVE_H
#define AGENT_TOP_LIVE_H

#include "agent/cli/target_selection.h"
#include "agent/top/view.h"

struct top_live {
    struct target_selection *selection; /* borrowed */
    struct engine *engine;              /* owned */
    struct top_model *model;            /* owned */
    struct top_summary info;
    struct top_counts before; /* as counted up to the last slice */
    char python[32];
    uint64_t start_ns; /* monotonic */
    uint64_t slices;   /* so far */
    int keys_fd;       /* owned; -1: there is none */
    bool failed;       /* out of memory */
};

/* Begins to look for processes. `keys`: the engine is to report keys that are pressed, too.
 * False: out of memory or descriptors. */
MUST_CHECK bool top_live_open(struct top_live *live, struct target_selection *selection,
                              const sigset_t *signals, bool keys);

/* Ends a slice, and notes whether there will be more. False: out of memory. */
MUST_CHECK bool top_live_slice(struct top_live *live);

/* True once all that was meant has ended, or cannot be sampled at all. */
bool top_live_is_over(const struct top_live *live);

/* Looks up what `count` threads of a list do now, from row `first` on. */
void top_live_states(struct top_live *live, const struct top_list *list, size_t first,
                     size_t count);

/* Frees what it holds; all 0 is fine. */
void top_live_close(struct top_live *live);

#endif
