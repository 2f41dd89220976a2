/* SPDX-License-Identifier: Apache-2.0 */
/* test_quarantine.c - who held a sampler up is tried ever more rarely, and not for ever kept.
 */
#include "agent/host/clock.h"
#include "agent/supervisor/quarantine.h"
#include "tests/unit/unit_test.h"

static struct proc_id id_of(int pid, uint64_t start)
{
    return (struct proc_id){pid, start};
}

static void waits_grow_to_an_hour(void **state)
{
    const struct proc_id id = id_of(7, 100);
    struct quarantine quarantine = {0};
    const struct quarantine_entry *entry;
    uint64_t now = NS_PER_S, before = 0, wait;
    int i;

    (void)state;
    assert_null(quarantine_find(&quarantine, id));
    for (i = 0; i < 12; i++) {
        entry = quarantine_add(&quarantine, id, now);
        assert_non_null(entry);
        wait = quarantine_next_ns(entry) - now;
        assert_true(wait > before || wait == 3600 * NS_PER_S);
        assert_int_equal(entry->count, i + 1);
        before = wait;
        now += wait;
    }
    assert_true(before == 3600 * NS_PER_S);
    assert_int_equal(quarantine.count, 1);
    quarantine_finish(&quarantine);
}

static void another_process_with_the_pid_is_no_suspect(void **state)
{
    struct quarantine quarantine = {0};

    (void)state;
    assert_non_null(quarantine_add(&quarantine, id_of(7, 100), 1));
    assert_non_null(quarantine_find(&quarantine, id_of(7, 100)));
    assert_null(quarantine_find(&quarantine, id_of(7, 101)));
    assert_null(quarantine_find(&quarantine, id_of(8, 100)));
    quarantine_finish(&quarantine);
}

static bool is_even(void *ctx, struct proc_id id)
{
    (void)ctx;
    return id.pid % 2 == 0;
}

static void those_that_are_gone_are_forgotten(void **state)
{
    struct quarantine quarantine = {0};
    int i;

    (void)state;
    for (i = 1; i <= 20; i++)
        assert_non_null(quarantine_add(&quarantine, id_of(i, 1), 1));
    quarantine_sweep(&quarantine, is_even, NULL);
    assert_int_equal(quarantine.count, 10);
    assert_null(quarantine_find(&quarantine, id_of(4, 1)));
    assert_non_null(quarantine_find(&quarantine, id_of(5, 1)));
    quarantine_finish(&quarantine);
}

static void there_are_only_so_many(void **state)
{
    struct quarantine quarantine = {0};
    int i;

    (void)state;
    for (i = 1; i <= QUARANTINE_MAX + 3; i++)
        assert_non_null(quarantine_add(&quarantine, id_of(i, 1), (uint64_t)i));
    assert_int_equal(quarantine.count, QUARANTINE_MAX);
    assert_null(quarantine_find(&quarantine, id_of(3, 1)));
    assert_non_null(quarantine_find(&quarantine, id_of(4, 1)));
    assert_non_null(quarantine_find(&quarantine, id_of(QUARANTINE_MAX + 3, 1)));
    quarantine_finish(&quarantine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_grow_to_an_hour),
        cmocka_unit_test(another_process_with_the_pid_is_no_suspect),
        cmocka_unit_test(those_that_are_gone_are_forgotten),
        cmocka_unit_test(there_are_only_so_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
