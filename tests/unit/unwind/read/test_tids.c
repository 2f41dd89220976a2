/* SPDX-License-Identifier: Apache-2.0 */
/* test_tids.c - thread ids of a target in a PID namespace of its own are turned into ours.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/descriptors.h"
#include "tests/unit/unit_test.h"
#include "unwind/read/tids.h"

static int open_proc(pid_t pid)
{
    char path[64];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void takes_ids_as_they_are_without_a_process(void **state)
{
    struct tids tids;

    (void)state;
    assert_int_equal(tids_init(&tids, -1), PROC_OK);
    assert_int_equal(tids_outer(&tids, 4711), 4711);
    assert_int_equal(tids_outer(&tids, INT32_MAX), INT32_MAX);
    tids_finish(&tids);
}

static void knows_no_id_that_cannot_be(void **state)
{
    struct tids tids;

    (void)state;
    assert_int_equal(tids_init(&tids, -1), PROC_OK);
    assert_int_equal(tids_outer(&tids, 0), 0);
    assert_int_equal(tids_outer(&tids, (uint64_t)INT32_MAX + 1), 0);
    assert_int_equal(tids_outer(&tids, UINT64_MAX), 0);
    tids_finish(&tids);
}

static void *wait_forever(void *report_fd)
{
    pid_t tid = (pid_t)syscall(SYS_gettid);

    (void)!write(*(int *)report_fd, &tid, sizeof(tid));
    for (;;)
        (void)pause();
    return NULL;
}

/* The first process of a namespace: it and a second thread say how they are called there. */
static void run_nested(int report_fd, int stay_fd)
{
    pthread_t thread;
    pid_t tid = (pid_t)syscall(SYS_gettid);
    char byte;

    (void)!write(report_fd, &tid, sizeof(tid));
    if (pthread_create(&thread, NULL, wait_forever, &report_fd) != 0)
        _exit(1);
    (void)!read(stay_fd, &byte, 1); /* ends with the test */
    _exit(0);
}

/* Pipes to such a process: [0] is read, [1] written. */
struct pipes {
    int report[2], pid[2], stay[2];
};

/* Makes the namespace, for which a process must be forked once more. */
static void run_helper(struct pipes *pipes)
{
    pid_t child = unshare(CLONE_NEWPID) == 0 ? fork() : -1;

    (void)close(pipes->stay[1]);
    if (child == 0)
        run_nested(pipes->report[1], pipes->stay[0]);
    (void)!write(pipes->pid[1], &child, sizeof(child));
    _exit(0);
}

/*
 * Starts it; gives its pid here, 0 if no namespace can be made. *inner: the ids it told;
 * *stay_fd: closing it ends the process.
 */
static pid_t start_nested(pid_t inner[2], int *stay_fd)
{
    struct pipes pipes;
    pid_t helper, outer = 0;

    assert_int_equal(pipe2(pipes.report, O_CLOEXEC), 0);
    assert_int_equal(pipe2(pipes.pid, O_CLOEXEC), 0);
    assert_int_equal(pipe2(pipes.stay, O_CLOEXEC), 0);
    helper = fork();
    if (helper == 0)
        run_helper(&pipes);
    (void)close(pipes.report[1]);
    (void)close(pipes.pid[1]);
    (void)close(pipes.stay[0]);
    assert_int_equal(read(pipes.pid[0], &outer, sizeof(outer)), sizeof(outer));
    assert_int_equal(waitpid(helper, NULL, 0), helper);
    if (outer > 0) {
        assert_int_equal(read(pipes.report[0], &inner[0], sizeof(pid_t)), sizeof(pid_t));
        assert_int_equal(read(pipes.report[0], &inner[1], sizeof(pid_t)), sizeof(pid_t));
    }
    (void)close(pipes.report[0]);
    (void)close(pipes.pid[0]);
    *stay_fd = pipes.stay[1];
    return outer > 0 ? outer : 0;
}

static void finds_threads_in_a_namespace_below_ours(void **state)
{
    pid_t inner[2] = {0, 0}, outer, second;
    struct tids tids;
    char path[64];
    int fd, stay_fd;

    (void)state;
    outer = start_nested(inner, &stay_fd);
    if (outer == 0)
        skip(); /* no right to make a namespace */
    fd = open_proc(outer);
    assert_int_equal(tids_init(&tids, fd), PROC_OK);
    second = tids_outer(&tids, (uint64_t)inner[1]);
    (void)snprintf(path, sizeof(path), "task/%d", (int)second);

    assert_true(tids.nested);
    assert_int_equal(inner[0], 1);
    assert_int_equal(tids_outer(&tids, 1), outer);
    assert_int_not_equal(second, outer);
    assert_int_equal(faccessat(fd, path, F_OK, 0), 0);
    assert_int_equal(tids_outer(&tids, 30000), 0);
    tids_finish(&tids);
    (void)close(fd);
    (void)close(stay_fd);
}

static void takes_ids_as_they_are_in_our_own_namespace(void **state)
{
    int fd = open_proc(getpid());
    struct tids tids;

    (void)state;
    assert_int_equal(tids_init(&tids, fd), PROC_OK);
    assert_false(tids.nested);
    assert_int_equal(tids_outer(&tids, 4711), 4711);
    tids_finish(&tids);
    (void)close(fd);
}

/* The test's own process, with a second thread. */
struct own {
    struct tids tids;
    struct mem *mem;
    pthread_t thread;
    pid_t tid; /* of `thread` */
    int proc_fd, report[2];
};

static void begin_own(struct own *o)
{
    o->proc_fd = open_proc(getpid());
    assert_int_equal(pipe2(o->report, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&o->thread, NULL, wait_forever, &o->report[1]), 0);
    assert_int_equal(read(o->report[0], &o->tid, sizeof(o->tid)), sizeof(o->tid));
    assert_int_equal(mem_open_process(getpid(), o->proc_fd, &o->mem, NULL), CPY_OK);
    assert_int_equal(tids_init(&o->tids, o->proc_fd), PROC_OK);
}

static void end_own(struct own *o)
{
    tids_finish(&o->tids);
    mem_close(o->mem);
    assert_int_equal(pthread_cancel(o->thread), 0);
    assert_int_equal(pthread_join(o->thread, NULL), 0);
    (void)close(o->report[0]);
    (void)close(o->report[1]);
    (void)close(o->proc_fd);
}

/* Python may be begun in a thread that is not the process's first: its record says which it is. */
static void reads_the_id_of_any_thread_from_its_record(void **state)
{
    struct own o;

    (void)state;
    begin_own(&o);

    assert_int_equal(tids_of_pthread(&o.tids, o.mem, o.thread, o.thread, 0), o.tid);
    assert_int_equal(tids_of_pthread(&o.tids, o.mem, pthread_self(), o.thread, 0), getpid());
    assert_int_equal(tids_of_pthread(&o.tids, o.mem, o.thread, pthread_self(), (uint64_t)o.tid),
                     o.tid);
    assert_int_equal(tids_of_pthread(&o.tids, o.mem, 8, pthread_self(), 0),
                     0); /* no record at all */

    end_own(&o);
}

/* C code that forks without telling Python leaves the parent's id in the child's memory. */
static void finds_the_thread_that_has_forked_without_pythons_knowledge(void **state)
{
    struct own o;

    (void)state;
    begin_own(&o);

    assert_int_equal(tids_of_native(&o.tids, o.mem, pthread_self(), (uint64_t)getppid(), 0),
                     getpid());
    assert_int_equal(tids_of_native(&o.tids, o.mem, o.thread, (uint64_t)o.tid, 0), o.tid);
    assert_int_equal(tids_of_native(&o.tids, o.mem, pthread_self(), (uint64_t)o.tid, 0), o.tid);
    /* One that has ended: another one has its record by now. */
    assert_int_equal(tids_of_native(&o.tids, o.mem, o.thread, (uint64_t)getppid(), 0), getppid());
    assert_int_equal(tids_of_native(&o.tids, o.mem, 8, (uint64_t)getppid(), 4711), 4711);
    assert_int_equal(tids_of_native(&o.tids, o.mem, pthread_self(), 0, 0), 0);
    assert_int_equal(tids_of_native(&o.tids, o.mem, pthread_self(), UINT64_MAX, 0), UINT64_MAX);

    end_own(&o);
}

static void tells_that_the_own_id_of_a_process_cannot_be_read(void **state)
{
    int fd = open_proc(getpid());
    struct rlimit before = descriptors_forbid();
    struct tids tids;
    enum proc_rc rc = tids_init(&tids, fd);

    (void)state;
    descriptors_allow(before);
    assert_int_equal(rc, PROC_FAILED);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_ids_as_they_are_without_a_process),
        cmocka_unit_test(knows_no_id_that_cannot_be),
        cmocka_unit_test(takes_ids_as_they_are_in_our_own_namespace),
        cmocka_unit_test(tells_that_the_own_id_of_a_process_cannot_be_read),
        cmocka_unit_test(reads_the_id_of_any_thread_from_its_record),
        cmocka_unit_test(finds_the_thread_that_has_forked_without_pythons_knowledge),
        cmocka_unit_test(finds_threads_in_a_namespace_below_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
