/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_captured.c - what a process of ours prints is kept, within its limits. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/child/run_captured.h"
#include "agent/host/clock.h"
#include "tests/unit/unit_test.h"

static char *own_path; /* RUN_CAPTURED_SELF is valgrind itself below it */

/* The program that runs is this test: what it does is in its first word. */
static int play(const char *part)
{
    if (strcmp(part, "speak") == 0)
        return write(STDOUT_FILENO, "words", 5) == 5 && write(STDERR_FILENO, "!", 1) == 1 ? 0 : 1;
    if (strcmp(part, "fail") == 0)
        return 3;
    while (strcmp(part, "work") == 0)
        if (clock() > CLOCKS_PER_SEC / 20)
            return 0;
    while (strcmp(part, "flood") == 0)
        if (write(STDOUT_FILENO, "words", 5) < 0)
            return 1;
    for (;;)
        (void)pause();
}

/* Runs a part. */
static bool run(const char *part, bool errors, uint64_t limit_ns, bool stopped, struct buf *out)
{
    char *argv[] = {(char[]){"pystrobe"}, strdup(part), NULL};
    const struct run_captured_command command = {own_path, argv, errors};
    atomic_bool stop = stopped;
    const struct run_captured_limits limits = {clock_mono_ns() + limit_ns, &stop};
    bool good;

    assert_non_null(argv[1]);
    good = run_captured(&command, &limits, out);
    free(argv[1]);
    return good;
}

static void keeps_what_is_printed(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_true(run("speak", false, 60 * NS_PER_S, false, &out));
    assert_int_equal(out.size, 5);
    assert_memory_equal(out.data, "words", 5);
    buf_reset(&out);
    assert_true(run("speak", true, 60 * NS_PER_S, false, &out));
    assert_int_equal(out.size, 6);
    buf_finish(&out);
}

static void tells_a_failure(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_false(run("fail", false, 60 * NS_PER_S, false, &out));
    assert_int_equal(out.size, 0);
    buf_finish(&out);
}

static void kills_at_each_of_its_limits(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 100000);
    assert_false(run("sleep", false, 10 * NS_PER_MS, false, &out));
    assert_false(run("sleep", false, 60 * NS_PER_S, true, &out));
    assert_false(run("flood", false, 60 * NS_PER_S, false, &out));
    assert_true(buf_failed(&out));
    buf_finish(&out);
}

static void adds_up_what_its_commands_took(void **state)
{
    uint64_t before_ns = run_captured_cpu_ns();
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_true(run("work", false, 60 * NS_PER_S, false, &out));
    assert_true(run_captured_cpu_ns() >= before_ns + 45 * NS_PER_MS);
    buf_finish(&out);
}

static void *run_beside(void *out)
{
    (void)run("sleep", false, 60 * NS_PER_S, false, out);
    return NULL;
}

static void knows_its_commands_while_they_run(void **state)
{
    pid_t pids[RUN_CAPTURED_RUNNING_MAX];
    pthread_t beside;
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    assert_int_equal(run_captured_count(pids), 0);
    assert_int_equal(pthread_create(&beside, NULL, run_beside, &out), 0);
    while (run_captured_count(pids) == 0)
        (void)usleep(1000);
    assert_int_equal(kill(pids[0], SIGKILL), 0);
    assert_int_equal(pthread_join(beside, NULL), 0);
    assert_int_equal(run_captured_count(pids), 0);
    buf_finish(&out);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_is_printed),
        cmocka_unit_test(tells_a_failure),
        cmocka_unit_test(kills_at_each_of_its_limits),
        cmocka_unit_test(adds_up_what_its_commands_took),
        cmocka_unit_test(knows_its_commands_while_they_run),
    };
    int failed;

    if (argc > 1)
        return play(argv[1]);
    own_path = realpath(RUN_CAPTURED_SELF, NULL);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(own_path);
    return failed;
}
