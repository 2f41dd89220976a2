/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hang.c - a process hangs if it is stuck, or in a deadlock, for long enough; what waits for
 * something that can still come does not.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/sampling/hang.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

enum { AFTER = 1000, TID = 7 };

/* A line of /proc/PID/task/TID/syscall of a futex call. */
static const char *line_of(unsigned operation, unsigned timeout)
{
    static char line[128];

    (void)snprintf(line, sizeof(line),
                   "%d 0x7f0000001000 0x%x 0x0 0x%x 0x0 0xffffffff 0x7ffe0000 0x7f0000002000\n",
                   SYS_futex, operation, timeout);
    return line;
}

static bool waits(const char *line)
{
    uint64_t at = 0;
    bool result = hang_waits(line, &at);

    assert_true(!result || at == 0x7f0000001000);
    return result;
}

static void waits_in_each_way_of_waiting_for_a_lock_for_ever(void **state)
{
    (void)state;
    assert_true(waits(line_of(0x80, 0)));  /* FUTEX_WAIT_PRIVATE */
    assert_true(waits(line_of(0x89, 0)));  /* FUTEX_WAIT_BITSET_PRIVATE */
    assert_true(waits(line_of(0x189, 0))); /* ... with the real-time clock: sem_wait */
    assert_true(waits(line_of(0x86, 0)));  /* FUTEX_LOCK_PI_PRIVATE */
}

static void waits_not_where_something_can_still_come(void **state)
{
    char line[128];

    (void)state;
    assert_false(waits(line_of(0x189, 0x7ffe))); /* a time-out */
    assert_false(waits(line_of(0x9, 0)));        /* another process may have the lock */
    assert_false(waits(line_of(0x81, 0)));       /* FUTEX_WAKE_PRIVATE */
    assert_false(waits("running\n"));
    assert_false(waits("-1 0x7ffe0000 0x7f0000002000\n"));
    assert_false(waits(""));
    (void)snprintf(line, sizeof(line), "%d 0x1 0x80", SYS_futex); /* cut off */
    assert_false(waits(line));
    (void)snprintf(line, sizeof(line), "%d 0x1 0x80 0x0 0x0 0x0 0x0 0x0 0x0\n", SYS_ppoll);
    assert_false(waits(line));
}

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

/* Takes the second lock, then waits for the first. */
static void *cross(void *unused)
{
    (void)pthread_mutex_lock(&second);
    (void)pthread_barrier_wait(&both);
    (void)pthread_mutex_lock(&first);
    return unused;
}

/* A process whose threads end up in a deadlock, but for one that sleeps if that is asked for. */
static void be_deadlocked(bool one_sleeps)
{
    struct timespec hour = {3600, 0};
    pthread_t thread;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)pthread_mutex_lock(&first);
    (void)pthread_barrier_init(&both, NULL, 2);
    (void)pthread_create(&thread, NULL, cross, NULL);
    (void)pthread_barrier_wait(&both);
    if (one_sleeps)
        (void)nanosleep(&hour, NULL);
    (void)pthread_mutex_lock(&second);
    _exit(0);
}

static pid_t start_deadlocked(bool one_sleeps)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        be_deadlocked(one_sleeps);
    return pid;
}

static void end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* True once the first thread sleeps. Before, both wait for each other at the barrier. */
static bool first_thread_sleeps(pid_t pid)
{
    char path[32], line[256] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    (void)!fgets(line, sizeof(line), file);
    (void)fclose(file);
    return strtol(line, NULL, 10) == SYS_clock_nanosleep;
}

static void sees_two_threads_that_wait_for_each_other(void **state)
{
    pid_t pid = start_deadlocked(false);

    (void)state;
    AWAIT(hang_all_wait(pid));
    end(pid);
}

static void sees_no_deadlock_where_one_thread_only_sleeps(void **state)
{
    pid_t pid = start_deadlocked(true);

    (void)state;
    AWAIT(first_thread_sleeps(pid));
    for (int i = 0; i < 20; i++) {
        assert_false(hang_all_wait(pid));
        (void)poll(NULL, 0, 10);
    }
    end(pid);
}

static void sees_none_in_a_process_that_is_gone(void **state)
{
    (void)state;
    assert_false(hang_all_wait(2000000000));
    assert_false(hang_all_wait(getpid()));
}

static bool note(struct hang *hang, uint64_t stuck_ns, uint64_t moved_ns, uint64_t now_ns)
{
    const struct hang_signs signs = {.stuck_ns = stuck_ns, .tid = TID, .moved_ns = moved_ns};

    return hang_note(hang, getpid(), &signs, now_ns);
}

static void is_stuck_after_that_time_and_tells_it_once(void **state)
{
    struct hang hang = {.after_ns = AFTER};

    (void)state;
    assert_false(note(&hang, 100, 100, 100 + AFTER - 1));
    assert_int_equal(hang.kind, HANG_NONE);
    assert_true(note(&hang, 100, 100, 100 + AFTER));
    assert_int_equal(hang.kind, HANG_STUCK);
    assert_int_equal(hang.tid, TID);
    assert_int_equal(hang.since_ns, 100);
    assert_false(note(&hang, 100, 100, 100 + 2 * AFTER));
}

static void tells_that_it_goes_on_and_of_the_next(void **state)
{
    struct hang hang = {.after_ns = AFTER};

    (void)state;
    assert_true(note(&hang, 100, 100, 100 + AFTER));
    assert_true(note(&hang, 0, 5000, 5000));
    assert_int_equal(hang.kind, HANG_NONE);
    assert_int_equal(hang.since_ns, 100); /* of the one that is over */
    assert_false(note(&hang, 5100, 5100, 5200));
    assert_true(note(&hang, 5100, 5100, 5100 + AFTER));
    assert_int_equal(hang.since_ns, 5100);
}

static void does_not_hang_while_it_only_rests(void **state)
{
    struct hang hang = {.after_ns = AFTER};

    (void)state; /* this very process rests, as it says, and it runs: it waits for no lock */
    assert_false(note(&hang, 0, 100, 100 + 100 * AFTER));
    assert_int_equal(hang.checked_ns, 100);
}

static void a_cycle_is_a_deadlock_once_two_looks_have_seen_it(void **state)
{
    struct hang hang = {.after_ns = AFTER,
                        .cycle = {.looked_ns = 500, .mark = 1, .since_ns = 500, .tid = TID}};

    (void)state;
    assert_false(note(&hang, 0, 500 + AFTER, 500 + AFTER));
    hang.cycle.looked_ns = 500 + AFTER;
    assert_true(note(&hang, 0, 500 + AFTER, 500 + AFTER));
    assert_int_equal(hang.kind, HANG_DEADLOCK);
    assert_int_equal(hang.since_ns, 500);
    assert_int_equal(hang.tid, TID);
    hang.cycle.mark = 0;
    assert_true(note(&hang, 0, 3 * AFTER, 3 * AFTER));
    assert_int_equal(hang.kind, HANG_NONE);
}

static void names_what_labels_say(void **state)
{
    (void)state;
    assert_null(hang_name(HANG_NONE));
    assert_string_equal(hang_name(HANG_STUCK), "stuck");
    assert_string_equal(hang_name(HANG_DEADLOCK), "deadlock");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_in_each_way_of_waiting_for_a_lock_for_ever),
        cmocka_unit_test(waits_not_where_something_can_still_come),
        cmocka_unit_test(sees_two_threads_that_wait_for_each_other),
        cmocka_unit_test(sees_no_deadlock_where_one_thread_only_sleeps),
        cmocka_unit_test(sees_none_in_a_process_that_is_gone),
        cmocka_unit_test(is_stuck_after_that_time_and_tells_it_once),
        cmocka_unit_test(tells_that_it_goes_on_and_of_the_next),
        cmocka_unit_test(does_not_hang_while_it_only_rests),
        cmocka_unit_test(a_cycle_is_a_deadlock_once_two_looks_have_seen_it),
        cmocka_unit_test(names_what_labels_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
