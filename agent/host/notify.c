/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c - see notify.h. */
#include "agent/host/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time_units.h"

/* A path, or behind "@" a name of the abstract kind, which starts with a zero byte. */
static bool set_notify_address(const char *name, struct notify *notify)
{
    size_t size = name ? strlen(name) : 0;

    if (size < 2 || size >= sizeof(notify->to.sun_path) || (name[0] != '/' && name[0] != '@'))
        return false;
    notify->to.sun_family = AF_UNIX;
    memcpy(notify->to.sun_path, name, size);
    if (name[0] == '@')
        notify->to.sun_path[0] = '\0';
    notify->to_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    return true;
}

static bool number_of(const char *name, uint64_t *out)
{
    const char *text = getenv(name);
    char *end;

    if (!text || text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

/* The watchdog may be meant for another process: a shell that started us, say. */
static uint64_t watchdog_ns(void)
{
    uint64_t pid = 0, us = 0;

    if (number_of("WATCHDOG_PID", &pid) && pid != (uint64_t)getpid())
        return 0;
    return number_of("WATCHDOG_USEC", &us) && us < UINT64_MAX / NS_PER_US ? us * NS_PER_US : 0;
}

void notify_open(struct notify *notify)
{
    *notify = (struct notify){.fd = -1};
    if (!set_notify_address(getenv("NOTIFY_SOCKET"), notify))
        return;
    notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    notify->watchdog_ns = notify->fd >= 0 ? watchdog_ns() : 0;
}

static void send_bytes(const struct notify *notify, const void *bytes, size_t size)
{
    if (notify->fd >= 0)
        (void)sendto(notify->fd, bytes, size, MSG_NOSIGNAL, (const struct sockaddr *)&notify->to,
                     notify->to_size);
}

void notify_send(const struct notify *notify, const struct buf *lines)
{
    if (!buf_failed(lines))
        send_bytes(notify, lines->data, lines->size);
}

void notify_say(const struct notify *notify, const char *lines)
{
    send_bytes(notify, lines, strlen(lines));
}

void notify_close(struct notify *notify)
{
    if (notify->fd >= 0)
        (void)close(notify->fd);
    notify->fd = -1;
}
