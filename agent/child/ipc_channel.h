/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_channel.h - messages between two of pystrobe's own processes, over a stream socket.
 *
 * No call ever waits for the other side. Bytes that the socket does not take stay in `out` until a
 * later ipc_channel_flush. An incomplete message stays in `in` until its rest arrives.
 *
 * Shape:   ipc_channel_init on each side; ipc_channel_send; ipc_channel_flush when the socket is
 *          writable; ipc_channel_receive when it is readable; ipc_channel_finish.
 * Threads: a channel belongs to one thread at a time.
 * Trust:   the other side may send any bytes. ipc_channel_receive checks the size of a message; its
 *          caller has to check the content.
 */
#ifndef AGENT_CHILD_IPC_CHANNEL_H
#define AGENT_CHILD_IPC_CHANNEL_H

#include "base/buf.h"

enum {
    IPC_CHANNEL_MESSAGE_MAX = 2 << 20, /* bytes of one message, without its header */
    /* Maximum size of `out`. ipc_channel_flush removes the sent bytes when they are half of the
     * content or more, so 4 MiB of unsent bytes always fit. */
    IPC_CHANNEL_OUT_MAX = 8 << 20
};

struct ipc_channel {
    int fd;         /* owned: the socket; -1: none */
    struct buf in;  /* owned: received bytes of messages that are not complete or not handled yet */
    struct buf out; /* owned: bytes to send */
    size_t sent;    /* how many bytes at the start of `out` are sent already */
};

enum ipc_channel_rc {
    IPC_CHANNEL_OK,
    IPC_CHANNEL_CLOSED, /* the other side has closed the socket or ended, or the socket failed */
    IPC_CHANNEL_BROKEN  /* out of memory, `out` is full, or a message is too long. Do not use the
                           channel any more: call ipc_channel_finish */
};

/* Takes over `fd`, a connected stream socket, and makes it non-blocking. */
void ipc_channel_init(struct ipc_channel *channel, int fd);

/* Closes the socket and frees the buffers. Unsent bytes are lost. May be called twice. */
void ipc_channel_finish(struct ipc_channel *channel);

/*
 * Adds a message to `out` and calls ipc_channel_flush. The content is `first`, then `second`; both
 * are copied, and the size of each may be 0. `kind` is any number that the other side understands.
 *
 * Gives: IPC_CHANNEL_OK, also if a part of the message is still in `out`. IPC_CHANNEL_CLOSED, and
 *        no SIGPIPE, if the other side has closed the socket.
 */
MUST_CHECK enum ipc_channel_rc ipc_channel_send(struct ipc_channel *channel, uint32_t kind,
                                                const void *first, size_t first_size,
                                                const void *second, size_t second_size);

/* Sends as much of `out` as the socket takes. Gives IPC_CHANNEL_OK also if bytes are left. */
MUST_CHECK enum ipc_channel_rc ipc_channel_flush(struct ipc_channel *channel);

/* True if `out` holds unsent bytes: the caller has to call ipc_channel_flush when the socket is
 * writable. */
bool ipc_channel_has_unsent(const struct ipc_channel *channel);

/*
 * Reads all bytes that have arrived, and calls `each` for each complete message.
 *
 * If `each` returns false, this function returns IPC_CHANNEL_OK at once. That message is removed;
 * later ones stay in `in`. To get them, call this function again without waiting for the socket.
 *
 * Gives: IPC_CHANNEL_CLOSED only after `each` has got all complete messages that had arrived.
 * Lends: `bytes`, not aligned, until `each` returns. `each` must not finish the channel.
 */
MUST_CHECK enum ipc_channel_rc ipc_channel_receive(struct ipc_channel *channel,
                                                   bool (*each)(void *ctx, uint32_t kind,
                                                                const void *bytes, size_t size),
                                                   void *ctx);

#endif
