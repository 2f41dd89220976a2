/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_channel.h - messages between two of pystrobe's own processes, over a stream socket.
 *
 * Neither side ever waits for the other. What the socket does not take stays in `out` until a later
 * ipc_channel_flush; a message that has come in part stays in `in` until it is complete.
 *
 * Shape:   ipc_channel_init on each side; ipc_channel_send; ipc_channel_flush when the socket is
 *          writable; ipc_channel_receive when it is readable; ipc_channel_finish.
 * Threads: a channel belongs to one thread at a time.
 * Trust:   none in the bytes that come: a message over IPC_CHANNEL_MESSAGE_MAX breaks the channel.
 */
#ifndef AGENT_CHILD_IPC_CHANNEL_H
#define AGENT_CHILD_IPC_CHANNEL_H

#include "base/buf.h"

enum {
    IPC_CHANNEL_MESSAGE_MAX = 2 << 20, /* bytes of one, without its head */
    /* Bytes of `out`, in which sent ones stay for a while: 4 MiB that wait always fit. */
    IPC_CHANNEL_WAITING_MAX = 8 << 20
};

struct ipc_channel {
    int fd; /* owned; -1: none */
    struct buf in, out;
    size_t sent; /* first bytes of `out`, which the socket has taken */
};

enum ipc_channel_rc {
    IPC_CHANNEL_OK,
    IPC_CHANNEL_CLOSED, /* the other side has closed it, or ended */
    IPC_CHANNEL_BROKEN  /* out of memory, `out` is full, or a message is too long: finish it */
};

/* Takes over `fd`, a connected stream socket, and makes it non-blocking. */
void ipc_channel_init(struct ipc_channel *channel, int fd);
void ipc_channel_finish(struct ipc_channel *channel);

/*
 * Adds a message of two parts to `out` (the second may be empty), and flushes it. IPC_CHANNEL_OK:
 * it is sent, or the rest waits in `out`.
 */
MUST_CHECK enum ipc_channel_rc ipc_channel_send(struct ipc_channel *channel, uint32_t kind,
                                                const void *first, size_t first_size,
                                                const void *second, size_t second_size);

/* Sends as much of `out` as the socket takes. */
MUST_CHECK enum ipc_channel_rc ipc_channel_flush(struct ipc_channel *channel);

/* True if `out` is not empty: call ipc_channel_flush when the socket is writable. */
bool ipc_channel_waits(const struct ipc_channel *channel);

/*
 * Reads what is there and calls `each` for each complete message, also if the other side has closed
 * the channel since. If `each` returns false, the messages after it wait in `in`, and the result is
 * IPC_CHANNEL_OK: call again without waiting for the socket.
 *
 * Lends:  the bytes, until `each` returns; not aligned.
 */
MUST_CHECK enum ipc_channel_rc ipc_channel_receive(struct ipc_channel *channel,
                                                   bool (*each)(void *ctx, uint32_t kind,
                                                                const void *bytes, size_t size),
                                                   void *ctx);

#endif
