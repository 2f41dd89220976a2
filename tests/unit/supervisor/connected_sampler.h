/* SPDX-License-Identifier: Apache-2.0 */
/* connected_sampler.h - a sampler without a process: the test has the other end of its channel. */
#ifndef TESTS_UNIT_SUPERVISOR_CONNECTED_SAMPLER_H
#define TESTS_UNIT_SUPERVISOR_CONNECTED_SAMPLER_H

#include <sys/socket.h>
#include <unistd.h>

#include "agent/supervisor/supervisor_internal.h"
#include "tests/unit/unit_test.h"

/* Connects a sampler that does not run yet. Gives *other, which disconnect_sampler finishes. */
static inline void connect_sampler(struct sampler_process *sampler, struct ipc_channel *other)
{
    int sockets[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    ipc_channel_init(&sampler->child.channel, sockets[0]);
    ipc_channel_init(other, sockets[1]);
    sampler->child.pid = getpid(); /* it runs */
    sampler->child.pidfd = -1;
}

static inline void disconnect_sampler(struct sampler_process *sampler, struct ipc_channel *other)
{
    sampler->child.pid = 0;
    ipc_channel_finish(&sampler->child.channel);
    ipc_channel_finish(other);
}

#endif
