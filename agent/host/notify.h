/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.h - tells the service manager how the agent fares: that it is ready, that it lives, that
 * it reads its settings anew, that it ends.
 *
 * Shape:   notify_open once, notify_send as things happen, notify_close.
 * Threads: the main loop's, and nobody else's: what it sends says that the main loop goes round.
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
    int fd; /* owned; -1: nobody asked to be told */
    struct sockaddr_un to;
    socklen_t to_size;
    uint64_t watchdog_ns; /* it gives us up when it has heard nothing for so long; 0: never */
};

/* Finds out from the environment who is to be told, if anybody. */
void notify_open(struct notify *notify);

/* Sends lines of NAME=VALUE; never waits: a manager that does not listen holds nothing up. */
void notify_send(const struct notify *notify, const struct buf *lines);

/* The same with one text. */
void notify_say(const struct notify *notify, const char *lines);

void notify_close(struct notify *notify);

#endif
