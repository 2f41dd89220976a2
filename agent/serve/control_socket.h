/* SPDX-License-Identifier: Apache-2.0 */
/* control_socket.h - makes the control socket, and knows who may talk to it. */
#ifndef AGENT_SERVE_CONTROL_SOCKET_H
#define AGENT_SERVE_CONTROL_SOCKET_H

#include <stdbool.h>

#include "base/err.h"

struct control_socket {
    int fd;      /* listens, does not block; -1: there is none */
    int lock_fd; /* held as long as the agent lives: one agent a path */
    char path[108];
};

/*
 * Listens at `path`, mode 0600. Its folder is made if only that is absent. A socket that is
 * left over is replaced; one of a running agent, and anything else, is not.
 *
 * False: `err` says why not.
 */
MUST_CHECK bool control_socket_open(struct control_socket *out, const char *path, struct err *err);

/* True if the peer is root or runs as the same user. */
MUST_CHECK bool control_socket_may(int fd);

/* Removes the socket, and closes it. */
void control_socket_close(struct control_socket *sock);

/* Connects to the agent at `path`. Gives: the descriptor; -1: `err` says why not. */
MUST_CHECK int control_socket_connect(const char *path, struct err *err);

#endif
