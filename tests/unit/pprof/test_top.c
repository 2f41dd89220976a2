/* SPDX-License-Identifier: Apache-2.0 */
/* test_top.c - totals by function, and profiles added to one another. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/pprof/example.h"
#include "tests/unit/unit_test.h"

enum { BUDGET = 1 << 20, CPU = 2, WALL = 1 };

static struct pprof *new_profile(const struct pprof_type *types, size_t count, const char *order)
{
    struct pprof *p;

    assert_int_equal(pprof_new(types, count, BUDGET, &p), PPROF_OK);
    assert_int_equal(example_fill(p, order), PPROF_OK);
    return p;
}

static void assert_line(const struct pprof_top *line, const char *name, int64_t flat, int64_t cum)
{
    assert_string_equal(line->name, name);
    assert_string_equal(line->file, "/srv/app.py");
    assert_int_equal(line->flat, flat);
    assert_int_equal(line->cum, cum);
}

static void own_time_is_the_leaf_s_and_recursion_counts_once(void **state)
{
    struct pprof *p = new_profile(example_types, EXAMPLE_TYPES, "012");
    struct pprof_top *top;
    size_t count;

    (void)state;
    assert_int_equal(pprof_top(p, CPU, &top, &count), PPROF_OK);

    assert_int_equal(count, 3); /* "idle" has no cpu */
    assert_line(&top[0], "fib", 30000000, 30000000);
    assert_line(&top[1], "work", 15000000, 45000000);
    assert_line(&top[2], "<module>", 0, 45000000);
    assert_int_equal(top[0].start_line, 20);
    free(top);
    pprof_free(p);
}

static void another_value_has_another_order(void **state)
{
    struct pprof *p = new_profile(example_types, EXAMPLE_TYPES, "01222");
    struct pprof_top *top;
    size_t count;

    (void)state;
    assert_int_equal(pprof_top(p, WALL, &top, &count), PPROF_OK);

    assert_int_equal(count, 4);
    assert_line(&top[0], "fib", 30000000, 30000000);
    assert_line(&top[1], "idle", 30000000, 30000000); /* equal: by name */
    assert_line(&top[2], "work", 20000000, 50000000);
    assert_line(&top[3], "<module>", 0, 80000000);
    free(top);
    pprof_free(p);
}

static void a_value_that_is_not_there_is_refused(void **state)
{
    struct pprof *p = new_profile(example_types, EXAMPLE_TYPES, "0");
    struct pprof_top *top;
    size_t count;

    (void)state;
    assert_int_equal(pprof_top(p, EXAMPLE_TYPES, &top, &count), PPROF_BAD);
    pprof_free(p);
}

static void assert_same_bytes(const struct pprof *a, const struct pprof *b)
{
    struct buf x, y;

    buf_init(&x, BUDGET);
    buf_init(&y, BUDGET);
    assert_int_equal(pprof_encode(a, &example_meta, &x), PPROF_OK);
    assert_int_equal(pprof_encode(b, &example_meta, &y), PPROF_OK);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    buf_finish(&x);
    buf_finish(&y);
}

static void merging_is_as_if_it_had_been_one_profile(void **state)
{
    struct pprof *a = new_profile(example_types, EXAMPLE_TYPES, "01");
    struct pprof *b = new_profile(example_types, EXAMPLE_TYPES, "2210");
    struct pprof *both = new_profile(example_types, EXAMPLE_TYPES, "012210");

    (void)state;
    assert_int_equal(pprof_merge(a, b), PPROF_OK);

    assert_same_bytes(a, both);
    pprof_free(a);
    pprof_free(b);
    pprof_free(both);
}

static void merging_goes_by_the_names_of_the_types(void **state)
{
    const struct pprof_type wanted[] = {{"cpu", "nanoseconds"}, {"wall", "seconds"}, {"x", "y"}};
    struct pprof *from = new_profile(example_types, EXAMPLE_TYPES, "012");
    struct pprof *into;

    (void)state;
    assert_int_equal(pprof_new(wanted, 3, BUDGET, &into), PPROF_OK);
    assert_int_equal(pprof_merge(into, from), PPROF_OK);

    assert_int_equal(pprof_total(into, 0), 45000000);
    assert_int_equal(pprof_total(into, 1), 0); /* the unit is another */
    assert_int_equal(pprof_total(into, 2), 0);
    pprof_free(from);
    pprof_free(into);
}

static void merging_into_too_little_memory_is_full(void **state)
{
    struct pprof *from = new_profile(example_types, EXAMPLE_TYPES, "012");
    struct pprof *into;

    (void)state;
    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, 3000, &into), PPROF_OK);

    assert_int_equal(pprof_merge(into, from), PPROF_FULL);
    pprof_free(from);
    pprof_free(into);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_time_is_the_leaf_s_and_recursion_counts_once),
        cmocka_unit_test(another_value_has_another_order),
        cmocka_unit_test(a_value_that_is_not_there_is_refused),
        cmocka_unit_test(merging_is_as_if_it_had_been_one_profile),
        cmocka_unit_test(merging_goes_by_the_names_of_the_types),
        cmocka_unit_test(merging_into_too_little_memory_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
