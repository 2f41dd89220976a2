/* SPDX-License-Identifier: Apache-2.0 */
/* test_native_threads.c - what threads used that run no Python is told by their names. */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/sampling/native_threads.h"
#include "base/proc_stat.h"
#include "base/time_units.h"
#include "tests/unit/unit_test.h"

#define USED_NS (50 * NS_PER_MS)

/* A thread that uses CPU time when it is told to. */
struct worker {
    pthread_t thread;
    sem_t begins, ended;
    pid_t tid;
    bool stops;
};

struct heard {
    uint64_t ns; /* of threads called "worker" */
    pid_t python;
};

static uint64_t used_ns(void)
{
    struct timespec used;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return timespec_to_ns(used);
}

static void *work(void *ctx)
{
    struct worker *worker = ctx;
    uint64_t until;

    (void)prctl(PR_SET_NAME, "worker");
    worker->tid = (pid_t)syscall(SYS_gettid);
    (void)sem_post(&worker->ended);
    for (;;) {
        (void)sem_wait(&worker->begins);
        if (worker->stops)
            return NULL;
        for (until = used_ns() + USED_NS; used_ns() < until;) {
        }
        (void)sem_post(&worker->ended);
    }
}

static void start(struct worker *worker)
{
    *worker = (struct worker){.stops = false};
    assert_int_equal(sem_init(&worker->begins, 0, 0), 0);
    assert_int_equal(sem_init(&worker->ended, 0, 0), 0);
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
    assert_int_equal(sem_wait(&worker->ended), 0);
}

/* Has it use USED_NS, and waits until the kernel has counted that. */
static void use(struct worker *worker)
{
    const struct timespec soon = {.tv_nsec = 1000000};
    struct proc_stat stat = {.state = 'R'};

    assert_int_equal(sem_post(&worker->begins), 0);
    assert_int_equal(sem_wait(&worker->ended), 0);
    for (int i = 0; i < 10000 && stat.state != 'S'; i++) {
        assert_int_equal(proc_stat_read_thread(getpid(), worker->tid, &stat), PROC_OK);
        (void)nanosleep(&soon, NULL);
    }
}

static void stop(struct worker *worker)
{
    worker->stops = true;
    assert_int_equal(sem_post(&worker->begins), 0);
    assert_int_equal(pthread_join(worker->thread, NULL), 0);
}

static bool is_python(void *ctx, pid_t tid)
{
    return ((struct heard *)ctx)->python == tid;
}

static void hear(void *ctx, const char *name, uint64_t ns)
{
    struct heard *heard = ctx;

    if (strcmp(name, "worker") == 0)
        heard->ns += ns;
}

static uint64_t look(struct native_threads *n, pid_t python)
{
    struct heard heard = {.python = python};

    native_threads_look(n, is_python, &heard);
    native_threads_tell(n, hear, &heard);
    return heard.ns;
}

static void tells_what_threads_used_since_the_last_look(void **state)
{
    struct native_threads n;
    struct worker old, young;
    uint64_t ns;

    (void)state;
    start(&old);
    use(&old);
    native_threads_begin(&n, getpid());
    assert_true(look(&n, 0) < USED_NS); /* what it used before does not count */
    use(&old);
    ns = look(&n, 0);
    assert_true(ns >= USED_NS && ns < 2 * USED_NS);
    start(&young);
    use(&young);
    assert_true(look(&n, 0) >= USED_NS); /* of one that is new, all does */
    assert_true(look(&n, 0) < USED_NS);
    stop(&young);
    stop(&old);
    native_threads_finish(&n);
}

static void leaves_out_what_a_thread_used_while_it_ran_python(void **state)
{
    struct native_threads n;
    struct proc_sched times;
    struct worker worker;

    (void)state;
    native_threads_begin(&n, getpid());
    start(&worker);
    use(&worker);
    assert_int_equal(look(&n, worker.tid), 0);
    assert_int_equal(proc_sched_read(getpid(), worker.tid, &times), PROC_OK);
    native_threads_note(&n, worker.tid, times.cpu_ns);
    use(&worker);
    assert_true(look(&n, 0) >= USED_NS);
    stop(&worker);
    native_threads_finish(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_threads_used_since_the_last_look),
        cmocka_unit_test(leaves_out_what_a_thread_used_while_it_ran_python),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
