/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - the choices that the user of pystrobe top has made by keys.
 *
 * Shape:   top_state_init; top_state_key for each key; top_state_fit when the list or the page has
 *          changed.
 */
#ifndef AGENT_TOP_STATE_H
#define AGENT_TOP_STATE_H

#include "agent/top/model.h"

enum top_sort { TOP_SORT_OWN, TOP_SORT_TOTAL, TOP_SORT_NAME, TOP_SORTS };

enum { TOP_FILTER_MAX = 128 }; /* bytes, with the NUL */

struct top_state {
    enum top_kind kind;       /* of the list */
    enum service_value value; /* VALUE_CPU, VALUE_WALL or VALUE_GIL */
    enum top_sort sort;
    bool whole;                  /* shows sums since the start, not of the window */
    uint32_t function;           /* shows lines of this function alone; 0: of all */
    char filter[TOP_FILTER_MAX]; /* shows items with this in their name or file; "": all */
    bool editing;                /* keys go to the filter */
    bool paused, help;           /* the picture stands still; the help is shown */
    size_t cursor, first;        /* rows of the list: the marked one; the top one of the page */
};

/* Keys that are no characters. Characters are code points, which are smaller. */
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
 * Handles a key. `list` is the list that is shown, `page` the number of rows on the screen for it.
 * False: the user wants to leave.
 */
MUST_CHECK bool top_state_key(struct top_state *state, uint32_t key, const struct top_list *list,
                              size_t page);

/* Moves the marked row into the list, and the page to the marked row. */
void top_state_fit(struct top_state *state, const struct top_list *list, size_t page);

#endif
