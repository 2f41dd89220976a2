/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - the terminal of pystrobe top: shows cells, gives keys, and is put back as it was.
 *
 * Shape:   screen_open; screen_draw and screen_key; screen_close. There is one terminal, so there
 *          is one screen.
 * Threads: one, but for screen_restore.
 * Beware:  what is written to stderr while it is open is kept back, and written when it closes.
 */
#ifndef AGENT_TOP_SCREEN_H
#define AGENT_TOP_SCREEN_H

#include "agent/top/cells.h"

/* Takes the terminal of standard input and output. False: `err` says why, and it is as it was. */
MUST_CHECK bool screen_open(struct err *err);

/* True if characters beyond ASCII can be shown. */
bool screen_has_utf8(void);

/* Its size now, which it takes on. */
void screen_size(size_t *width, size_t *height);

void screen_draw(const struct top_cells *cells);

/* The next key that was pressed, as state.h has them; TOP_KEY_NONE: there is none. */
uint32_t screen_key(void);

/* True if nobody is there any more. */
bool screen_is_gone(void);

/* Puts the terminal back and stops this process, until somebody lets it go on. */
void screen_suspend(void);

/* Puts the terminal back. Nothing if it was not taken. */
void screen_close(void);

/* The same for whoever cannot do more: from a signal handler, or for a thread that hangs. */
void screen_restore(void);

#endif
