/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web.h - the agent's HTTP server: /metrics, /healthz, /readyz; read only.
 *
 * Off unless it is asked for. It takes GET and HEAD, from up to WEB_CLIENTS connections at
 * a time, each with WEB_IDLE_S to say something. At a loopback address a Host that is neither
 * localhost nor an IP address is refused, so that no web page can reach it under a name of its
 * own (DNS rebinding).
 *
 * Threads: one of its own, with all signals blocked.
 */
#ifndef AGENT_WEB_H
#define AGENT_WEB_H

#include "agent/state.h"

enum { WEB_CLIENTS = 32, WEB_IDLE_S = 2 };

struct web; /* private */

/* Splits "127.0.0.1:7997" or "[::1]:7997". False: it is no address and port. */
MUST_CHECK bool web_address(const char *listen, char host[64], uint16_t *out_port);

/* True if a Host header (NULL: none) is localhost or an IP address, with a port or without. */
MUST_CHECK bool web_host_allowed(const char *header);

/* Starts it. `share` is borrowed until web_close. NULL: `err` says why not. */
MUST_CHECK struct web *web_open(const char *listen, struct state_share *share, struct err *err);

/* NULL is fine. */
void web_close(struct web *web);

#endif
