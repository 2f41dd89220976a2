/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - lays out the screen of pystrobe top: writes model, list and state into cells.
 */
#ifndef AGENT_TOP_VIEW_H
#define AGENT_TOP_VIEW_H

#include "agent/top/cells.h"
#include "agent/top/list.h"

/* Data that is shown beside the model. Strings are borrowed. */
struct top_summary {
    const char *name;    /* service of the target, foreign text */
    pid_t pid;           /* the only process; 0: there may be several */
    size_t processes;    /* processes that are sampled now */
    size_t refused;      /* processes that were chosen and cannot be read */
    const char *python;  /* version; "": not known yet */
    double rate_hz;      /* as asked for */
    uint64_t elapsed_ns; /* since the start */
    bool ended;          /* top_live_is_over at the last slice */
    bool plain;          /* not for a terminal: without the mark and the line of keys */
};

/* Number of rows of the list that fit on a screen of this height. */
size_t top_view_page(const struct top_summary *info, size_t height);

/* Fills cells, which must be blank. */
void top_view(const struct top_model *model, const struct top_list *list,
              const struct top_state *state, const struct top_summary *info,
              struct top_cells *cells);

#endif
