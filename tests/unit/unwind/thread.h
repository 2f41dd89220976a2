/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - a thread of the test itself that sleeps or runs as it is told. */
#ifndef TESTS_UNIT_UNWIND_THREAD_H
#define TESTS_UNIT_UNWIND_THREAD_H

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

struct thread {
    pthread_t thread;
    int proc_fd;       /* /proc/self */
    int commands[2];   /* a pipe: 'n' a nap between two reads, 'r' runs until `stop`, 'e' ends */
    atomic_int tid;    /* 0: has not begun */
    atomic_int stop;   /* ends 'r' */
    atomic_bool runs;  /* it has begun to */
    atomic_bool ended; /* it is joined */
};

static inline void *thread_main(void *ctx)
{
    struct thread *t = ctx;
    char command = 'n';

    atomic_store(&t->tid, (int)syscall(SYS_gettid));
    while (command != 'e' && read(t->commands[0], &command, 1) == 1)
        while (command == 'r' && !atomic_load(&t->stop))
            atomic_store(&t->runs, true);
    return NULL;
}

static inline void thread_tell(struct thread *t, char command)
{
    assert_int_equal(write(t->commands[1], &command, 1), 1);
}

static inline char thread_state(const struct thread *t)
{
    struct proc_stat stat = {.state = '?'};
    int fd = proc_file_open(t->proc_fd, "task/%d/stat", (int)t->tid);

    if (proc_stat_reread(fd, &stat) != PROC_OK)
        stat.state = 'X';
    if (fd >= 0)
        (void)close(fd);
    return stat.state;
}

static inline void thread_await(const struct thread *t, char state)
{
    AWAIT(thread_state(t) == state);
}

/* What the scheduler has counted of it; zeros where the kernel does not count. */
static inline struct proc_sched thread_counts(const struct thread *t)
{
    struct proc_sched counts = {0};
    int fd = proc_file_open(t->proc_fd, "task/%d/schedstat", (int)t->tid);

    if (proc_sched_reread(fd, &counts) != PROC_OK)
        counts.turns = 0;
    if (fd >= 0)
        (void)close(fd);
    return counts;
}

/* Wakes it; it is asleep again when this returns. */
static inline void thread_wake(struct thread *t)
{
    const uint64_t turns = thread_counts(t).turns;

    thread_tell(t, 'n');
    AWAIT(turns == 0 || thread_counts(t).turns != turns);
    thread_await(t, 'S');
}

static inline void thread_run(struct thread *t)
{
    atomic_store(&t->stop, 0);
    atomic_store(&t->runs, false);
    thread_tell(t, 'r');
    AWAIT(atomic_load(&t->runs)); /* until then it may be ready, and have had no turn */
}

static inline void thread_stop(struct thread *t)
{
    atomic_store(&t->stop, 1);
    thread_await(t, 'S');
}

/* Ends it; there is nothing of it in /proc when this returns. */
static inline void thread_end(struct thread *t)
{
    if (atomic_exchange(&t->ended, true))
        return;
    atomic_store(&t->stop, 1);
    thread_tell(t, 'e');
    assert_int_equal(pthread_join(t->thread, NULL), 0);
    thread_await(t, 'X');
}

/* A thread that sleeps. */
static inline struct thread *thread_new(void)
{
    struct thread *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    t->proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(t->proc_fd >= 0);
    assert_int_equal(pipe2(t->commands, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&t->thread, NULL, thread_main, t), 0);
    AWAIT(atomic_load(&t->tid) != 0);
    thread_await(t, 'S');
    return t;
}

static inline void thread_free(struct thread *t)
{
    thread_end(t);
    (void)close(t->proc_fd);
    (void)close(t->commands[0]);
    (void)close(t->commands[1]);
    free(t);
}

static inline void thread_pin(pid_t tid, size_t cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(tid, sizeof(one), &one), 0);
}

/* Files that this process has open. */
static inline size_t thread_files(void)
{
    DIR *all = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(all);
    while (readdir(all))
        count++;
    (void)closedir(all);
    return count;
}

#endif
