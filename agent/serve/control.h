/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - the agent's end of the control socket: tells its state, takes orders.
 *
 * A thread of its own serves up to CONTROL_CLIENTS at a time, so that a client that hangs holds up
 * neither the agent nor another client. It answers requests for the state by itself. It hands an
 * order to the main loop, wakes that with a signal, and passes its answer on to the client.
 *
 * Shape:   control_open; in the main loop, after the signal, control_next and control_done;
 *          control_close.
 * Threads: one thread of its own with all signals blocked; the functions belong to one thread.
 * Needs:   the right to make the socket. Access: control_socket_access, CONTROL_SOCKET_GROUP.
 */
#ifndef AGENT_SERVE_CONTROL_H
#define AGENT_SERVE_CONTROL_H

#include "agent/serve/control_text.h"
#include "agent/serve/state.h"

enum { CONTROL_CLIENTS = 16 };

struct control; /* private */

/*
 * Makes the socket at `path` and starts the thread. Replaces a socket that an ended agent left.
 * `share` is borrowed until control_close; `signal` is sent to this process for each order.
 *
 * Gives: the control, ended with control_close; NULL: `err` says why not.
 */
MUST_CHECK struct control *control_open(const char *path, struct state_share *share, int signal,
                                        struct err *err);

/* True: an order waits and is in *out; answer it with control_done. NULL is fine, and false. */
MUST_CHECK bool control_next(struct control *control, struct control_request *out);

/* Answers the order. `good`: it was carried out. `text` goes to the client. */
void control_done(struct control *control, bool good, const char *text);

/* Removes the socket, ends the thread and frees the control. NULL is fine. */
void control_close(struct control *control);

#endif
