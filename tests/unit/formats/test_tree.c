/* SPDX-License-Identifier: Apache-2.0 */
/* test_tree.c - stacks become one tree whose values add up. */
#include "formats/tree.h"
#include "tests/unit/formats/example.h"

static const char *name_of(const struct pprof_stacks *stacks, const struct tree *tree, size_t node)
{
    return stacks->functions[tree->nodes[node].what].name;
}

static void nodes_are_in_order_with_own_and_total(void **state)
{
    static const char *const names[] = {"", "<module>", "idle", "work", "fib", "fib"};
    static const uint32_t levels[] = {0, 1, 2, 2, 3, 4}, ends[] = {6, 6, 3, 6, 6, 6};
    static const int64_t own[] = {0, 0, 10, 20, 0, 30}, total[] = {60, 60, 10, 50, 30, 30};
    struct pprof *p = format_profile("210");
    struct pprof_stacks *stacks = format_stacks(p);
    struct tree *tree;
    size_t i;

    (void)state;
    assert_int_equal(tree_new(stacks, false, &tree), PPROF_OK);
    assert_int_equal(tree->count, 6);
    assert_int_equal(tree->levels, 4);
    for (i = 0; i < 6; i++) {
        assert_string_equal(name_of(stacks, tree, i), names[i]);
        assert_int_equal(tree->nodes[i].level, levels[i]);
        assert_int_equal(tree->nodes[i].end, ends[i]);
        assert_int_equal(tree_own(tree, i, 1), own[i] * 1000000);
        assert_int_equal(tree_total(tree, i, 1), total[i] * 1000000);
    }
    tree_free(tree);
    pprof_stacks_free(stacks);
    pprof_free(p);
}

static void lines_of_a_function_are_one_call_unless_they_are_asked_for(void **state)
{
    static const char *const names[] = {"leaf", "root"};
    static const int32_t first[] = {5, 10}, second[] = {5, 11};
    struct pprof *p = format_profile("");
    struct pprof_stacks *stacks;
    struct tree *tree;

    (void)state;
    format_row(p, names, first, 2, "/a.py", 1);
    format_row(p, names, second, 2, "/a.py", 2);
    stacks = format_stacks(p);

    assert_int_equal(tree_new(stacks, false, &tree), PPROF_OK);
    assert_int_equal(tree->count, 3);
    assert_int_equal(tree->ends[0], 2);
    assert_int_equal(tree->ends[1], 2);
    tree_free(tree);
    assert_int_equal(tree_new(stacks, true, &tree), PPROF_OK);
    assert_int_equal(tree->count, 5);
    assert_int_equal(tree->ends[0], 2);
    assert_int_equal(tree->ends[1], 4);
    tree_free(tree);
    pprof_stacks_free(stacks);
    pprof_free(p);
}

static void a_stack_that_is_the_beginning_of_another_ends_in_its_middle(void **state)
{
    static const char *const names[] = {"leaf", "middle", "root"};
    static const int32_t lines[] = {1, 2, 3};
    struct pprof *p = format_profile("");
    struct pprof_stacks *stacks;
    struct tree *tree;

    (void)state;
    format_row(p, names, lines, 3, "/a.py", 1);
    format_row(p, names + 1, lines + 1, 2, "/a.py", 2);
    format_row(p, names, lines, 0, "/a.py", 4);
    stacks = format_stacks(p);

    assert_int_equal(tree_new(stacks, false, &tree), PPROF_OK);
    assert_int_equal(tree->count, 4);
    assert_int_equal(tree_own(tree, 0, 2), 4);
    assert_int_equal(tree_own(tree, 2, 2), 2);
    assert_int_equal(tree_total(tree, 2, 2), 3);
    assert_int_equal(tree_total(tree, 0, 2), 7);
    tree_free(tree);
    pprof_stacks_free(stacks);
    pprof_free(p);
}

static void an_empty_profile_is_a_root(void **state)
{
    struct pprof *p = format_profile("");
    struct pprof_stacks *stacks = format_stacks(p);
    struct tree *tree;

    (void)state;
    assert_int_equal(tree_new(stacks, false, &tree), PPROF_OK);
    assert_int_equal(tree->count, 1);
    assert_int_equal(tree->nodes[0].end, 1);
    assert_int_equal(tree_total(tree, 0, 0), 0);
    tree_free(tree);
    tree_free(NULL);
    pprof_stacks_free(stacks);
    pprof_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_in_order_with_own_and_total),
        cmocka_unit_test(lines_of_a_function_are_one_call_unless_they_are_asked_for),
        cmocka_unit_test(a_stack_that_is_the_beginning_of_another_ends_in_its_middle),
        cmocka_unit_test(an_empty_profile_is_a_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
