/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stepped_clock.h - a clock for threads of agent/delivery that moves only when the test says so.
 *
 * It goes from one deadline to the next, and only when every thread with a name of its own waits on
 * it and has nothing else to do. So no result depends on how fast the machine is, and an hour costs
 * as many steps as there are deadlines in it.
 *
 * Shape:   clock_init, clock_now and clock_wait in a struct delivery_world; clock_pass or
 * EVENTUALLY in the test. Threads: clock_settle, clock_advance and clock_pass belong to the main
 * thread; all else: any.
 */
#ifndef TESTS_UNIT_DELIVERY_STEPPED_CLOCK_H
#define TESTS_UNIT_DELIVERY_STEPPED_CLOCK_H

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/time_units.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

enum { CLOCK_THREADS = 32, CLOCK_POLL_US = 100, CLOCK_QUIET_ROUNDS = 3, CLOCK_NAME = 16 };

/* A thread that has waited on the clock. */
struct clock_thread {
    pid_t tid;            /* 0: free */
    uint64_t waits;       /* so far */
    uint64_t deadline_ns; /* of the last one */
};

struct stepped_clock {
    atomic_uint_fast64_t now_ns;
    uint64_t
        asked_ns; /* the deadline that the main thread waited for last; 0: the clock was moved */
    pthread_mutex_t lock;
    struct clock_thread threads[CLOCK_THREADS];
};

static inline void clock_init(struct stepped_clock *clock, uint64_t now_ns)
{
    atomic_store(&clock->now_ns, now_ns);
    assert_int_equal(pthread_mutex_init(&clock->lock, NULL), 0);
}

static inline uint64_t clock_now(struct stepped_clock *clock)
{
    return atomic_load(&clock->now_ns);
}

/* The entry of a thread; NULL: it has none. Called with the lock. */
static inline struct clock_thread *clock_find(struct stepped_clock *clock, pid_t tid)
{
    for (size_t i = 0; i < CLOCK_THREADS; i++)
        if (clock->threads[i].tid == tid)
            return &clock->threads[i];
    return NULL;
}

/* Notes that this thread has nothing to do until `deadline_ns`. */
static inline void clock_note_wait(struct stepped_clock *clock, uint64_t deadline_ns)
{
    const pid_t tid = (pid_t)syscall(SYS_gettid);
    struct clock_thread *thread;

    (void)pthread_mutex_lock(&clock->lock);
    thread = clock_find(clock, tid);
    if (!thread)
        thread = clock_find(clock, 0);
    if (thread)
        *thread = (struct clock_thread){tid, thread->waits + 1, deadline_ns};
    (void)pthread_mutex_unlock(&clock->lock);
}

/* Whether a thread waits on the clock, or has. */
static inline bool clock_is_waited_on(struct stepped_clock *clock, pid_t tid)
{
    bool known;

    (void)pthread_mutex_lock(&clock->lock);
    known = tid != 0 && clock_find(clock, tid);
    (void)pthread_mutex_unlock(&clock->lock);
    return known;
}

/* For a thread that waits for something else than a condition: call it until that is there. */
static inline void clock_idle(struct stepped_clock *clock, uint64_t deadline_ns)
{
    clock_note_wait(clock, deadline_ns);
    (void)usleep(CLOCK_POLL_US);
}

/* The name of a thread of this process; "": it has ended. */
static inline void clock_read_name(const char *tid, char name[CLOCK_NAME])
{
    char path[64];
    ssize_t got = 0;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        got = read(fd, name, CLOCK_NAME - 1);
        (void)close(fd);
    }
    name[got > 0 ? got - 1 : 0] = '\0'; /* without the newline */
}

/* The threads that have names of their own: those of a delivery. Forgets threads that ended. */
static inline size_t clock_list(struct stepped_clock *clock, struct clock_thread *out)
{
    struct clock_thread alive[CLOCK_THREADS] = {{0}}, *thread;
    char own[CLOCK_NAME], name[CLOCK_NAME];
    DIR *tasks = opendir("/proc/self/task");
    size_t count = 0, known = 0;
    const struct dirent *task;

    assert_non_null(tasks);
    clock_read_name("..", own);
    (void)pthread_mutex_lock(&clock->lock);
    while ((task = readdir(tasks)) && count < CLOCK_THREADS) {
        const pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);

        clock_read_name(task->d_name, name);
        thread = tid > 0 ? clock_find(clock, tid) : NULL;
        if (thread)
            alive[known++] = *thread;
        if (tid > 0 && name[0] && strcmp(name, own) != 0)
            out[count++] = thread ? *thread : (struct clock_thread){.tid = tid};
    }
    memcpy(clock->threads, alive, sizeof(alive));
    (void)pthread_mutex_unlock(&clock->lock);
    (void)closedir(tasks);
    return count;
}

enum clock_change { CLOCK_BUSY, CLOCK_CHANGED, CLOCK_SAME };

/* What the threads did between two lists. */
static inline enum clock_change clock_compare(const struct clock_thread *before, size_t count,
                                              const struct clock_thread *now, size_t now_count)
{
    enum clock_change change = count == now_count ? CLOCK_SAME : CLOCK_CHANGED;
    size_t i, k;

    for (i = 0; i < now_count; i++) {
        for (k = 0; k < count && before[k].tid != now[i].tid; k++)
            ;
        if (now[i].waits == 0 || (k < count && before[k].waits == now[i].waits))
            return CLOCK_BUSY;
        if (k == count || before[k].deadline_ns != now[i].deadline_ns)
            change = CLOCK_CHANGED;
    }
    return change;
}

/*
 * Waits until no thread has anything to do before its deadline: each has waited again and again,
 * and nothing came of it. Gives the earliest deadline; UINT64_MAX: there is none.
 */
static inline uint64_t clock_settle(struct stepped_clock *clock)
{
    struct clock_thread before[CLOCK_THREADS], now[CLOCK_THREADS];
    size_t count = clock_list(clock, before), now_count, quiet = 0;
    const time_t end = hang_limit_end_of_wait();
    uint64_t next_ns = UINT64_MAX;
    enum clock_change change;

    while (quiet < CLOCK_QUIET_ROUNDS) {
        if (hang_limit_is_over(end))
            fail_msg("a thread of the delivery neither waits nor ends");
        (void)usleep(CLOCK_POLL_US);
        now_count = clock_list(clock, now);
        change = clock_compare(before, count, now, now_count);
        if (change == CLOCK_BUSY)
            continue;
        quiet = change == CLOCK_SAME ? quiet + 1 : 0;
        memcpy(before, now, sizeof(now));
        count = now_count;
    }
    for (size_t i = 0; i < count; i++)
        next_ns = before[i].deadline_ns < next_ns ? before[i].deadline_ns : next_ns;
    return next_ns;
}

/* Moves the clock to the next deadline, or to `limit_ns` if that is earlier. */
static inline void clock_advance(struct stepped_clock *clock, uint64_t limit_ns)
{
    uint64_t next_ns = clock_settle(clock), now_ns = clock_now(clock);

    next_ns = next_ns < limit_ns ? next_ns : limit_ns;
    if (next_ns != UINT64_MAX)
        atomic_store(&clock->now_ns, next_ns > now_ns ? next_ns : now_ns + 1);
}

/* Lets `ns` pass. */
static inline void clock_pass(struct stepped_clock *clock, uint64_t ns)
{
    const uint64_t end_ns = clock_now(clock) + ns;

    while (clock_now(clock) < end_ns)
        clock_advance(clock, end_ns);
    (void)clock_settle(clock);
}

/*
 * struct delivery_world's `wait`. While the main thread waits, the clock goes on; but first the
 * thread looks once more at what it waits for, when nobody else has anything to do.
 */
static inline void clock_wait(struct stepped_clock *clock, pthread_cond_t *cond,
                              pthread_mutex_t *lock, uint64_t deadline_ns)
{
    struct timespec until;

    clock_note_wait(clock, deadline_ns);
    if (deadline_ns <= clock_now(clock))
        return;
    if (syscall(SYS_gettid) != getpid()) {
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until = timespec_of_ns(timespec_to_ns(until) + CLOCK_POLL_US * NS_PER_US);
        (void)pthread_cond_timedwait(cond, lock, &until);
        return;
    }
    (void)pthread_mutex_unlock(lock);
    if (clock->asked_ns == deadline_ns)
        clock_advance(clock, deadline_ns);
    else
        (void)clock_settle(clock);
    clock->asked_ns = clock->asked_ns == deadline_ns ? 0 : deadline_ns;
    (void)pthread_mutex_lock(lock);
}

/* Lets time pass until the condition holds; the test fails if it never does. */
#define EVENTUALLY(fix, condition)                                  \
    do {                                                            \
        const time_t eventually_end = hang_limit_end_of_wait();     \
                                                                    \
        while (((void)clock_settle(&(fix)->clock), !(condition))) { \
            if (hang_limit_is_over(eventually_end))                 \
                fail_msg("not in %d s: " #condition, HANG_LIMIT_S); \
            clock_advance(&(fix)->clock, UINT64_MAX);               \
        }                                                           \
    } while (0)

#endif
