/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - what the user of pystrobe top has chosen to see, by keys.
 *
 * Shape:   top_state_init; top_state_key for each key, top_state_fit when the list or the page has
 *          changed.
 */
#ifndef AGENT_TOP_STATE_H
#define AGENT_TOP_STATE_H

#include "agent/top/model.h"

enum top_sort { TOP_SORT_OWN, TOP_SORT_TOTAL, TOP_SORT_NAME, TOP_SORTS };

enum { TOP_FILTER_MAX = 128 };

struct top_state {
    enum top_kind kind;
    enum service_value value; /* cpu, wall or gil */
    enum top_sort sort;
    bool whole;        /* shares of all time, not of the last seconds */
    uint32_t function; /* lines of this item alone; 0: of all functions */
    char filter[TOP_FILTER_MAX];
    bool editing; /* the filter */
    bool paused, help;
    size_t cursor, first; /* rows of the list: the one that is marked, the one on top */
};

/* Keys that are no characters; those are code points. */
enum top_key_code {
    TOP_KEY_UP = 0x110000,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_ENTER,
    TOP_KEY_ESCAPE,
    TOP_KEY_BACKSPACE,
    TOP_KEY_NONE
};

struct top_list; /* list.h */

void top_state_init(struct top_state *state);

/*
 * Takes in a key. `list` is what is shown, `page` how many rows of it there is room for.
 *
 * Gives: false: the user wants to leave.
 */
MUST_CHECK bool top_state_key(struct top_state *state, uint32_t key, const struct top_list *list,
                              size_t page);

/* Keeps the marked row within the list, and on the page. */
void top_state_fit(struct top_state *state, const struct top_list *list, size_t page);

#endif
