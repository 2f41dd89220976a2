/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread.c - a signal of the process goes to the thread that waits for it, and to no other. */
#include "agent/host/thread.h"
#include "tests/unit/unit_test.h"

static void *read_mask(void *ctx)
{
    sigset_t *mask = ctx;

    (void)pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

static void assert_all_blocked(const sigset_t *mask)
{
    assert_true(sigismember(mask, SIGTERM));
    assert_true(sigismember(mask, SIGHUP));
    assert_true(sigismember(mask, SIGCHLD));
    assert_true(sigismember(mask, SIGINT));
}

static void a_thread_gets_no_signal_and_its_starter_all_that_it_got_before(void **state)
{
    sigset_t mask;
    pthread_t thread;

    (void)state;
    (void)sigemptyset(&mask);
    assert_int_equal(thread_start(&thread, read_mask, &mask), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_all_blocked(&mask);
    (void)read_mask(&mask);
    assert_false(sigismember(&mask, SIGTERM));
    assert_false(sigismember(&mask, SIGCHLD));
}

static void what_was_blocked_before_is_blocked_again(void **state)
{
    sigset_t hup, before, mask;

    (void)state;
    (void)sigemptyset(&hup);
    (void)sigaddset(&hup, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &hup, NULL);
    thread_block_signals(&before);
    (void)read_mask(&mask);
    assert_all_blocked(&mask);
    thread_restore_signals(&before);
    (void)read_mask(&mask);
    assert_true(sigismember(&mask, SIGHUP));
    assert_false(sigismember(&mask, SIGTERM));
    (void)pthread_sigmask(SIG_UNBLOCK, &hup, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_gets_no_signal_and_its_starter_all_that_it_got_before),
        cmocka_unit_test(what_was_blocked_before_is_blocked_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
