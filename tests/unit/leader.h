/* SPDX-License-Identifier: Apache-2.0 */
/* leader.h - a process whose first thread ends before the others, as after pthread_exit. */
#ifndef TESTS_UNIT_LEADER_H
#define TESTS_UNIT_LEADER_H

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

enum { LEADER_THREADS = 3 }; /* the first thread, and two that it starts */

/* A child whose threads wait for orders. It ends with its parent, whose output it holds open. */
struct leader {
    pid_t pid;
    int orders[LEADER_THREADS]; /* owned: a byte ends that thread; a close, too */
};

static inline void *leader_wait(void *argument)
{
    char byte;

    (void)!read(*(const int *)argument, &byte, 1);
    return NULL;
}

static inline void leader_run(int orders[LEADER_THREADS], int ready)
{
    pthread_t thread;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 1; i < LEADER_THREADS; i++)
        if (pthread_create(&thread, NULL, leader_wait, &orders[i]) != 0)
            _exit(1);
    (void)close(ready);
    (void)leader_wait(&orders[0]);
    pthread_exit(NULL);
}

/* Ends all of it that is left, and reaps it. */
static inline void leader_finish(struct leader *leader)
{
    (void)kill(leader->pid, SIGKILL);
    assert_int_equal(waitpid(leader->pid, NULL, 0), leader->pid);
    for (int i = 0; i < LEADER_THREADS; i++)
        (void)close(leader->orders[i]);
}

/* ThreadSanitizer and qemu-user have a thread of their own in each process, which never ends: there
 * the test is skipped. */
static inline void leader_skip_if_crowded(struct leader *leader)
{
    struct proc_stat stat;

    assert_int_equal(proc_stat_read(leader->pid, &stat), PROC_OK);
    if (stat.threads == LEADER_THREADS)
        return;
    leader_finish(leader);
    skip();
}

static inline struct leader leader_start(void)
{
    static int theirs[LEADER_THREADS];
    struct leader leader;
    int pipes[2], ready[2];
    char byte;

    for (int i = 0; i < LEADER_THREADS; i++) {
        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        theirs[i] = pipes[0];
        leader.orders[i] = pipes[1];
    }
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    leader.pid = fork();
    assert_true(leader.pid >= 0);
    if (leader.pid == 0) {
        for (int i = 0; i < LEADER_THREADS; i++)
            (void)close(leader.orders[i]);
        leader_run(theirs, ready[1]);
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0);
    (void)close(ready[0]);
    for (int i = 0; i < LEADER_THREADS; i++)
        (void)close(theirs[i]);
    leader_skip_if_crowded(&leader);
    return leader;
}

/* Ends a thread, 0 the first, and waits until it has. */
static inline void leader_end_thread(const struct leader *leader, int index)
{
    struct proc_stat before, stat = {.state = '?'};

    assert_int_equal(proc_stat_read(leader->pid, &before), PROC_OK);
    assert_int_equal(write(leader->orders[index], "", 1), 1);
    AWAIT(proc_stat_read(leader->pid, &stat) == PROC_OK &&
          (index == 0 ? stat.state == 'Z' : stat.threads < before.threads));
}

#endif
