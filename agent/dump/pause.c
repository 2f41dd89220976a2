/* SPDX-License-Identifier: Apache-2.0 */
/* pause.c - see pause.h; ptrace_holder.c is the other half. */
#include "agent/dump/pause.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/dump/ptrace_holder.h"
#include "agent/host/clock.h"

/* A holder that its own timer does not end is blocked, or stopped. */
enum { HOLDER_MAX_MS = 10 * PAUSE_MAX_MS };

struct pause {
    pid_t pid; /* of the process that is stopped */
    struct child_process holder;
    int fd, holder_fd;            /* a pair: the closing of `fd` tells the holder to let go */
    struct ptrace_holder *shared; /* owned: a mapping that the holder shares */
};

/* In the holder; never returns. */
static void run_holder(void *ctx)
{
    const struct pause *pause = ctx;

    (void)close(pause->fd);
    ptrace_holder_run(pause->pid, pause->shared, pause->holder_fd);
}

static bool start_holder(struct pause *pause, struct err *err)
{
    int fds[2], cause;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        err_set(err, "socketpair: %s", strerror(errno));
        return false;
    }
    pause->fd = fds[0];
    pause->holder_fd = fds[1];
    cause = child_process_fork(&pause->holder, run_holder, pause);
    if (cause != 0)
        err_set(err, "fork: %s", strerror(cause));
    (void)close(fds[1]);
    return cause == 0;
}

/* Waits until the holder says that it is done stopping. False: it is gone, or hangs. */
static bool wait_for_holder(const struct pause *pause)
{
    struct pollfd answer = {.fd = pause->fd, .events = POLLIN};
    char byte;
    int ready;

    do
        ready = poll(&answer, 1, HOLDER_MAX_MS);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && read(pause->fd, &byte, 1) == 1;
}

enum pause_rc pause_begin(pid_t pid, struct pause **out, struct err *err)
{
    struct pause *pause = calloc(1, sizeof(*pause));
    enum pause_rc rc = PAUSE_FAILED;
    void *shared;

    if (!pause) {
        err_set(err, "out of memory");
        return rc;
    }
    pause->pid = pid;
    pause->fd = -1;
    shared = mmap(NULL, sizeof(*pause->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    pause->shared = shared == MAP_FAILED ? NULL : shared;
    if (!pause->shared)
        err_set(err, "out of memory");
    if (!pause->shared || !start_holder(pause, err))
        goto fail;
    if (!wait_for_holder(pause)) {
        err_set(err, "it could not be stopped within %d ms", PAUSE_MAX_MS);
        goto fail;
    }
    rc = pause->shared->rc;
    if (rc == PAUSE_OK) {
        *out = pause;
        return rc;
    }
    err_set(err, "%s", pause->shared->err.text);

fail:
    err_within(err, "process %d", (int)pid);
    (void)pause_end(pause, NULL);
    return rc;
}

size_t pause_late(const struct pause *pause)
{
    size_t i, count = !pause->shared->all;

    for (i = 0; i < pause->shared->count; i++)
        count += !pause->shared->threads[i].stopped && !pause->shared->threads[i].ended;
    return count;
}

bool pause_ran(const struct pause *pause, pid_t tid)
{
    for (size_t i = 0; i < pause->shared->count; i++)
        if (pause->shared->threads[i].tid == tid)
            return pause->shared->threads[i].ran;
    return false;
}

/* Waits for the holder's end, or kills it. False: `err` says that it did not hold to the end. */
static bool end_holder(struct pause *pause, struct err *err)
{
    int status = child_process_wait(&pause->holder, clock_mono_ns() + HOLDER_MAX_MS * NS_PER_MS);

    if (status == CHILD_PROCESS_STATUS_RUNS)
        err_set(err,
                "what stopped the process hangs and is killed (process %d): until that has ended "
                "the process stands still",
                (int)pause->holder.pid);
    else if (status != 0)
        err_set(err, "the process ran on after %d ms, before all of it was read", PAUSE_HOLD_MS);
    child_process_end(&pause->holder, clock_mono_ns());
    return status == 0;
}

bool pause_end(struct pause *pause, struct err *err)
{
    bool held = true;

    if (!pause)
        return held;
    if (pause->fd >= 0)
        (void)close(pause->fd);
    if (pause->holder.pid > 0)
        held = end_holder(pause, err);
    if (pause->shared)
        (void)munmap(pause->shared, sizeof(*pause->shared));
    free(pause);
    return held;
}
