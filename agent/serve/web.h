/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web.h - the agent's HTTP server: metrics, health, profiles on request, and the page; read only.
 *
 * Off unless the settings have an address for it. It takes GET and HEAD. At a loopback address it
 * refuses a Host that is neither localhost nor an IP address, so that no web page can reach it
 * under a name of its own (DNS rebinding). Everywhere it refuses requests that a browser marks as
 * coming from another page (Sec-Fetch-Site), except a link to /. web_front.h limits its
 * connections, web_budget.h its work, web_send.c its memory.
 *
 * Threads: one for all connections whose request is not complete, which answers /healthz and
 *          /readyz; one of libmicrohttpd; and one for each connection with a complete request, so
 *          that a slow answer holds up no other. All of them block all signals.
 */
#ifndef AGENT_SERVE_WEB_H
#define AGENT_SERVE_WEB_H

#include "agent/serve/on_demand.h"
#include "agent/serve/state.h"
#include "conf/conf.h"

enum { WEB_IDLE_S = 2 }; /* a client that pauses for longer while it reads is disconnected */

struct web; /* private */

/* Sources of the answers. All borrowed until web_close. */
struct web_sources {
    struct state_share *share;
    struct on_demand *on_demand;
};

/* Starts the server as [http] of the settings says. Gives: it, ended with web_close; NULL: `err`
 * says why not. */
MUST_CHECK struct web *web_open(const struct conf *conf, const struct web_sources *sources,
                                struct err *err);

/* Applies changed settings, except the address. NULL is fine. */
void web_change(struct web *web, const struct conf *conf);

/* Stops the server, also in the middle of answers, and frees it. NULL is fine. */
void web_close(struct web *web);

#endif
