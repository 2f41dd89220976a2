/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - lays out what pystrobe top shows: from what is known and chosen to cells.
 */
#ifndef AGENT_TOP_VIEW_H
#define AGENT_TOP_VIEW_H

#include "agent/top/cells.h"
#include "agent/top/list.h"

/* What is shown beside the model. Borrowed. */
struct top_summary {
    const char *name; /* of the target, foreign text */
    pid_t pid;        /* 0: there is none, or more than one */
    size_t processes; /* now */
    size_t refused;   /* that were meant, and cannot be read */
    const char *python;
    double rate_hz; /* asked for */
    uint64_t elapsed_ns;
    bool ended; /* there is nothing to sample any more */
    bool plain; /* for no terminal: without a mark and the line of keys */
};

/* How many rows of the list fit on a screen of that height. */
size_t top_view_page(const struct top_summary *info, size_t height);

/* Fills blank cells. */
void top_view(const struct top_model *model, const struct top_list *list,
              const struct top_state *state, const struct top_summary *info,
              struct top_cells *cells);

#endif
