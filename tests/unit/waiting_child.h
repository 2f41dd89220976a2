/* SPDX-License-Identifier: Apache-2.0 */
/* waiting_child.h - a child that does something and then waits to be killed. */
#ifndef TESTS_UNIT_WAITING_CHILD_H
#define TESTS_UNIT_WAITING_CHILD_H

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit_test.h"

/* Starts it; it has done what `work` does when this returns. It ends with its parent. */
static inline pid_t waiting_child_start(void (*work)(void))
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        work();
        (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    assert_true(pid > 0);
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return pid;
}

/* Kills it, and waits for it. */
static inline void waiting_child_end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#endif
