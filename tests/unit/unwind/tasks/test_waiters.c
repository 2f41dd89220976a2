/* SPDX-License-Identifier: Apache-2.0 */
/* test_waiters.c - the waiters of a task are found within bounds, whatever their set claims.
 */
#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

static struct waiters got;

static enum cpy_rc read_and_end(struct fake *fake, cpy_addr by, bool is_set)
{
    enum cpy_rc rc = waiters_read(&fake->reader, &(struct awaited){by, is_set, true}, &got);

    mem_close(&fake->mem);
    return rc;
}

static void gives_nobody_one_or_a_set(void **state)
{
    struct fake *fake = fake_of_tasks(14);
    cpy_addr one = fake_task(fake, true, 0), two = fake_task(fake, true, 0), set;

    (void)state;
    assert_int_equal(waiters_read(&fake->reader, &(struct awaited){0}, &got), CPY_OK);
    assert_int_equal(got.count, 0);
    assert_int_equal(waiters_read(&fake->reader, &(struct awaited){one, false, true}, &got),
                     CPY_OK);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.tasks[0], one);
    set = fake_set(fake, 8);
    fake_set_put(fake, set, 1, two, 5);
    fake_set_put(fake, set, 3, NOWHERE, -1); /* was taken out */
    fake_set_put(fake, set, 7, one, 6);
    assert_int_equal(read_and_end(fake, set, true), CPY_OK);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.tasks[0], one);
    assert_int_equal(got.tasks[1], two);
    assert_false(got.cut);
}

static void refuses_a_set_whose_counts_cannot_be(void **state)
{
    static const uint64_t masks[] = {UINT64_MAX, INT64_MAX, 1 << 20, 0};
    static const uint64_t counts[] = {UINT64_MAX, INT64_MAX, 8, 5};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct fake *fake = fake_of_tasks(15);
        cpy_addr set = fake_set(fake, 8);

        fake_set_put(fake, set, 0, fake_task(fake, true, 0), 1);
        fake_put64(fake, set + fake->layout.set.mask, masks[i]);
        assert_int_equal(waiters_read(&fake->reader, &(struct awaited){set, true, true}, &got),
                         CPY_RACED);
        fake_put64(fake, set + fake->layout.set.mask, 7);
        fake_put64(fake, set + fake->layout.set.used, counts[i]);
        assert_int_equal(read_and_end(fake, set, true), CPY_RACED);
    }
}

static void refuses_what_is_not_mapped(void **state)
{
    struct fake *fake = fake_of_tasks(15);
    cpy_addr set = fake_set(fake, 8);

    (void)state;
    assert_int_equal(waiters_read(&fake->reader, &(struct awaited){NOWHERE, true, true}, &got),
                     CPY_RACED);
    assert_int_equal(waiters_read(&fake->reader, &(struct awaited){NOWHERE, false, true}, &got),
                     CPY_RACED);
    fake_set_put(fake, set, 0, NOWHERE, 1);
    assert_int_equal(read_and_end(fake, set, true), CPY_RACED);
}

static void marks_as_cut_what_has_too_many(void **state)
{
    struct fake *fake = fake_of_tasks(15);
    cpy_addr task = fake_task(fake, true, 0), set = fake_set(fake, 16384);

    (void)state;
    for (size_t i = 0; i < 5000; i++)
        fake_set_put(fake, set, i, task, 1);
    assert_int_equal(read_and_end(fake, set, true), CPY_OK);

    assert_true(got.cut);
    assert_int_equal(got.count, 1); /* the same one each time */
}

static void looks_through_futures_that_wait(void **state)
{
    struct fake *fake = fake_of_tasks(15);
    cpy_addr task = fake_task(fake, true, 0), future = fake_task(fake, false, task);

    (void)state;
    future = fake_task(fake, false, future);
    assert_int_equal(read_and_end(fake, future, false), CPY_OK);

    assert_int_equal(got.count, 1);
    assert_int_equal(got.tasks[0], task);
}

static void ends_on_futures_that_wait_for_each_other(void **state)
{
    struct fake *fake = fake_of_tasks(15);
    cpy_addr first = fake_task(fake, false, 0), second = fake_task(fake, false, first);

    (void)state;
    fake_put64(fake, first + fake->layout.asyncio.awaited_by, second);
    assert_int_equal(read_and_end(fake, second, false), CPY_OK);

    assert_int_equal(got.count, 0);
    assert_false(got.cut);
}

static void marks_as_cut_what_waits_behind_too_many_futures(void **state)
{
    struct fake *fake = fake_of_tasks(15);
    cpy_addr at = fake_task(fake, true, 0);

    (void)state;
    for (size_t i = 0; i < WAITERS_FUTURES_MAX + 1; i++)
        at = fake_task(fake, false, at);
    assert_int_equal(read_and_end(fake, at, false), CPY_OK);

    assert_true(got.cut);
    assert_int_equal(got.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_nobody_one_or_a_set),
        cmocka_unit_test(refuses_a_set_whose_counts_cannot_be),
        cmocka_unit_test(refuses_what_is_not_mapped),
        cmocka_unit_test(marks_as_cut_what_has_too_many),
        cmocka_unit_test(looks_through_futures_that_wait),
        cmocka_unit_test(ends_on_futures_that_wait_for_each_other),
        cmocka_unit_test(marks_as_cut_what_waits_behind_too_many_futures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
