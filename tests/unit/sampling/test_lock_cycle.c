/* SPDX-License-Identifier: Apache-2.0 */
/* test_lock_cycle.c - threads are in a cycle if the holders of their locks lead back to them. */
#include "agent/sampling/lock_cycle.h"
#include "tests/unit/unit_test.h"

/* Finds the cycle among waits with these holders. */
static uint64_t find(const size_t *holders, size_t count, cpy_addr first_lock, size_t *out_first)
{
    struct cpy_lock_wait waits[8] = {{0}};

    for (size_t i = 0; i < count; i++)
        waits[i] = (struct cpy_lock_wait){
            .state = 100 + i, .futex = i, .lock = first_lock + i, .holder = holders[i]};
    return lock_cycle_find(waits, count, out_first);
}

static void a_ring_of_threads_is_one_and_what_waits_for_it_is_no_part(void **state)
{
    const size_t two[] = {1, 0}, ring[] = {CPY_NO_HOLDER, 0, 4, 2, 3, 2};
    size_t first = 9;

    (void)state;
    assert_true(find(two, 2, 50, &first) != 0);
    assert_int_equal(first, 0);
    assert_true(find(ring, 6, 50, &first) != 0);
    assert_int_equal(first, 2);
}

static void other_locks_make_another(void **state)
{
    const size_t two[] = {1, 0};
    size_t first;

    (void)state;
    assert_true(find(two, 2, 50, &first) == find(two, 2, 50, &first));
    assert_true(find(two, 2, 50, &first) != find(two, 2, 60, &first));
}

static void a_chain_that_ends_is_none(void **state)
{
    const size_t chain[] = {1, 2, CPY_NO_HOLDER}, several[] = {1, CPY_SEVERAL_HOLDERS},
                 into[] = {1, 2, 1};
    size_t first;

    (void)state;
    assert_true(find(chain, 3, 50, &first) == 0);
    assert_true(find(several, 2, 50, &first) == 0);
    assert_true(find(chain, 0, 50, &first) == 0);
    assert_true(find(into, 1, 50, &first) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_of_threads_is_one_and_what_waits_for_it_is_no_part),
        cmocka_unit_test(other_locks_make_another),
        cmocka_unit_test(a_chain_that_ends_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
