/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/top: knows the terminal view: its model, its keys, its screen. Does not know the
 * agent: it samples by itself.
 *
 * live.h - samples the processes for pystrobe top, and keeps its model up to date.
 *
 * Shape:   top_live_open; engine_run with live->engine, and top_live_slice at the end of each slice
 *          of time, until top_live_is_over; top_live_close.
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
    struct top_counts before; /* counts since the start, as of the last slice */
    char python[32];          /* version; "": not known yet */
    uint64_t start_ns;        /* monotonic */
    uint64_t slices;          /* slices so far */
    int keys_fd;              /* owned: copy of standard input; -1: none */
    bool failed;              /* out of memory */
};

/* Begins to look for processes. `keys`: engine_run gives ENGINE_MESSAGES when standard input has
 * keys. False: out of memory or descriptors; top_live_close is still needed. */
MUST_CHECK bool top_live_open(struct top_live *live, struct target_selection *selection,
                              const sigset_t *signals, bool keys);

/* Ends a slice: adds it to the model and updates `info`. False: out of memory. */
MUST_CHECK bool top_live_slice(struct top_live *live);

/* As target_selection_is_over. */
bool top_live_is_over(const struct top_live *live);

/* Updates `state` of `count` threads of a list of threads, from row `first` on. */
void top_live_states(struct top_live *live, const struct top_list *list, size_t first,
                     size_t count);

/* Frees what it holds; all 0 is fine. */
void top_live_close(struct top_live *live);

#endif
