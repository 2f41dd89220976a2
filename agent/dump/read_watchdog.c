/* SPDX-License-Identifier: Apache-2.0 */
/* read_watchdog.c - see read_watchdog.h. */
#include "agent/dump/read_watchdog.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/child/blocked_read.h"
#include "agent/host/clock.h"
#include "agent/host/exits.h"
#include "agent/host/thread.h"
#include "base/proc_stat.h"

/* A read takes microseconds; a host that has to fetch the page from a slow disk takes longer. */
#define STALLED_NS (5 * NS_PER_S)
#define LOOK_NS    (250 * NS_PER_MS)

/* Of the one thread that is watched: it may end before the watcher does. */
static struct {
    struct heartbeat heartbeat;
    struct blocked_read seen; /* the watcher's */
    pid_t tid;
    int (*give_up)(void *ctx);
    void *ctx;
} stall;

/* True if it is blocked in a read that began too long ago: one that moves on is not stuck. */
static bool hangs(void)
{
    const uint64_t since = heartbeat_since(&stall.heartbeat), now_ns = clock_mono_ns();
    struct proc_sched sched = {0};
    struct proc_stat stat;

    if (since == 0 || now_ns < since + STALLED_NS - BLOCKED_READ_STILL_NS ||
        proc_stat_read_thread(getpid(), stall.tid, &stat) != PROC_OK || stat.state == 'R' ||
        proc_sched_read(getpid(), stall.tid, &sched) == PROC_GONE)
        return false;
    return blocked_read_sleeps(&stall.seen, since, &sched, now_ns) && now_ns > since + STALLED_NS &&
           since == heartbeat_since(&stall.heartbeat);
}

static void *watch(void *arg)
{
    static const struct timespec pause = {.tv_nsec = (long)LOOK_NS};
    int status = EXIT_UNAVAILABLE;

    (void)arg;
    while (!hangs())
        (void)nanosleep(&pause, NULL);
    (void)fprintf(
        stderr,
        "pystrobe: process %d blocks its readers: its memory is on a file system, or has a "
        "debugger, that does not answer; given up after %d s\n",
        (int)atomic_load_explicit(&stall.heartbeat.pid, memory_order_relaxed),
        (int)(STALLED_NS / NS_PER_S));
    if (stall.give_up)
        status = stall.give_up(stall.ctx);
    _exit(status); /* which ends the other thread, wherever it hangs */
}

struct heartbeat *read_watchdog_heartbeat(void)
{
    return &stall.heartbeat;
}

void read_watchdog_start(int (*give_up)(void *ctx), void *ctx)
{
    pthread_t thread;

    stall.tid = (pid_t)syscall(SYS_gettid);
    stall.give_up = give_up;
    stall.ctx = ctx;
    if (thread_start(&thread, watch, NULL) == 0)
        (void)pthread_detach(thread);
}
