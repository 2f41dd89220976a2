/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - which functions, lines or threads are shown, and in which order.
 *
 * Shape:   all 0 at first; top_list_make whenever the model or the state has changed;
 *          top_list_finish.
 */
#ifndef AGENT_TOP_LIST_H
#define AGENT_TOP_LIST_H

#include "agent/top/state.h"

/* Indices of a table's items as they are shown. */
struct top_list {
    uint32_t *items; /* owned */
    size_t count;
};

/* Chooses and sorts. Gives: false: out of memory, and the list is as it was. */
MUST_CHECK bool top_list_make(const struct top_model *model, const struct top_state *state,
                              struct top_list *out);

void top_list_finish(struct top_list *list);

/* The item's sums that count: of all time, or of the last seconds. */
const struct top_sum *top_sum_of(const struct top_state *state, const struct top_item *item);

/* The name and file that an item is shown with: those of a line are its function's. */
const struct top_key *top_names_of(const struct top_model *model, enum top_kind kind,
                                   const struct top_item *item);

#endif
