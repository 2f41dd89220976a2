/* SPDX-License-Identifier: Apache-2.0 */
/* sharing_child.h - a child that has its parent's very memory, as one by vfork has. */
#ifndef TESTS_UNIT_SHARING_CHILD_H
#define TESTS_UNIT_SHARING_CHILD_H

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit_test.h"

struct sharing_child {
    pid_t pid; /* -1: none can be had here */
    int told, tell;
    _Alignas(16) char stack[32 << 10];
};

/* In the child. A sanitizer would take what it does for its parent's doing. */
__attribute__((no_sanitize("address", "undefined"))) static inline int
sharing_child_run(void *argument)
{
    static char shell[] = "/bin/sh", option[] = "-c", script[] = "while :; do sleep 1; done; true";
    static char *const words[] = {shell, option, script, NULL};
    const struct sharing_child *child = argument;
    char byte;

    if (syscall(SYS_read, child->told, &byte, 1) == 1)
        (void)syscall(SYS_execve, words[0], words, NULL);
    (void)syscall(SYS_exit_group, 1);
    return 1;
}

/* False in ThreadSanitizer, which would take the child for a thread of its parent, and in valgrind,
 * which has no such call. */
static inline bool sharing_child_is_possible(void)
{
#if defined(__SANITIZE_THREAD__)
    return false;
#else
    const char *preloaded = getenv("LD_PRELOAD");

    return !preloaded || !strstr(preloaded, "vgpreload");
#endif
}

static inline void sharing_child_start(struct sharing_child *child)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    child->pid = -1;
    child->told = ends[0];
    child->tell = ends[1];
    if (sharing_child_is_possible())
        child->pid = clone(sharing_child_run, child->stack + sizeof(child->stack),
                           CLONE_VM | SIGCHLD, child);
}

/* Has it execute a shell, which sleeps. */
static inline void sharing_child_execute(const struct sharing_child *child)
{
    assert_int_equal(write(child->tell, "x", 1), 1);
}

static inline void sharing_child_end(const struct sharing_child *child)
{
    (void)close(child->told);
    (void)close(child->tell);
    if (child->pid < 0)
        return;
    (void)kill(child->pid, SIGKILL);
    (void)waitpid(child->pid, NULL, 0);
}

#endif
