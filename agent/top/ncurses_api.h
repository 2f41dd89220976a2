/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ncurses_api.h - the functions of ncurses that we call, loaded when they are first needed:
 * base/library.h says how and why. A call reads ncurses.NAME(...).
 *
 * Threads: any.
 */
#ifndef AGENT_TOP_NCURSES_API_H
#define AGENT_TOP_NCURSES_API_H

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <stdbool.h>

#include "base/err.h"

/* clang-format off */
#define NCURSES_FUNCTIONS(X) \
    X(newterm) X(delscreen) X(tigetstr) X(cbreak) \
    X(noecho) X(curs_set) X(set_escdelay) X(has_colors) \
    X(start_color) X(use_default_colors) X(init_pair) X(endwin) \
    X(resize_term) X(newwin) X(delwin) X(wresize) \
    X(getmaxx) X(getmaxy) X(keypad) X(nodelay) \
    X(clearok) X(wget_wch) X(werase) X(wmove) \
    X(waddnstr) X(wattr_set) X(wrefresh)
/* clang-format on */

struct ncurses_api {
#define NCURSES_POINTER(name) __typeof__(name) *name;
    NCURSES_FUNCTIONS(NCURSES_POINTER)
#undef NCURSES_POINTER
};

/* All of it is NULL until ncurses_api_load has succeeded. */
extern struct ncurses_api ncurses;

/* Loads ncurses if it is not loaded yet. False: `err` says why, as library_load does. */
MUST_CHECK bool ncurses_api_load(struct err *err);

#endif
