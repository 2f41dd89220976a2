/* SPDX-License-Identifier: Apache-2.0 */
/* ipc_channel.c - see ipc_channel.h. */
#include "agent/child/ipc_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10, KEEP_BYTES = 256 << 10 };

/* What stands before each message. */
struct head {
    uint32_t kind, size;
};

void link_init(struct link *link, int fd)
{
    *link = (struct link){.fd = fd};
    buf_init(&link->in, LINK_MESSAGE_MAX + sizeof(struct head) + READ_BYTES);
    buf_init(&link->out, LINK_WAITING_MAX);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
}

void link_finish(struct link *link)
{
    if (link->fd >= 0)
        (void)close(link->fd);
    link->fd = -1;
    buf_finish(&link->in);
    buf_finish(&link->out);
}

bool link_waits(const struct link *link)
{
    return link->sent < link->out.size;
}

/* Forgets the content; memory that only a rare long message needed is given back. */
static void empty(struct buf *buf)
{
    if (buf->capacity > KEEP_BYTES)
        buf_finish(buf);
    else
        buf_reset(buf);
}

/* Gives the room of what is gone back. */
static void pack(struct link *link)
{
    if (link->sent < link->out.size / 2)
        return;
    memmove(link->out.data, link->out.data + link->sent, link->out.size - link->sent);
    link->out.size -= link->sent;
    link->sent = 0;
}

enum link_rc link_flush(struct link *link)
{
    ssize_t size;

    while (link_waits(link)) {
        size = send(link->fd, link->out.data + link->sent, link->out.size - link->sent,
                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno != EAGAIN)
            return LINK_CLOSED;
        if (size < 0) {
            pack(link);
            return LINK_OK;
        }
        link->sent += (size_t)size;
    }
    empty(&link->out);
    link->sent = 0;
    return LINK_OK;
}

enum link_rc link_send(struct link *link, uint32_t kind, const void *first, size_t first_size,
                       const void *second, size_t second_size)
{
    struct head head = {.kind = kind};

    if (first_size > LINK_MESSAGE_MAX || second_size > LINK_MESSAGE_MAX - first_size)
        return LINK_BROKEN;
    head.size = (uint32_t)(first_size + second_size);
    buf_add(&link->out, &head, sizeof(head));
    buf_add(&link->out, first, first_size);
    buf_add(&link->out, second, second_size);
    return buf_failed(&link->out) ? LINK_BROKEN : link_flush(link);
}

/* Gives out the whole messages of `in`; false: one is too long. *stop: `each` said so. */
static bool give(struct link *link,
                 bool (*each)(void *ctx, uint32_t kind, const void *bytes, size_t size), void *ctx,
                 bool *stop)
{
    size_t at = 0, left = link->in.size;
    struct head head;

    while (!*stop && left >= sizeof(head)) {
        memcpy(&head, link->in.data + at, sizeof(head));
        if (head.size > LINK_MESSAGE_MAX)
            return false;
        if (left - sizeof(head) < head.size)
            break;
        *stop = !each(ctx, head.kind, link->in.data + at + sizeof(head), head.size);
        at += sizeof(head) + head.size;
        left = link->in.size - at;
    }
    if (at > 0 && left > 0)
        memmove(link->in.data, link->in.data + at, left);
    if (left == 0)
        empty(&link->in);
    else
        link->in.size = left;
    return true;
}

/* Reads once. *size 0: there is nothing more now. */
static enum link_rc fill(struct link *link, size_t *size)
{
    size_t before = link->in.size;
    unsigned char *room = buf_extend(&link->in, READ_BYTES);
    ssize_t got;

    *size = 0;
    if (!room)
        return LINK_BROKEN;
    do
        got = recv(link->fd, room, READ_BYTES, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    link->in.size = before + (got > 0 ? (size_t)got : 0);
    if (got > 0)
        *size = (size_t)got;
    return got > 0 || (got < 0 && errno == EAGAIN) ? LINK_OK : LINK_CLOSED;
}

enum link_rc link_receive(struct link *link,
                          bool (*each)(void *ctx, uint32_t kind, const void *bytes, size_t size),
                          void *ctx)
{
    bool stop = false;
    enum link_rc rc = LINK_OK;
    size_t size = 1;

    while (!stop && size > 0) {
        if (!give(link, each, ctx, &stop))
            return LINK_BROKEN;
        if (stop)
            return LINK_OK;
        rc = fill(link, &size);
        if (rc != LINK_OK)
            return rc;
    }
    return rc;
}
