/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - the terminal of pystrobe top: shows cells, reads keys, and is restored at the end.
 *
 * Shape:   screen_open; screen_size, screen_draw and screen_key; screen_close. There is one
 *          terminal, so there is one screen.
 * Threads: one, except for screen_restore.
 * Beware:  if stderr is a terminal, text for it is held back until screen_close or screen_restore.
 */
#ifndef AGENT_TOP_SCREEN_H
#define AGENT_TOP_SCREEN_H

#include "agent/top/cells.h"

/* Takes over the terminal of standard input and output; a crash restores it. False: `err` says why,
 * and the terminal is as it was. */
MUST_CHECK bool screen_open(struct err *err);

/* True if characters beyond ASCII can be shown. */
bool screen_has_utf8(void);

/* Gives the terminal's size in cells (80 x 24 if not known), and resizes the screen to that. */
void screen_size(size_t *width, size_t *height);

/* Shows cells of the size that screen_size gave. */
void screen_draw(const struct top_cells *cells);

/* The next key: a code point or enum top_key_code; TOP_KEY_NONE: none yet; 0: no known key. */
uint32_t screen_key(void);

/* True if the terminal has hung up. */
bool screen_is_gone(void);

/* Restores the terminal and stops this process until SIGCONT; screen_draw takes it over again. */
void screen_suspend(void);

/* Restores the terminal and frees all. Nothing if the screen is not open. */
void screen_close(void);

/* Restores the terminal, frees nothing: for signal handlers, and if the screen's thread hangs. */
void screen_restore(void);

#endif
