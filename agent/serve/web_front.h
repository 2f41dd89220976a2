/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_front.h - accepts the HTTP server's connections and decides which of them get a thread.
 *
 * One thread holds all connections whose request has not arrived in full. It looks at the bytes
 * without taking them (MSG_PEEK), so libmicrohttpd reads them again. A connection has WEB_HEADER_S
 * from its start to the end of the header. If there is no room for a new one, the front closes the
 * connection that has been incomplete for longest: one of the same client if that has
 * WEB_WAITING_EACH, else of any client. So a slow sender cannot keep out a fast one.
 *
 * A complete request is then
 *   - answered at once if it asks for /healthz or /readyz: these need no free thread and no token;
 *   - refused at once if it has a body (413), comes too often (429), or no thread is free (503);
 *   - given to libmicrohttpd, which starts a thread for it. The client then has WEB_READ_S to read
 *     the answer, or WEB_READ_BUSY_S if others need the thread.
 * Each connection serves one request.
 *
 * New connections are accepted at most WEB_ACCEPTS_PER_S times a second, because a refusal costs
 * CPU time, too. The others wait in the kernel's queue.
 *
 * Shape:   web_front_open before the daemon is started, web_front_start after it; web_front_stop
 *          before it is stopped, web_front_close after it. web_front_begun, web_front_answered and
 *          web_front_ended are called from the daemon's callbacks.
 * Threads: one of its own; the three above may be called from any.
 */
#ifndef AGENT_SERVE_WEB_FRONT_H
#define AGENT_SERVE_WEB_FRONT_H

#include <sys/socket.h>

#include "agent/serve/web_budget.h"
#include "agent/serve/web_listen.h"

enum {
    WEB_CLIENTS = 32,      /* most connections with a thread */
    WEB_CLIENTS_EACH = 16, /* of them, of one client address; no limit at a Unix socket */
    WEB_WAITING = 64,      /* most connections whose request is not complete */
    WEB_WAITING_EACH = 16, /* of them, of one client address */
    WEB_HEADER_S = 2,
    WEB_HEADER_MAX = 8 * 1024, /* bytes; a longer header is refused (431) */
    WEB_HEADER_PIECES = 16,    /* a header that comes in so many segments is not waited for */
    WEB_READ_S = 60,
    WEB_READ_BUSY_S = 5,
    WEB_ACCEPTS_PER_S = 50,
    WEB_ACCEPTS_BURST = 200
};

struct web_front; /* private */

/* Callbacks, called from the front's thread. */
struct web_front_calls {
    /* True if the main loop runs; with `ready`, if it also has looked for processes. */
    bool (*is_well)(void *ctx, bool ready);
    /* Takes over a connection, also on failure. False: it was closed without web_front_begun and
     * web_front_ended. */
    bool (*serve)(void *ctx, int fd, const struct sockaddr *address, socklen_t size);
    void *ctx;
};

/* NULL: out of memory or descriptors. The socket of `listen` is borrowed until web_front_close. */
MUST_CHECK struct web_front *web_front_open(const struct web_listen *listen,
                                            const struct web_front_calls *calls);

/* Starts its thread. False: no thread can be started. */
MUST_CHECK bool web_front_start(struct web_front *front);

/* Tell that a connection got its thread; that its answer is complete; that it is being closed. */
void web_front_begun(struct web_front *front, int fd);
void web_front_answered(struct web_front *front, int fd);
void web_front_ended(struct web_front *front, int fd);

/* Ends its thread and closes the connections that have none; frees it. NULL is fine for both. */
void web_front_stop(struct web_front *front);
void web_front_close(struct web_front *front);

#endif
