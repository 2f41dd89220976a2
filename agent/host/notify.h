/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.h - tells the service manager the state of the agent: ready, alive, reloading, stopping.
 *
 * Shape:   notify_open once, notify_send or notify_say for each event, notify_close.
 * Threads: the main loop's only, because a watchdog message means that the main loop works.
 * Source:  sd_notify(3) and sd_watchdog_enabled(3) of systemd: datagrams of NAME=VALUE lines.
 */
#ifndef AGENT_HOST_NOTIFY_H
#define AGENT_HOST_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"

struct notify {
    int fd;                /* owned; -1: there is no service manager, and nothing is sent */
    struct sockaddr_un to; /* address of the service manager */
    socklen_t to_size;
    uint64_t watchdog_ns; /* the manager kills us after so long without a message; 0: never */
};

/* Reads NOTIFY_SOCKET and WATCHDOG_USEC from the environment. */
void notify_open(struct notify *notify);

/* Sends lines of NAME=VALUE. Never waits; a message that the manager does not take is lost. */
void notify_send(const struct notify *notify, const struct buf *lines);

/* The same for a string. */
void notify_say(const struct notify *notify, const char *lines);

void notify_close(struct notify *notify);

#endif
