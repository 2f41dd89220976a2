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

#include "base/library.h"

/* clang-format off */
#define NCURSES_FUNCTIONS(X, P) \
    X(P, newterm) X(P, delscreen) X(P, tigetstr) X(P, cbreak) X(P, noecho) X(P, curs_set) \
    X(P, set_escdelay) X(P, has_colors) X(P, start_color) X(P, use_default_colors) X(P, init_pair) \
    X(P, endwin) X(P, resize_term) X(P, newwin) X(P, delwin) X(P, wresize) X(P, getmaxx) \
    X(P, getmaxy) X(P, keypad) X(P, nodelay) X(P, clearok) X(P, wget_wch) X(P, werase) X(P, wmove) \
    X(P, waddnstr) X(P, wattr_set) X(P, wrefresh)
/* clang-format on */

struct ncurses_api {
    NCURSES_FUNCTIONS(LIBRARY_POINTER, )
};

/* All of it is NULL until ncurses_api_load has succeeded. */
extern struct ncurses_api ncurses;

/* Loads ncurses if it is not loaded yet. False: `err` says why, as library_load does. */
MUST_CHECK bool ncurses_api_load(struct err *err);

#endif
