/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - equal bytes get equal numbers, within a budget. */
#include <stdio.h>
#include <string.h>

#include "pprof/table.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

enum { BUDGET = 1 << 20, MANY = 5000 };

struct fixture {
    struct arena arena;
    struct table table;
};

static void begin(struct fixture *f, size_t budget)
{
    arena_init(&f->arena, budget);
    table_init(&f->table, &f->arena, 42);
}

static void end(struct fixture *f)
{
    table_finish(&f->table);
    arena_finish(&f->arena);
}

static enum pprof_rc intern_number(struct fixture *f, uint32_t i, uint32_t *out)
{
    return table_intern(&f->table, &i, sizeof(i), out);
}

static void numbers_count_up_and_stay(void **state)
{
    struct fixture f;
    uint32_t i, number;

    (void)state;
    begin(&f, BUDGET);
    for (i = 0; i < MANY; i++) {
        assert_int_equal(intern_number(&f, i * 7919, &number), PPROF_OK);
        assert_int_equal(number, i);
    }

    for (i = 0; i < MANY; i++) {
        assert_int_equal(intern_number(&f, i * 7919, &number), PPROF_OK);
        assert_int_equal(number, i);
    }
    assert_int_equal(f.table.count, MANY);
    end(&f);
}

static void keys_of_every_length_are_told_apart(void **state)
{
    static const char zeros[40];
    struct fixture f;
    uint32_t number;
    size_t size;

    (void)state;
    begin(&f, BUDGET);
    for (size = 0; size < sizeof(zeros); size++) {
        assert_int_equal(table_intern(&f.table, zeros, size, &number), PPROF_OK);
        assert_int_equal(number, size);
    }
    end(&f);
}

static void find_gives_none_for_what_is_not_there(void **state)
{
    struct fixture f;
    uint32_t number;

    (void)state;
    begin(&f, BUDGET);
    assert_true(table_find(&f.table, "a", 1) == TABLE_NONE);
    assert_int_equal(table_intern(&f.table, "a", 1, &number), PPROF_OK);

    assert_int_equal(table_find(&f.table, "a", 1), 0);
    assert_true(table_find(&f.table, "b", 1) == TABLE_NONE);
    end(&f);
}

static void known_keys_cost_no_allocation(void **state)
{
    struct fixture f;
    uint32_t i, number;

    (void)state;
    begin(&f, BUDGET);
    for (i = 0; i < MANY; i++)
        assert_int_equal(intern_number(&f, i, &number), PPROF_OK);
    alloc_fail_all();
    for (i = 0; i < MANY; i++)
        assert_int_equal(intern_number(&f, i, &number), PPROF_OK);

    assert_int_equal(alloc_fail_stop(), 0);
    end(&f);
}

static void memory_is_reused_after_reset(void **state)
{
    struct fixture f;
    uint32_t i, number;

    (void)state;
    begin(&f, BUDGET);
    for (i = 0; i < MANY; i++)
        assert_int_equal(intern_number(&f, i, &number), PPROF_OK);
    table_reset(&f.table);
    arena_reset(&f.arena);
    alloc_fail_all();
    for (i = 0; i < MANY; i++) {
        assert_int_equal(intern_number(&f, i + MANY, &number), PPROF_OK);
        assert_int_equal(number, i);
    }

    assert_int_equal(alloc_fail_stop(), 0);
    assert_true(table_find(&f.table, &(uint32_t){0}, sizeof(uint32_t)) == TABLE_NONE);
    end(&f);
}

static void full_keeps_what_is_there(void **state)
{
    struct fixture f;
    uint32_t i, count, number;

    (void)state;
    begin(&f, 20000);
    for (i = 0; intern_number(&f, i, &number) == PPROF_OK; i++)
        assert_true(i < 20000 / 16);
    count = i;

    assert_true(count > 100);
    assert_int_equal(intern_number(&f, count, &number), PPROF_FULL);
    for (i = 0; i < count; i++) {
        assert_int_equal(intern_number(&f, i, &number), PPROF_OK);
        assert_int_equal(number, i);
    }
    end(&f);
    assert_int_equal(f.arena.max, 20000); /* the table gave its share back */
}

static void a_failed_allocation_keeps_what_is_there(void **state)
{
    struct fixture f;
    unsigned long n;
    uint32_t i, number;

    (void)state;
    for (n = 1; n < 12; n++) {
        enum pprof_rc rc = PPROF_OK;

        begin(&f, BUDGET);
        alloc_fail_at(n);
        for (i = 0; i < 400 && rc == PPROF_OK; i++)
            rc = intern_number(&f, i, &number);
        (void)alloc_fail_stop();
        assert_true(rc == PPROF_OK || rc == PPROF_NOMEM);
        for (i = 0; i < 400; i++) {
            assert_int_equal(intern_number(&f, i, &number), PPROF_OK);
            assert_int_equal(number, i);
        }
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_count_up_and_stay),
        cmocka_unit_test(keys_of_every_length_are_told_apart),
        cmocka_unit_test(find_gives_none_for_what_is_not_there),
        cmocka_unit_test(known_keys_cost_no_allocation),
        cmocka_unit_test(memory_is_reused_after_reset),
        cmocka_unit_test(full_keeps_what_is_there),
        cmocka_unit_test(a_failed_allocation_keeps_what_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
