/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - chooses and sorts the functions, lines or threads that are shown.
 *
 * Shape:   all 0 at first; top_list_make whenever the model or the state has changed;
 *          top_list_finish.
 */
#ifndef AGENT_TOP_LIST_H
#define AGENT_TOP_LIST_H

#include "agent/top/state.h"

/* The items that are shown, in their order. */
struct top_list {
    uint32_t *items; /* owned: indices in the model's table of the shown kind */
    size_t count;
};

/* Makes the list again for `state`. False: out of memory, and *out is as it was. */
MUST_CHECK bool top_list_make(const struct top_model *model, const struct top_state *state,
                              struct top_list *out);

void top_list_finish(struct top_list *list);

/* The sums of an item that are shown: `whole` or `recent`, by state->whole. */
const struct top_sum *top_sum_of(const struct top_state *state, const struct top_item *item);

/* The key with the name and file that are shown for an item: its own; of a line, its function's. */
const struct top_key *top_names_of(const struct top_model *model, enum top_kind kind,
                                   const struct top_item *item);

#endif
