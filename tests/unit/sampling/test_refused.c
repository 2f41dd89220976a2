/* SPDX-License-Identifier: Apache-2.0 */
/* test_refused.c - each process that cannot be read is on the list once, until it is sampled. */
#include <unistd.h>

#include "agent/sampling/refused.h"
#include "tests/unit/unit_test.h"

static void has_each_process_once_with_the_last_reason(void **state)
{
    struct refused refused = {.count = 0};
    const struct proc_id id = {getpid(), 5};

    (void)state;
    refused_note(&refused, id, PTRACE_ACCESS_USER);
    refused_note(&refused, id, PTRACE_ACCESS_NOT_DUMPABLE);
    refused_note(&refused, id, PTRACE_ACCESS_GONE);
    assert_int_equal(refused.count, 1);
    assert_int_equal(refused.list[0].access, PTRACE_ACCESS_NOT_DUMPABLE);
    assert_true(refused.list[0].command[0] != '\0');
    refused_note(&refused, (struct proc_id){id.pid, 6}, PTRACE_ACCESS_USER);
    assert_int_equal(refused.count, 2);
}

static void forgets_what_is_sampled_after_all(void **state)
{
    struct refused refused = {.count = 0};
    const struct proc_id first = {1, 5}, second = {1, 6};

    (void)state;
    refused_note(&refused, first, PTRACE_ACCESS_USER);
    refused_note(&refused, second, PTRACE_ACCESS_USER);
    refused_forget(&refused, first);
    assert_int_equal(refused.count, 1);
    assert_int_equal(refused.list[0].id.start, second.start);
    refused_forget(&refused, first);
    assert_int_equal(refused.count, 1);
}

static void knows_that_there_were_more(void **state)
{
    static struct refused refused;

    (void)state;
    for (uint64_t i = 0; i <= REFUSED_MAX; i++) {
        assert_false(refused.more);
        refused_note(&refused, (struct proc_id){1, i}, PTRACE_ACCESS_USER);
    }
    assert_int_equal(refused.count, REFUSED_MAX);
    assert_true(refused.more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_each_process_once_with_the_last_reason),
        cmocka_unit_test(forgets_what_is_sampled_after_all),
        cmocka_unit_test(knows_that_there_were_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
