/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web.h - the agent's HTTP server: metrics, health, profiles to be pulled, and the page; read only.
 *
 * Off unless it is asked for. It takes GET and HEAD. At a loopback address a Host that is neither
 * localhost nor an IP address is refused, so that no web page can reach it under a name of its
 * own (DNS rebinding); and what a browser says to be asked by another page is refused anywhere, but
 * for a link to /. Its connections are limited by web_front.h, its work by web_budget.h, its memory
 * by web_send.c.
 *
 * Threads: one for all connections whose request is not complete, which answers /healthz and
 *          /readyz; one of libmicrohttpd's; and one for each further connection: an answer that
 *          takes long holds up no other. All with all signals blocked.
 */
#ifndef AGENT_SERVE_WEB_H
#define AGENT_SERVE_WEB_H

#include "agent/serve/on_demand.h"
#include "agent/serve/state.h"
#include "conf/conf.h"

enum { WEB_IDLE_S = 2 }; /* longest pause of a client that reads an answer */

struct web; /* private */

/* What it answers from. All borrowed until web_close. */
struct web_sources {
    struct state_share *share;
    struct on_demand *on_demand;
};

/* Starts it as the settings say. NULL: `err` says why not. */
MUST_CHECK struct web *web_open(const struct conf *conf, const struct web_sources *sources,
                                struct err *err);

/* Takes other settings in, but for the address. NULL is fine. */
void web_change(struct web *web, const struct conf *conf);

/* Answers that are on their way are given up. NULL is fine. */
void web_close(struct web *web);

#endif
