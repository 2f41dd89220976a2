/* SPDX-License-Identifier: Apache-2.0 */
/* ipc_channel.c - see ipc_channel.h. */
#include "agent/child/ipc_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10, RETAIN_BYTES = 256 << 10 };

/* What stands before each message. */
struct head {
    uint32_t kind, size;
};

void ipc_channel_init(struct ipc_channel *channel, int fd)
{
    *channel = (struct ipc_channel){.fd = fd};
    buf_init(&channel->in, IPC_CHANNEL_MESSAGE_MAX + sizeof(struct head) + READ_BYTES);
    buf_init(&channel->out, IPC_CHANNEL_OUT_MAX);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
}

void ipc_channel_finish(struct ipc_channel *channel)
{
    if (channel->fd >= 0)
        (void)close(channel->fd);
    channel->fd = -1;
    buf_finish(&channel->in);
    buf_finish(&channel->out);
}

bool ipc_channel_has_unsent(const struct ipc_channel *channel)
{
    return channel->sent < channel->out.size;
}

/* Forgets the content; memory that only a rare long message needed is given back. */
static void reset_or_shrink_buf(struct buf *buf)
{
    if (buf->capacity > RETAIN_BYTES)
        buf_finish(buf);
    else
        buf_reset(buf);
}

/* Gives the room of what is gone back. */
static void drop_sent_bytes(struct ipc_channel *channel)
{
    if (channel->sent < channel->out.size / 2)
        return;
    memmove(channel->out.data, channel->out.data + channel->sent,
            channel->out.size - channel->sent);
    channel->out.size -= channel->sent;
    channel->sent = 0;
}

enum ipc_channel_rc ipc_channel_flush(struct ipc_channel *channel)
{
    ssize_t size;

    while (ipc_channel_has_unsent(channel)) {
        size = send(channel->fd, channel->out.data + channel->sent,
                    channel->out.size - channel->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno != EAGAIN)
            return IPC_CHANNEL_CLOSED;
        if (size < 0) {
            drop_sent_bytes(channel);
            return IPC_CHANNEL_OK;
        }
        channel->sent += (size_t)size;
    }
    reset_or_shrink_buf(&channel->out);
    channel->sent = 0;
    return IPC_CHANNEL_OK;
}

enum ipc_channel_rc ipc_channel_send(struct ipc_channel *channel, uint32_t kind, const void *first,
                                     size_t first_size, const void *second, size_t second_size)
{
    struct head head = {.kind = kind};

    if (first_size > IPC_CHANNEL_MESSAGE_MAX || second_size > IPC_CHANNEL_MESSAGE_MAX - first_size)
        return IPC_CHANNEL_BROKEN;
    head.size = (uint32_t)(first_size + second_size);
    buf_add(&channel->out, &head, sizeof(head));
    buf_add(&channel->out, first, first_size);
    buf_add(&channel->out, second, second_size);
    return buf_failed(&channel->out) ? IPC_CHANNEL_BROKEN : ipc_channel_flush(channel);
}

/* Gives out the whole messages of `in`; false: one is too long. *stop: `each` said so. */
static bool give(struct ipc_channel *channel,
                 bool (*each)(void *ctx, uint32_t kind, const void *bytes, size_t size), void *ctx,
                 bool *stop)
{
    size_t at = 0, left = channel->in.size;
    struct head head;

    while (!*stop && left >= sizeof(head)) {
        memcpy(&head, channel->in.data + at, sizeof(head));
        if (head.size > IPC_CHANNEL_MESSAGE_MAX)
            return false;
        if (left - sizeof(head) < head.size)
            break;
        *stop = !each(ctx, head.kind, channel->in.data + at + sizeof(head), head.size);
        at += sizeof(head) + head.size;
        left = channel->in.size - at;
    }
    if (at > 0 && left > 0)
        memmove(channel->in.data, channel->in.data + at, left);
    if (left == 0)
        reset_or_shrink_buf(&channel->in);
    else
        channel->in.size = left;
    return true;
}

/* Reads once. *size 0: there is nothing more now. */
static enum ipc_channel_rc receive_bytes(struct ipc_channel *channel, size_t *size)
{
    size_t before = channel->in.size;
    unsigned char *room = buf_extend(&channel->in, READ_BYTES);
    ssize_t got;

    *size = 0;
    if (!room)
        return IPC_CHANNEL_BROKEN;
    do
        got = recv(channel->fd, room, READ_BYTES, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    channel->in.size = before + (got > 0 ? (size_t)got : 0);
    if (got > 0)
        *size = (size_t)got;
    return got > 0 || (got < 0 && errno == EAGAIN) ? IPC_CHANNEL_OK : IPC_CHANNEL_CLOSED;
}

enum ipc_channel_rc ipc_channel_receive(struct ipc_channel *channel,
                                        bool (*each)(void *ctx, uint32_t kind, const void *bytes,
                                                     size_t size),
                                        void *ctx)
{
    bool stop = false;
    enum ipc_channel_rc rc = IPC_CHANNEL_OK;
    size_t size = 1;

    while (!stop && size > 0) {
        if (!give(channel, each, ctx, &stop))
            return IPC_CHANNEL_BROKEN;
        if (stop)
            return IPC_CHANNEL_OK;
        rc = receive_bytes(channel, &size);
        if (rc != IPC_CHANNEL_OK)
            return rc;
    }
    return rc;
}
