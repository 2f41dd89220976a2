/* SPDX-License-Identifier: Apache-2.0 */
/* pause.c - see pause.h; ptrace_holder.c is the other half. */
#include "agent/dump/pause.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/dump/ptrace_holder.h"

struct pause {
    pid_t holder;
    int fd;                       /* its closing tells the holder to let go */
    struct ptrace_holder *shared; /* owned: a mapping that the holder shares */
};

/* Starts the holder; it never returns from here. */
static bool start_holder(pid_t pid, struct pause *pause, struct err *err)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        err_set(err, "socketpair: %s", strerror(errno));
        return false;
    }
    pause->fd = fds[0];
    pause->holder = fork();
    if (pause->holder == 0) {
        (void)close(fds[0]);
        ptrace_holder_run(pid, pause->shared, fds[1]);
    }
    if (pause->holder < 0)
        err_set(err, "fork: %s", strerror(errno));
    (void)close(fds[1]);
    return pause->holder > 0;
}

/* Waits until the holder says that it is done stopping. False: it is gone. */
static bool wait_for_holder(const struct pause *pause)
{
    ssize_t got;
    char byte;

    do
        got = read(pause->fd, &byte, 1);
    while (got < 0 && errno == EINTR);
    return got == 1;
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
    pause->fd = -1;
    shared = mmap(NULL, sizeof(*pause->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    pause->shared = shared == MAP_FAILED ? NULL : shared;
    if (!pause->shared)
        err_set(err, "out of memory");
    if (!pause->shared || !start_holder(pid, pause, err))
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
    (void)pause_end(pause);
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
    size_t i;

    for (i = 0; i < pause->shared->count; i++)
        if (pause->shared->threads[i].tid == tid)
            return pause->shared->threads[i].ran;
    return false;
}

bool pause_end(struct pause *pause)
{
    bool held = true;
    int status = 0;

    if (!pause)
        return held;
    if (pause->fd >= 0)
        (void)close(pause->fd);
    if (pause->holder > 0) {
        while (waitpid(pause->holder, &status, 0) < 0 && errno == EINTR)
            continue;
        held = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    if (pause->shared)
        (void)munmap(pause->shared, sizeof(*pause->shared));
    free(pause);
    return held;
}
