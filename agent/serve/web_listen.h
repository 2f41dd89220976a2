/* SPDX-License-Identifier: Apache-2.0 */
/* web_listen.h - opens the socket that the HTTP server listens on, and tells who can reach it. */
#ifndef AGENT_SERVE_WEB_LISTEN_H
#define AGENT_SERVE_WEB_LISTEN_H

#include "agent/serve/control_socket.h"

/* Who can reach the socket. */
enum web_exposure {
    WEB_LOOPBACK, /* all users of this machine, and any web page that is open in their browsers */
    WEB_FILE,     /* the user that the agent runs as, and root: it is a Unix socket, mode 0600 */
    WEB_ANYWHERE  /* any host that the network lets through */
};

struct web_listen {
    int fd; /* owned: the listening socket; with WEB_FILE the same as sock.fd; -1: none */
    enum web_exposure exposure;
    struct control_socket sock; /* owned: the Unix socket and its file; used only with WEB_FILE */
};

/*
 * Opens a socket and listens on the address or path in `listen`, the setting of that name (not
 * NULL); conf_listen describes its forms.
 *
 * Gives:  *out, which the caller ends with web_listen_close.
 * Errors: false; `err` says why. Nothing has to be closed then.
 */
MUST_CHECK bool web_listen_open(struct web_listen *out, const char *listen, struct err *err);

/*
 * True if this host has the address in `listen`, or could have a socket at its path. Takes no port
 * and makes nothing, so it may be asked while an agent listens there. False: `err` says why not,
 * and what to do.
 */
MUST_CHECK bool web_listen_can_be(const char *listen, struct err *err);

/* Closes the socket and, with WEB_FILE, removes its file. */
void web_listen_close(struct web_listen *listen);

#endif
