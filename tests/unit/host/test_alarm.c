/* SPDX-License-Identifier: Apache-2.0 */
/* test_alarm.c - who waits wakes up at the instant, whatever was set before. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/alarm.h"
#include "agent/host/clock.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

#define STEP  (2 * NS_PER_MS)
#define LONG  (3600 * NS_PER_S)
#define SHORT (100 * NS_PER_MS)

static int begin(void **state)
{
    static struct alarm alarm;

    *state = &alarm;
    hang_limit_begin(); /* whoever is not woken up in time waits for LONG */
    return alarm_init(&alarm) ? 0 : -1;
}

static int end(void **state)
{
    hang_limit_end();
    alarm_finish(*state);
    return 0;
}

/* Waits, and was woken by the clock alone. */
static void wait_well(struct alarm *alarm, uint64_t until_ns, uint64_t after_ns)
{
    assert_int_equal(alarm_wait(alarm, -1, until_ns, after_ns), 0);
    assert_true(clock_mono_ns() >= until_ns);
}

static void wakes_up_at_one_instant_after_the_other(void **state)
{
    uint64_t next = clock_mono_ns();

    for (int i = 0; i < 50; i++) {
        next += STEP;
        wait_well(*state, next, next + STEP);
    }
}

/* What a timer is set to, as the kernel has it; 0: it is set to nothing, or over. */
static uint64_t left_of(const struct alarm *alarm, int which)
{
    struct itimerspec left;

    assert_int_equal(timerfd_gettime(alarm->fd[which], &left), 0);
    return (uint64_t)left.it_value.tv_sec * NS_PER_S + (uint64_t)left.it_value.tv_nsec;
}

static void has_the_next_instant_set_already(void **state)
{
    const struct alarm *alarm = *state;
    uint64_t now = clock_mono_ns();

    wait_well(*state, now + STEP, now + LONG);
    assert_true(left_of(alarm, 0) + left_of(alarm, 1) > LONG / 2);
}

static void wakes_up_sooner_or_later_than_was_said_before(void **state)
{
    uint64_t now = clock_mono_ns();

    wait_well(*state, now + STEP, now + LONG);
    wait_well(*state, now + 2 * STEP, now + LONG);
    wait_well(*state, now + 3 * STEP, now + 4 * STEP);
    wait_well(*state, now + SHORT, now + LONG);
    wait_well(*state, now + SHORT + STEP, now + SHORT + 2 * STEP);
}

static void does_not_wait_for_what_is_over(void **state)
{
    uint64_t now = clock_mono_ns();

    wait_well(*state, now - STEP, now + LONG);
    wait_well(*state, now - STEP, now + LONG);
    assert_int_equal(alarm_wait(*state, -1, 1, 2), 0);
}

static void wakes_up_where_it_has_moved_to(void **state)
{
    cpu_set_t before, one;
    uint64_t next;

    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &before))
            continue;
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
        next = clock_mono_ns() + STEP;
        wait_well(*state, next, next + LONG);
        wait_well(*state, next + STEP, next + LONG);
    }
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void is_woken_by_what_can_be_read(void **state)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(alarm_wait(*state, fds[0], clock_mono_ns() + LONG, clock_mono_ns() + 2 * LONG),
                     1);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void note_nothing(int signal)
{
    (void)signal;
}

static void is_woken_by_a_signal(void **state)
{
    const struct sigaction handled = {.sa_handler = note_nothing};
    const struct itimerspec soon = {.it_value = {.tv_nsec = 20000000},
                                    .it_interval = {.tv_nsec = 20000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    timer_t timer;

    assert_int_equal(sigaction(SIGALRM, &handled, NULL), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &soon, NULL), 0);
    assert_int_equal(alarm_wait(*state, -1, clock_mono_ns() + LONG, clock_mono_ns() + LONG), -1);
    assert_int_equal(errno, EINTR);
    assert_int_equal(timer_delete(timer), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wakes_up_at_one_instant_after_the_other, begin, end),
        cmocka_unit_test_setup_teardown(has_the_next_instant_set_already, begin, end),
        cmocka_unit_test_setup_teardown(wakes_up_sooner_or_later_than_was_said_before, begin, end),
        cmocka_unit_test_setup_teardown(does_not_wait_for_what_is_over, begin, end),
        cmocka_unit_test_setup_teardown(wakes_up_where_it_has_moved_to, begin, end),
        cmocka_unit_test_setup_teardown(is_woken_by_what_can_be_read, begin, end),
        cmocka_unit_test_setup_teardown(is_woken_by_a_signal, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
