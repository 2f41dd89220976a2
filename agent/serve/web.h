/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web.h - the agent's HTTP server: metrics, health, profiles to be pulled, and the page; read only.
 *
 * Off unless it is asked for. It takes GET and HEAD, from up to WEB_CLIENTS connections at
 * a time, each with WEB_IDLE_S to say something. At a loopback address a Host that is neither
 * localhost nor an IP address is refused, so that no web page can reach it under a name of its
 * own (DNS rebinding); and what a browser says to be asked by another page is refused anywhere.
 *
 * Threads: one for each connection, with all signals blocked: an answer that takes long holds
 *          up no other.
 */
#ifndef AGENT_SERVE_WEB_H
#define AGENT_SERVE_WEB_H

#include "agent/serve/on_demand.h"
#include "agent/serve/state.h"
#include "conf/conf.h"

enum { WEB_CLIENTS = 32, WEB_IDLE_S = 2 };

struct web; /* private */

/* What it answers from. All borrowed until web_close. */
struct web_sources {
    struct state_share *share;
    struct on_demand *on_demand;
};

/* True if a Host header (NULL: none) is localhost or an IP address, with a port or without. */
MUST_CHECK bool web_host_allowed(const char *header);

/* Starts it as the settings say. NULL: `err` says why not. */
MUST_CHECK struct web *web_open(const struct conf *conf, const struct web_sources *sources,
                                struct err *err);

/* Takes other settings in, but for the address. NULL is fine. */
void web_change(struct web *web, const struct conf *conf);

/* Answers that are on their way are given up. NULL is fine. */
void web_close(struct web *web);

#endif
