/* SPDX-License-Identifier: Apache-2.0 */
/* web_listen.h - makes the socket that the HTTP server listens at, and knows who can reach it. */
#ifndef AGENT_SERVE_WEB_LISTEN_H
#define AGENT_SERVE_WEB_LISTEN_H

#include <stdint.h>

#include "agent/serve/control_socket.h"

/* Who can reach it. */
enum web_exposure {
    WEB_LOOPBACK, /* users of this machine, and what their browsers load */
    WEB_FILE,     /* the user that the agent runs as, and root */
    WEB_ANYWHERE  /* whoever the network lets through */
};

struct web_listen {
    int fd;
    enum web_exposure exposure;
    struct control_socket sock; /* of WEB_FILE */
};

/* Splits "127.0.0.1:7997" or "[::1]:7997". False: it is no address and port. */
MUST_CHECK bool web_address(const char *listen, char host[64], uint16_t *out_port);

/* Listens at an address and port, or a path. False: `err` says why not. */
MUST_CHECK bool web_listen_open(struct web_listen *out, const char *listen, struct err *err);

/* Ends it. */
void web_listen_close(struct web_listen *listen);

#endif
