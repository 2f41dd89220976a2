/* SPDX-License-Identifier: Apache-2.0 */
/* control_socket.h - makes Unix sockets that the agent listens on, and checks their peers. */
#ifndef AGENT_SERVE_CONTROL_SOCKET_H
#define AGENT_SERVE_CONTROL_SOCKET_H

#include <stdbool.h>

#include "base/err.h"

struct control_socket {
    int fd;         /* owned: listens, does not block; -1: there is none */
    int lock_fd;    /* owned: lock on PATH.lock, so that a path has one agent; -1: none */
    char path[108]; /* of the socket file */
};

/* Mode of the socket file. */
enum control_socket_for {
    CONTROL_SOCKET_OWNER, /* 0600 */
    CONTROL_SOCKET_GROUP  /* 0660 if its directory has our group and mode 0750; else 0600 */
};

/* What a peer may do. */
enum control_access {
    CONTROL_ACCESS_NONE,
    CONTROL_ACCESS_ASK, /* a member of the agent's group: may ask, gives no orders */
    CONTROL_ACCESS_ALL  /* root, and the user that the agent runs as */
};

/*
 * Listens at `path`, an absolute one. Makes the directory of the socket, but not one above it.
 * Replaces a socket that an ended agent left; fails if a running agent listens there, or if `path`
 * is another kind of file.
 *
 * False: `err` says why not.
 */
MUST_CHECK bool control_socket_open(struct control_socket *out, const char *path,
                                    enum control_socket_for whom, struct err *err);

/* Checks whether control_socket_open could make a socket at `path`; makes nothing. False: a file is
 * there, or a directory above that of the socket is absent; `err` says which. */
MUST_CHECK bool control_socket_can_be(const char *path, struct err *err);

/* What the peer of a connection may do, by its credentials. */
MUST_CHECK enum control_access control_socket_access(int fd);

/* Removes and closes the socket, and gives up the lock. */
void control_socket_close(struct control_socket *sock);

/* Connects to the agent at `path`, which may be relative. Gives: the descriptor; -1: `err` says why
 * not. */
MUST_CHECK int control_socket_connect(const char *path, struct err *err);

#endif
