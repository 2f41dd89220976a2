/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_sources.c - whose a recording is, where a process becomes another program. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cli/record_sources.h"
#include "agent/proc/proc.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

/* A child that executes another program when it is told to. */
struct child {
    pid_t pid;
    int tell;
};

static struct child start(void)
{
    struct child child;
    int ends[2];
    char byte;

    assert_int_equal(pipe(ends), 0);
    child.pid = fork();
    if (child.pid == 0) {
        (void)close(ends[1]);
        if (read(ends[0], &byte, 1) == 1)
            (void)execlp("sleep", "sleep", "1000", (char *)NULL);
        _exit(0);
    }
    assert_true(child.pid > 0);
    (void)close(ends[0]);
    child.tell = ends[1];
    return child;
}

static bool sleeps(pid_t pid)
{
    char command[PROC_COMMAND_MAX];

    proc_command_line(pid, command);
    return strcmp(command, "sleep 1000") == 0;
}

static void execute(const struct child *child)
{
    assert_int_equal(write(child->tell, "x", 1), 1);
    AWAIT(sleeps(child->pid));
}

static void end(const struct child *child)
{
    (void)kill(child->pid, SIGKILL);
    (void)close(child->tell);
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static void is_our_own_of_our_own_process(void **state)
{
    struct record_sources sources = {.wanted = false};
    struct child child = start();

    (void)state;
    record_sources_consider(&sources, child.pid);
    record_sources_begin(&sources, child.pid);
    end(&child);

    assert_false(sources.foreign);
    record_sources_finish(&sources);
}

/* The program that was sampled may have been executed by a program of ours as another user. */
static void may_be_of_another_user_after_another_program(void **state)
{
    struct record_sources sources = {.wanted = false};
    struct child child = start();

    (void)state;
    record_sources_consider(&sources, child.pid);
    execute(&child);
    record_sources_begin(&sources, child.pid);
    end(&child);

    assert_true(sources.foreign);
    record_sources_finish(&sources);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_our_own_of_our_own_process),
        cmocka_unit_test(may_be_of_another_user_after_another_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
