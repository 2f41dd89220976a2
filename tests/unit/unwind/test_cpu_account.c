/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpu_account.c - threads are asked where others of the process do not explain its time. */
#include "tests/unit/unit_test.h"
#include "unwind/cpu_account.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* A thread that has used 5 ms; the process 7 ms. All have been asked after 1 s. */
static void begin(struct cpu_account *account, struct cached *thread)
{
    *account = (struct cpu_account){0};
    *thread = (struct cached){.sched_idle = {.cpu_ns = 5 * MS}};
    cpu_account_begin(account, 7 * MS, 1000 * MS);
    cpu_account_add(account, thread, false);
    cpu_account_close(account);
}

static void is_open_until_all_were_asked(void **state)
{
    struct cpu_account account = {0};
    struct cached thread;

    (void)state;
    cpu_account_begin(&account, 7 * MS, 1000 * MS);
    assert_true(cpu_account_is_open(&account, 0, 0));
    begin(&account, &thread);
    cpu_account_begin(&account, 7 * MS, 1010 * MS);
    assert_false(cpu_account_is_open(&account, 0, 0));
}

static void is_closed_while_those_that_were_asked_explain_what_was_used(void **state)
{
    struct cpu_account account;
    struct cached thread;

    (void)state;
    begin(&account, &thread);
    cpu_account_begin(&account, 8 * MS, 1010 * MS);
    assert_true(cpu_account_is_open(&account, 0, 0));
    thread.sched_idle.cpu_ns += 1 * MS;
    cpu_account_add(&account, &thread, false);
    assert_true(thread.used_cpu);
    assert_false(cpu_account_is_open(&account, 0, 0));
    cpu_account_add(&account, &thread, false);
    assert_false(thread.used_cpu);
    assert_false(cpu_account_is_open(&account, 0, 0));
}

static void opens_when_another_thread_has_used_cpu_time(void **state)
{
    struct cpu_account account;
    struct cached thread;

    (void)state;
    begin(&account, &thread);
    for (uint64_t i = 1; i <= 3; i++) { /* little by little */
        cpu_account_begin(&account, 7 * MS + i * MS + i * 10 * US, (1000 + i) * MS);
        thread.sched_idle.cpu_ns += 1 * MS;
        cpu_account_add(&account, &thread, false);
        assert_int_equal(cpu_account_is_open(&account, 0, 0), i == 3);
    }
}

static void waits_for_the_kernel_to_count_what_a_running_thread_has_used(void **state)
{
    struct cpu_account account;
    struct cached thread;

    (void)state;
    begin(&account, &thread);
    cpu_account_begin(&account, 14 * MS, 1010 * MS);
    cpu_account_add(&account, &thread, true);
    assert_false(cpu_account_is_open(&account, 0, 0));
    cpu_account_begin(&account, 18 * MS, 1020 * MS);
    cpu_account_add(&account, &thread, true);
    assert_true(cpu_account_is_open(&account, 0, 0));
    cpu_account_begin(&account, 14 * MS, 1030 * MS);
    cpu_account_add(&account, &thread, false); /* it sleeps: then all is counted */
    assert_true(cpu_account_is_open(&account, 0, 0));
}

static void is_open_once_a_second_and_where_the_clock_is_not_known(void **state)
{
    struct cpu_account account;
    struct cached thread;

    (void)state;
    begin(&account, &thread);
    cpu_account_begin(&account, 7 * MS, 1999 * MS);
    assert_false(cpu_account_is_open(&account, 0, 0));
    cpu_account_begin(&account, 7 * MS, 2000 * MS);
    assert_true(cpu_account_is_open(&account, 0, 0));
    cpu_account_begin(&account, 0, 1500 * MS);
    assert_true(cpu_account_is_open(&account, 0, 0));
    cpu_account_begin(&account, 6 * MS, 1500 * MS); /* another process's */
    assert_true(cpu_account_is_open(&account, 0, 0));
}

static void does_not_count_what_a_thread_used_before_it_was_known(void **state)
{
    struct cpu_account account;
    struct cached thread, new_thread = {.sched_idle = {.cpu_ns = 900 * MS}};

    (void)state;
    begin(&account, &thread);
    cpu_account_begin(&account, 8 * MS, 1010 * MS);
    cpu_account_add(&account, &new_thread, false);
    assert_true(cpu_account_is_open(&account, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_open_until_all_were_asked),
        cmocka_unit_test(is_closed_while_those_that_were_asked_explain_what_was_used),
        cmocka_unit_test(opens_when_another_thread_has_used_cpu_time),
        cmocka_unit_test(waits_for_the_kernel_to_count_what_a_running_thread_has_used),
        cmocka_unit_test(is_open_once_a_second_and_where_the_clock_is_not_known),
        cmocka_unit_test(does_not_count_what_a_thread_used_before_it_was_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
