/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hang_log.c - of a hang there is a line and a dump, once; whatever processes do, they do not
 * flood the log.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/supervisor/hang_log.h"
#include "tests/unit/captured_log.h"
#include "tests/unit/unit_test.h"

enum { PID = 4242 };

static const char dump[] =
    "\nThread 4242 \"MainThread\" (holds the GIL)\n    shop.py:3 in sell\x1b\n";

static size_t times(const char *text, const char *word)
{
    size_t count = 0;

    for (text = strstr(text, word); text; text = strstr(text + 1, word))
        count++;
    return count;
}

static void report(struct hang_log *log, struct hang_reported *reported, enum hang_kind kind)
{
    const struct engine_hang hang = {
        .id = {PID, 1}, .kind = kind, .tid = PID + 1, .lasted_ns = 31 * NS_PER_S};

    hang_report(log, reported, &hang, "shop", dump, sizeof(dump) - 1);
}

static int set_up(void **state)
{
    (void)state;
    log_init(LOG_LEVEL_INFO);
    return 0;
}

static void tells_a_hang_with_its_dump_and_its_end(void **state)
{
    struct hang_log log = {0};
    struct hang_reported reported = {0};
    const char *text;

    (void)state;
    capture();
    report(&log, &reported, HANG_STUCK);
    report(&log, &reported, HANG_STUCK); /* of a sampler that was started again */
    assert_int_equal(reported.count, 1);
    assert_true(clock_mono_ns() - reported.since_ns >= 31 * NS_PER_S);
    report(&log, &reported, HANG_NONE);
    text = captured();

    assert_int_equal(times(text, "process 4242 of service shop hangs: thread 4243 has held the "
                                 "GIL in one place for 31 s\n"),
                     1);
    assert_int_equal(
        times(text, "warning: process 4242: Thread 4242 \"MainThread\" (holds the GIL)\n"), 1);
    assert_int_equal(times(text, "warning: process 4242:     shop.py:3 in sell\\x1b\n"), 1);
    assert_int_equal(times(text, "process 4242 of service shop goes on: it hung for 31 s\n"), 1);
    assert_int_equal(times(text, "\n"), 4);
    assert_int_equal(log.counts[HANG_STUCK], 1);
    assert_int_equal(log.counts[HANG_NONE], 1);
}

static void tells_a_deadlock_of_all_threads(void **state)
{
    struct hang_log log = {0};
    struct hang_reported reported = {0};
    const struct engine_hang hang = {
        .id = {PID, 1}, .kind = HANG_DEADLOCK, .lasted_ns = 31 * NS_PER_S};

    (void)state;
    capture();
    hang_report(&log, &reported, &hang, "shop", dump, sizeof(dump) - 1);

    assert_int_equal(times(captured(), "hangs: for 31 s all its threads have waited for locks"), 1);
    assert_int_equal(log.counts[HANG_DEADLOCK], 1);
}

static void tells_a_deadlock_of_some_threads(void **state)
{
    struct hang_log log = {0};
    struct hang_reported reported = {0};

    (void)state;
    capture();
    report(&log, &reported, HANG_DEADLOCK);

    assert_int_equal(times(captured(), "hangs: for 31 s thread 4243 and others have waited for "
                                       "each other's locks"),
                     1);
    assert_int_equal(log.counts[HANG_DEADLOCK], 1);
}

static void dumps_a_process_that_hangs_again_and_again_once(void **state)
{
    struct hang_log log = {0};
    struct hang_reported reported = {0};
    const char *text;

    (void)state;
    capture();
    for (int i = 0; i < 1000; i++) {
        report(&log, &reported, i % 2 ? HANG_STUCK : HANG_DEADLOCK);
        report(&log, &reported, HANG_NONE);
    }
    text = captured();

    assert_int_equal(reported.count, 1000);
    assert_int_equal(times(text, "shop.py:3"), 1);
    assert_true(times(text, "\n") <= 3 * LOG_BURST + 2);
}

static void dumps_some_of_many_processes(void **state)
{
    struct hang_log log = {0};
    struct hang_reported reported[5 * HANG_DUMPS] = {{0}};
    const char *text;

    (void)state;
    capture();
    for (size_t i = 0; i < sizeof(reported) / sizeof(reported[0]); i++)
        report(&log, &reported[i], HANG_STUCK);
    text = captured();

    assert_int_equal(times(text, "shop.py:3"), HANG_DUMPS);
}

static void forgets_the_hang_of_a_process_that_is_not_read_but_not_its_dump(void **state)
{
    struct hang_log log = {0};
    struct hang_reported reported = {0};
    const char *text;

    (void)state;
    capture();
    report(&log, &reported, HANG_STUCK);
    hang_forget(&reported);
    assert_int_equal(reported.kind, HANG_NONE);
    report(&log, &reported, HANG_STUCK);
    text = captured();

    assert_int_equal(reported.count, 2);
    assert_int_equal(times(text, "shop.py:3"), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(tells_a_hang_with_its_dump_and_its_end),
        TEST(tells_a_deadlock_of_all_threads),
        TEST(tells_a_deadlock_of_some_threads),
        TEST(dumps_a_process_that_hangs_again_and_again_once),
        TEST(dumps_some_of_many_processes),
        TEST(forgets_the_hang_of_a_process_that_is_not_read_but_not_its_dump),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
