/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_channel.h - messages between two of pystrobe's own processes, over a stream socket.
 *
 * Neither side ever waits for the other: what the socket does not take stays in `out` and goes
 * with a later link_flush; what has come in parts waits in `in` for the rest.
 *
 * Shape:   link_init on each side; link_send; link_flush when the socket takes more;
 *          link_receive when there is something to read; link_finish.
 * Threads: a link belongs to one thread at a time.
 * Trust:   none in what comes: a message over LINK_MESSAGE_MAX ends the link.
 */
#ifndef AGENT_CHILD_IPC_CHANNEL_H
#define AGENT_CHILD_IPC_CHANNEL_H

#include "base/buf.h"

enum {
    LINK_MESSAGE_MAX = 2 << 20, /* bytes of one */
    LINK_WAITING_MAX = 8 << 20  /* bytes that wait for the other side to read */
};

struct link {
    int fd; /* owned; -1: none */
    struct buf in, out;
    size_t sent; /* bytes of `out` that are gone */
};

enum link_rc {
    LINK_OK,
    LINK_CLOSED, /* the other side has closed it, or ended */
    LINK_BROKEN  /* out of memory, or the other side sends what is no message */
};

/* Takes over `fd`, a connected stream socket, and makes it non-blocking. */
void link_init(struct link *link, int fd);
void link_finish(struct link *link);

/*
 * Sends a message of two parts; the second may be empty.
 *
 * Errors: LINK_CLOSED, LINK_BROKEN (too long, or the other side reads nothing).
 */
MUST_CHECK enum link_rc link_send(struct link *link, uint32_t kind, const void *first,
                                  size_t first_size, const void *second, size_t second_size);

/* Sends what waits, as far as the socket takes it. */
MUST_CHECK enum link_rc link_flush(struct link *link);

/* True if something waits to be sent: call link_flush when the socket takes more. */
bool link_waits(const struct link *link);

/*
 * Reads what is there and calls `each` for each whole message; `each` gives false to stop after
 * it: what follows is read with the next call.
 *
 * Lends:  the bytes, until `each` returns; not aligned.
 */
MUST_CHECK enum link_rc
link_receive(struct link *link,
             bool (*each)(void *ctx, uint32_t kind, const void *bytes, size_t size), void *ctx);

#endif
