/* SPDX-License-Identifier: Apache-2.0 */
/* web_listen.h - makes the socket that the HTTP server listens at, and knows who can reach it. */
#ifndef AGENT_SERVE_WEB_LISTEN_H
#define AGENT_SERVE_WEB_LISTEN_H

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

/* Listens where conf_listen finds that `listen` says. False: `err` says why not. */
MUST_CHECK bool web_listen_open(struct web_listen *out, const char *listen, struct err *err);

/* Ends it. */
void web_listen_close(struct web_listen *listen);

#endif
