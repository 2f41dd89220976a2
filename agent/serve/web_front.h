/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_front.h - accepts the HTTP server's connections and decides which of them get a thread.
 *
 * One thread holds all connections whose request has not arrived in full. It looks at the bytes
 * without taking them (MSG_PEEK), so libmicrohttpd reads them again. A connection has WEB_HEADER_S
 * from its start to the end of the header. If there is no room, the connection that has been
 * incomplete for longest is closed: one of the same client if it has its share, else of any. So a
 * client that sends slowly cannot keep out one that sends at once.
 *
 * A complete request is then
 *   - answered at once if it asks for /healthz or /readyz: these need no free thread and no token;
 *   - refused at once: it has a body, comes too often (429), or no connection is free (503);
 *   - given to libmicrohttpd, which starts a thread for it. The client then has WEB_READ_S to read
 *     the answer, or WEB_READ_BUSY_S if others need the connection.
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
    WEB_CLIENTS = 32,      /* connections with a thread */
    WEB_CLIENTS_EACH = 16, /* of them, of one client address */
    WEB_WAITING = 64,      /* connections whose request is not complete */
    WEB_WAITING_EACH = 16, /* of them, of one client address */
    WEB_HEADER_S = 2,
    WEB_HEADER_MAX = 8 * 1024,
    WEB_HEADER_PIECES = 16, /* most segments that a header may arrive in */
    WEB_READ_S = 60,
    WEB_READ_BUSY_S = 5,
    WEB_ACCEPTS_PER_S = 50,
    WEB_ACCEPTS_BURST = 200
};

struct web_front; /* private */

/* What the front hands on. Both are called from its thread. */
struct web_front_calls {
    /* True if the main loop runs, and, with `ready`, has looked for processes. */
    bool (*is_well)(void *ctx, bool ready);
    /* Takes over a connection, closing it in any case. False: it was closed without web_front_begun
     * and web_front_ended. */
    bool (*serve)(void *ctx, int fd, const struct sockaddr *address, socklen_t size);
    void *ctx;
};

/* `listen` is borrowed until web_front_close. Gives: NULL: out of memory or descriptors. */
MUST_CHECK struct web_front *web_front_open(const struct web_listen *listen,
                                            const struct web_front_calls *calls);
MUST_CHECK bool web_front_start(struct web_front *front);

/* The connection got its thread; its answer is complete and is now sent; it is closed. */
void web_front_begun(struct web_front *front, int fd);
void web_front_answered(struct web_front *front, int fd);
void web_front_ended(struct web_front *front, int fd);

/* Ends its thread and closes the connections that have none. NULL is fine. */
void web_front_stop(struct web_front *front);
void web_front_close(struct web_front *front);

#endif
