/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - the agent's end of the control socket: tells its state, takes orders.
 *
 * A thread of its own serves up to CONTROL_CLIENTS at a time, so that nobody who hangs holds
 * up the agent or another client. It answers what is asked of the state by itself; orders it
 * hands to the main loop, which it wakes with a signal, and waits for the answer.
 *
 * Shape:   control_open, control_next and control_done in the main loop when the signal came,
 *          control_close.
 * Threads: one thread of its own with all signals blocked; the functions belong to one thread.
 * Needs:   the right to make the socket. Who may connect: the user that the agent runs as, and
 *          root (file mode 0600 and the credentials of the peer).
 */
#ifndef AGENT_SERVE_CONTROL_H
#define AGENT_SERVE_CONTROL_H

#include "agent/serve/control_text.h"
#include "agent/serve/state.h"

enum { CONTROL_CLIENTS = 16 };

struct control; /* private */

/*
 * Makes the socket at `path`, in place of one that no agent has any more, and starts the thread.
 * `share` is borrowed until control_close; `signal` wakes the main loop when an order is there.
 *
 * Gives: the control, ended with control_close; NULL: `err` says why not.
 */
MUST_CHECK struct control *control_open(const char *path, struct state_share *share, int signal,
                                        struct err *err);

/* The order that waits, if there is one. Each is to be answered with control_done. */
MUST_CHECK bool control_next(struct control *control, struct control_request *out);

/* Answers the order: it was carried out, or not; `text` goes to who asked. */
void control_done(struct control *control, bool good, const char *text);

/* Removes the socket and ends the thread. NULL is fine. */
void control_close(struct control *control);

#endif
