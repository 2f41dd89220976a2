/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_child_process.c - helpers are started clean, told from one that gets no CPU when they
 * hang, and gone when they are ended. The helper is this program again.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/child/child_process.h"
#include "agent/host/clock.h"
#include "agent/proc/proc.h"

enum { READ_PID = 4242 };

static char *own_path;

/* What the helper does, by its argument. */
static int be_helper(const char *what)
{
    struct beat *beat =
        mmap(NULL, sizeof(*beat), PROT_READ | PROT_WRITE, MAP_SHARED, HELPER_BEAT_FD, 0);
    volatile uint64_t spin = 1;

    if (beat == MAP_FAILED)
        return 9;
    if (strcmp(what, "exit") == 0)
        return 7;
    if (strcmp(what, "env") == 0) {
        dprintf(HELPER_LINK_FD, "%s", getenv("PYSTROBE_SECRET") ? "leaks" : "clean");
        return 0;
    }
    if (strcmp(what, "rest") != 0)
        beat_read(beat, READ_PID, clock_mono_ns());
    if (strcmp(what, "rest") == 0)
        beat_rest(beat);
    (void)!write(HELPER_LINK_FD, "go", 2);
    while (strcmp(what, "spin") == 0 && spin)
        spin++;
    if (strcmp(what, "stop") == 0)
        (void)raise(SIGSTOP);
    for (;;)
        (void)pause();
}

static void start(struct helper *helper, const char *what)
{
    char *argv[] = {own_path, (char *)(uintptr_t)what, NULL};
    struct err err = {""};

    if (!helper_start(helper, own_path, argv, clock_mono_ns(), &err))
        fail_msg("%s", err.text);
}

/* Waits for what the helper says; gives its size. */
static size_t hear(struct helper *helper, char *out, size_t size)
{
    ssize_t got;

    (void)fcntl(helper->link.fd, F_SETFL, 0);
    got = read(helper->link.fd, out, size - 1);
    assert_true(got >= 0);
    out[got] = '\0';
    return (size_t)got;
}

/* Waits until the kernel has the helper in that state. */
static void wait_state(const struct helper *helper, char wanted)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct proc_stat stat;
    int i;

    for (i = 0; i < 20000; i++) {
        assert_true(proc_read_stat(helper->pid, &stat));
        if (stat.state == wanted)
            return;
        (void)nanosleep(&pause, NULL);
    }
    fail_msg("the helper never was %c", wanted);
}

static uint64_t later(unsigned ms)
{
    return clock_mono_ns() + ms * NS_PER_MS;
}

static void one_that_sleeps_in_a_read_is_blocked(void **state)
{
    struct helper helper;
    char text[16];

    (void)state;
    start(&helper, "sleep");
    (void)hear(&helper, text, sizeof(text));
    wait_state(&helper, 'S');

    assert_int_equal(helper_look(&helper, clock_mono_ns()), HELPER_WELL);
    assert_int_equal(helper_look(&helper, later(500)), HELPER_WELL);
    assert_int_equal(helper_look(&helper, later(550)), HELPER_BLOCKED);
    assert_int_equal(helper_reads(&helper), READ_PID);
    assert_int_equal(helper_status(&helper), -1);
    helper_end(&helper);
}

static void one_that_runs_is_not_blocked_for_long(void **state)
{
    struct helper helper;
    char text[16];

    (void)state;
    start(&helper, "spin");
    (void)hear(&helper, text, sizeof(text));
    wait_state(&helper, 'R');

    assert_int_equal(helper_look(&helper, later(1000)), HELPER_WELL);
    assert_int_equal(helper_look(&helper, later(2000)), HELPER_WELL);
    assert_int_equal(helper_look(&helper, later(60000)), HELPER_BLOCKED);
    helper_end(&helper);
}

static void one_that_was_stopped_is_silent(void **state)
{
    struct helper helper;
    char text[16];

    (void)state;
    start(&helper, "stop");
    (void)hear(&helper, text, sizeof(text));
    wait_state(&helper, 'T');

    assert_int_equal(helper_look(&helper, clock_mono_ns()), HELPER_WELL);
    assert_int_equal(helper_look(&helper, later(1000)), HELPER_WELL);
    assert_int_equal(helper_look(&helper, later(10000)), HELPER_SILENT);
    helper_end(&helper);
}

static void one_that_begins_nothing_is_silent(void **state)
{
    struct helper helper;
    char text[16];

    (void)state;
    start(&helper, "rest");
    (void)hear(&helper, text, sizeof(text));
    wait_state(&helper, 'S');

    assert_int_equal(helper_look(&helper, clock_mono_ns()), HELPER_WELL);
    assert_int_equal(helper_look(&helper, later(1000)), HELPER_WELL);
    assert_int_equal(helper_look(&helper, later(10000)), HELPER_SILENT);
    assert_int_equal(helper_reads(&helper), 0);
    helper_end(&helper);
}

static void the_end_is_told(void **state)
{
    struct helper helper;
    char text[16];

    (void)state;
    start(&helper, "exit");
    assert_int_equal(hear(&helper, text, sizeof(text)), 0);
    wait_state(&helper, 'Z');
    assert_int_equal(helper_look(&helper, later(60000)), HELPER_WELL);
    assert_int_equal(helper_status(&helper), 7);
    helper_end(&helper);

    start(&helper, "sleep");
    assert_int_equal(kill(helper.pid, SIGSEGV), 0);
    wait_state(&helper, 'Z');
    assert_int_equal(helper_status(&helper), 128 + SIGSEGV);
    helper_end(&helper);
}

static void the_environment_stays_here(void **state)
{
    struct helper helper;
    char text[16];

    (void)state;
    assert_int_equal(setenv("PYSTROBE_SECRET", "x", 1), 0);
    start(&helper, "env");
    (void)hear(&helper, text, sizeof(text));
    assert_string_equal(text, "clean");
    helper_end(&helper);
    helper_end(&helper); /* twice is fine */
}

static void a_program_that_is_not_there_is_told(void **state)
{
    char *argv[] = {own_path, NULL};
    struct err err = {""};
    struct helper helper;

    (void)state;
    if (helper_start(&helper, "/no/such/program", argv, 1, &err)) {
        assert_int_equal(helper_status(&helper),
                         127); /* POSIX allows that, too: valgrind does it */
    } else {
        assert_non_null(strstr(err.text, "No such file"));
        assert_int_equal(helper.pid, 0);
    }
    helper_end(&helper);
}

static void an_ended_helper_is_gone(void **state)
{
    struct helper helper;
    char text[16];
    pid_t pid;

    (void)state;
    start(&helper, "stop");
    (void)hear(&helper, text, sizeof(text));
    pid = helper.pid;
    helper_end(&helper);
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
