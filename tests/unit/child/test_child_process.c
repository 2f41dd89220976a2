/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_child_process.c - helpers are started clean, told from one that gets no CPU when they
 * hang, and gone when they are ended. The helper is this program again.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/host/clock.h"
#include "agent/proc/proc.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

enum { READ_PID = 4242 };

static char *own_path;

/* What the helper does, by its argument. */
static int be_helper(const char *what)
{
    struct heartbeat *heartbeat = mmap(NULL, sizeof(*heartbeat), PROT_READ | PROT_WRITE, MAP_SHARED,
                                       CHILD_PROCESS_HEARTBEAT_FD, 0);
    volatile uint64_t spin = 1;

    if (heartbeat == MAP_FAILED)
        return 9;
    if (strcmp(what, "exit") == 0)
        return 7;
    if (strcmp(what, "env") == 0) {
        dprintf(CHILD_PROCESS_CHANNEL_FD, "%s", getenv("PYSTROBE_SECRET") ? "leaks" : "clean");
        return 0;
    }
    if (strcmp(what, "rest") != 0)
        heartbeat_begin_read(heartbeat, READ_PID, clock_mono_ns());
    if (strcmp(what, "rest") == 0)
        heartbeat_end_read(heartbeat);
    (void)!write(CHILD_PROCESS_CHANNEL_FD, "go", 2);
    while (strcmp(what, "spin") == 0 && spin)
        spin++;
    if (strcmp(what, "stop") == 0)
        (void)raise(SIGSTOP);
    for (;;)
        (void)pause();
}

static void start(struct child_process *child, const char *what)
{
    char *argv[] = {own_path, (char *)(uintptr_t)what, NULL};
    struct err err = {""};

    if (!child_process_start(child, own_path, argv, clock_mono_ns(), &err))
        fail_msg("%s", err.text);
}

/* Waits for what the helper says; gives its size. */
static size_t hear(struct child_process *child, char *out, size_t size)
{
    ssize_t got;

    (void)fcntl(child->channel.fd, F_SETFL, 0);
    got = read(child->channel.fd, out, size - 1);
    assert_true(got >= 0);
    out[got] = '\0';
    return (size_t)got;
}

/* Waits until the kernel has the helper in that state. */
static void wait_state(const struct child_process *child, char wanted)
{
    struct proc_stat stat;

    AWAIT(proc_read_stat(child->pid, &stat) && stat.state == wanted);
}

/* How it is seen so long after it began a read; where it reads nothing, after its start. */
static enum child_process_look look_after(struct child_process *child, unsigned ms)
{
    const uint64_t since_ns = heartbeat_since(child->heartbeat);

    return child_process_look(child, (since_ns ? since_ns : child->started_ns) + ms * NS_PER_MS);
}

static void one_that_sleeps_in_a_read_is_blocked(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    start(&child, "sleep");
    (void)hear(&child, text, sizeof(text));
    wait_state(&child, 'S');

    assert_int_equal(look_after(&child, 0), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 500), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 550), CHILD_PROCESS_BLOCKED);
    assert_int_equal(child_process_reads(&child), READ_PID);
    assert_int_equal(child_process_status(&child), -1);
    child_process_end(&child);
}

static void one_that_runs_is_not_blocked_for_long(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    start(&child, "spin");
    (void)hear(&child, text, sizeof(text));
    wait_state(&child, 'R');

    assert_int_equal(look_after(&child, 1000), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 2000), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 60000), CHILD_PROCESS_BLOCKED);
    child_process_end(&child);
}

static void one_that_was_stopped_is_silent(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    start(&child, "stop");
    (void)hear(&child, text, sizeof(text));
    wait_state(&child, 'T');

    assert_int_equal(look_after(&child, 0), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 1000), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 10000), CHILD_PROCESS_SILENT);
    child_process_end(&child);
}

static void one_that_begins_nothing_is_silent(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    start(&child, "rest");
    (void)hear(&child, text, sizeof(text));
    wait_state(&child, 'S');

    assert_int_equal(look_after(&child, 0), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 1000), CHILD_PROCESS_WELL);
    assert_int_equal(look_after(&child, 10000), CHILD_PROCESS_SILENT);
    assert_int_equal(child_process_reads(&child), 0);
    child_process_end(&child);
}

static void the_end_is_told(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    start(&child, "exit");
    assert_int_equal(hear(&child, text, sizeof(text)), 0);
    wait_state(&child, 'Z');
    assert_int_equal(look_after(&child, 60000), CHILD_PROCESS_WELL);
    assert_int_equal(child_process_status(&child), 7);
    child_process_end(&child);

    start(&child, "sleep");
    assert_int_equal(kill(child.pid, SIGSEGV), 0);
    wait_state(&child, 'Z');
    assert_int_equal(child_process_status(&child), 128 + SIGSEGV);
    child_process_end(&child);
}

static void the_environment_stays_here(void **state)
{
    struct child_process child;
    char text[16];

    (void)state;
    assert_int_equal(setenv("PYSTROBE_SECRET", "x", 1), 0);
    start(&child, "env");
    (void)hear(&child, text, sizeof(text));
    assert_string_equal(text, "clean");
    child_process_end(&child);
    child_process_end(&child); /* twice is fine */
}

static void a_program_that_is_not_there_is_told(void **state)
{
    char *argv[] = {own_path, NULL};
    struct err err = {""};
    struct child_process child;

    (void)state;
    if (child_process_start(&child, "/no/such/program", argv, 1, &err)) {
        assert_int_equal(child_process_status(&child),
                         127); /* POSIX allows that, too: valgrind does it */
    } else {
        assert_non_null(strstr(err.text, "No such file"));
        assert_int_equal(child.pid, 0);
    }
    child_process_end(&child);
}

static void an_ended_helper_is_gone(void **state)
{
    struct child_process child;
    char text[16];
    pid_t pid;

    (void)state;
    start(&child, "stop");
    (void)hear(&child, text, sizeof(text));
    pid = child.pid;
    child_process_end(&child);
    assert_int_equal(kill(pid, 0), -1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_sleeps_in_a_read_is_blocked),
        cmocka_unit_test(one_that_runs_is_not_blocked_for_long),
        cmocka_unit_test(one_that_was_stopped_is_silent),
        cmocka_unit_test(one_that_begins_nothing_is_silent),
        cmocka_unit_test(the_end_is_told),
        cmocka_unit_test(the_environment_stays_here),
        cmocka_unit_test(a_program_that_is_not_there_is_told),
        cmocka_unit_test(an_ended_helper_is_gone),
    };
    int failed;

    if (argc > 1)
        return be_helper(argv[1]);
    own_path = realpath("/proc/self/exe", NULL);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(own_path);
    return failed;
}
