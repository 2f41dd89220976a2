/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_channel.h - messages between two of pystrobe's own processes, over a stream socket.
 *
 * Neither side ever waits for the other: what the socket does not take stays in `out` and goes
 * with a later ipc_channel_flush; what has come in parts waits in `in` for the rest.
 *
 * Shape:   ipc_channel_init on each side; ipc_channel_send; ipc_channel_flush when the socket takes
 * more; ipc_channel_receive when there is something to read; ipc_channel_finish. Threads: a link
 * belongs to one thread at a time. Trust:   none in what comes: a message over
 * IPC_CHANNEL_MESSAGE_MAX ends the link.
 */
#ifndef AGENT_CHILD_IPC_CHANNEL_H
#define AGENT_CHILD_IPC_CHANNEL_H

#include "base/buf.h"

enum {
    IPC_CHANNEL_MESSAGE_MAX = 2 << 20, /* bytes of one */
    IPC_CHANNEL_WAITING_MAX = 8 << 20  /* bytes that wait for the other side to read */
};

struct ipc_channel {
    int fd; /* owned; -1: none */
    struct buf in, out;
    size_t sent; /* bytes of `out` that are gone */
};

enum ipc_channel_rc {
    IPC_CHANNEL_OK,
    IPC_CHANNEL_CLOSED, /* the other side has closed it, or ended */
    IPC_CHANNEL_BROKEN  /* out of memory, or the other side sends what is no message */
};

/* Takes over `fd`, a connected stream socket, and makes it non-blocking. */
void ipc_channel_init(struct ipc_channel *channel, int fd);
void ipc_channel_finish(struct ipc_channel *channel);

/*
 * Sends a message of two parts; the second may be empty.
 *
 * Errors: IPC_CHANNEL_CLOSED, IPC_CHANNEL_BROKEN (too long, or the other side reads nothing).
 */
MUST_CHECK enum ipc_channel_rc ipc_channel_send(struct ipc_channel *channel, uint32_t kind,
                                                const void *first, size_t first_size,
                                                const void *second, size_t second_size);

/* Sends what waits, as far as the socket takes it. */
MUST_CHECK enum ipc_channel_rc ipc_channel_flush(struct ipc_channel *channel);

/* True if something waits to be sent: call ipc_channel_flush when the socket takes more. */
bool ipc_channel_waits(const struct ipc_channel *channel);

/*
 * Reads what is there and calls `each` for each whole message; `each` gives false to stop after
 * it: what follows is read with the next call.
 *
 * Lends:  the bytes, until `each` returns; not aligned.
 */
MUST_CHECK enum ipc_channel_rc ipc_channel_receive(struct ipc_channel *channel,
                                                   bool (*each)(void *ctx, uint32_t kind,
                                                                const void *bytes, size_t size),
                                                   void *ctx);

#endif
