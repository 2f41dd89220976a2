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

/* Whom a socket is for. */
enum control_socket_for {
    CONTROL_SOCKET_OWNER, /* mode 0600 */
    CONTROL_SOCKET_GROUP  /* mode 0660, if its directory is our group's: mode 0750, as the unit's */
};

/* What a peer may do. */
enum control_access {
    CONTROL_ACCESS_NONE,
    CONTROL_ACCESS_ASK, /* a member of the agent's group may ask for the status */
    CONTROL_ACCESS_ALL  /* root, and the user that the agent runs as */
};

/*
 * Listens at `path`, an absolute one. Its folder is made if only that is absent. A socket that is
 * left over is replaced; one of a running agent, and anything else, is not.
 *
 * False: `err` says why not.
 */
MUST_CHECK bool control_socket_open(struct control_socket *out, const char *path,
                                    enum control_socket_for whom, struct err *err);

/* True unless something stands in the way of a socket at `path`: a file, or a directory that is
 * absent and not made. Makes nothing. False: `err` says what. */
MUST_CHECK bool control_socket_can_be(const char *path, struct err *err);

/* What the peer of a connection may do. */
MUST_CHECK enum control_access control_socket_access(int fd);

/* Removes the socket, and closes it. */
void control_socket_close(struct control_socket *sock);

/* Connects to the agent at `path`, which may be relative. Gives: the descriptor; -1: `err` says why
 * not. */
MUST_CHECK int control_socket_connect(const char *path, struct err *err);

#endif
