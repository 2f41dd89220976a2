/* SPDX-License-Identifier: Apache-2.0 */
/* test_pointer_table.c - a number finds the pointer that was put last, until it is removed. */
#include "base/pointer_table.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

enum { KEYS = 512, STEPS = 200000 };

/* Each key has a value of its own: the address of its byte. */
static char values[KEYS];

static void finds_what_was_put(void **state)
{
    static const uint64_t steps[] = {1, 16, 4096, UINT64_C(1) << 32, UINT64_C(1) << 44};
    struct pointer_table table = {0};
    uint64_t i, k;

    (void)state;
    for (k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
        assert_null(pointer_table_find(&table, 0));
        for (i = 0; i < KEYS; i++)
            assert_true(pointer_table_put(&table, i * steps[k], &values[i]));
        assert_int_equal(table.count, KEYS);
        for (i = 0; i < KEYS; i++)
            assert_ptr_equal(pointer_table_find(&table, i * steps[k]), &values[i]);
        assert_null(pointer_table_find(&table, KEYS * steps[k]));
        pointer_table_clear(&table);
        assert_int_equal(table.count, 0);
    }
    pointer_table_finish(&table);
}

static void replaces_the_value_of_a_key(void **state)
{
    struct pointer_table table = {0};

    (void)state;
    assert_true(pointer_table_put(&table, UINT64_MAX, &values[0]));
    assert_true(pointer_table_put(&table, UINT64_MAX, &values[1]));

    assert_ptr_equal(pointer_table_find(&table, UINT64_MAX), &values[1]);
    assert_int_equal(table.count, 1);
    pointer_table_finish(&table);
    assert_null(pointer_table_find(&table, UINT64_MAX));
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed >> 16;
}

/* Keys that all belong into few slots, at the end of the array and at its beginning. */
static void make_crowded_keys(uint64_t keys[KEYS])
{
    struct pointer_table probe = {0};
    uint64_t key, count = 0;
    size_t at;

    for (key = 1; count < KEYS; key++) {
        assert_true(pointer_table_put(&probe, key, &values[0]));
        for (at = 0; !probe.slots[at].value; at++)
            continue;
        if (at < 2 || at >= probe.slot_count - 2)
            keys[count++] = key;
        pointer_table_clear(&probe);
    }
    pointer_table_finish(&probe);
}

static void is_right_whatever_is_put_and_removed(void **state)
{
    struct pointer_table table = {0};
    uint64_t keys[KEYS], seed = 88172645463325252U;
    const char *there[KEYS] = {0};
    size_t i, k, count = 0;

    (void)state;
    make_crowded_keys(keys);
    for (i = 0; i < STEPS; i++) {
        /* A few keys for long, then many: all sizes of the table are crowded. */
        k = (size_t)next_random(&seed) % (i < STEPS / 4 ? 8 : i < STEPS / 2 ? 60 : KEYS);
        assert_ptr_equal(pointer_table_find(&table, keys[k]), there[k]);
        if (next_random(&seed) % 2) {
            assert_true(pointer_table_put(&table, keys[k], &values[k]));
            count += !there[k];
            there[k] = &values[k];
        } else {
            pointer_table_remove(&table, keys[k]);
            count -= there[k] != NULL;
            there[k] = NULL;
        }
        assert_int_equal(table.count, count);
    }
    for (k = 0; k < KEYS; k++)
        assert_ptr_equal(pointer_table_find(&table, keys[k]), there[k]);
    pointer_table_finish(&table);
}

static void stays_as_it_is_without_memory(void **state)
{
    struct pointer_table table = {0};
    uint64_t i;

    (void)state;
    pointer_table_remove(&table, 3);
    alloc_fail_all();
    assert_false(pointer_table_put(&table, 0, &values[0]));
    (void)alloc_fail_stop();
    assert_int_equal(table.count, 0);
    for (i = 0; i < 8; i++)
        assert_true(pointer_table_put(&table, i, &values[i]));
    alloc_fail_all();
    assert_false(pointer_table_put(&table, 8, &values[8]));
    assert_true(pointer_table_put(&table, 7, &values[9])); /* it is there */
    pointer_table_remove(&table, 0);
    assert_true(pointer_table_put(&table, 8, &values[8])); /* it has held as many */
    (void)alloc_fail_stop();

    assert_int_equal(table.count, 8);
    assert_null(pointer_table_find(&table, 0));
    assert_ptr_equal(pointer_table_find(&table, 7), &values[9]);
    assert_ptr_equal(pointer_table_find(&table, 8), &values[8]);
    pointer_table_finish(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_put),
        cmocka_unit_test(replaces_the_value_of_a_key),
        cmocka_unit_test(is_right_whatever_is_put_and_removed),
        cmocka_unit_test(stays_as_it_is_without_memory),
    };

    return cmocka_run_group_tests_name("pointer_table", tests, NULL, NULL);
}
