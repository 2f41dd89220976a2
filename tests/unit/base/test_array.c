/* SPDX-License-Identifier: Apache-2.0 */
/* test_array.c - arrays grow by doubling, whole or not at all. */
#include <stdlib.h>

#include "base/array.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

struct list {
    uint32_t *items;
    size_t count, capacity;
};

static bool append(struct list *list, uint32_t item)
{
    if (!ARRAY_RESERVE(list->items, list->capacity, list->count + 1))
        return false;
    list->items[list->count++] = item;
    return true;
}

static void keeps_its_items_while_it_grows(void **state)
{
    struct list list = {0};
    uint32_t i;

    (void)state;
    for (i = 0; i < 1000; i++)
        assert_true(append(&list, i));

    assert_int_equal(list.capacity, 1024);
    for (i = 0; i < 1000; i++)
        assert_int_equal(list.items[i], i);
    free(list.items);
}

static void allocates_nothing_while_there_is_room(void **state)
{
    struct list list = {0};

    (void)state;
    assert_true(ARRAY_RESERVE(list.items, list.capacity, 100));
    assert_int_equal(list.capacity, 128);
    alloc_fail_all();
    while (list.count < 128)
        assert_true(append(&list, 7));
    assert_true(ARRAY_RESERVE(list.items, list.capacity, list.count));
    assert_int_equal(alloc_fail_stop(), 0);
    free(list.items);
}

static void stays_as_it_is_without_memory(void **state)
{
    struct list list = {0};
    const uint32_t *items;

    (void)state;
    alloc_fail_all();
    assert_false(append(&list, 1));
    (void)alloc_fail_stop();
    assert_null(list.items);
    assert_int_equal(list.capacity, 0);
    while (list.count < 8)
        assert_true(append(&list, 1));
    items = list.items;
    alloc_fail_all();
    assert_false(append(&list, 2));
    (void)alloc_fail_stop();

    assert_ptr_equal(list.items, items);
    assert_int_equal(list.count, 8);
    assert_int_equal(list.capacity, 8);
    assert_true(append(&list, 2));
    free(list.items);
}

static void refuses_more_bytes_than_there_are_numbers_for(void **state)
{
    static const size_t sizes[] = {1, 3, 4096, SIZE_MAX / 17, SIZE_MAX / 9, SIZE_MAX / 2, SIZE_MAX};
    void *items = NULL;
    size_t capacity = 0, i;

    (void)state;
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_false(array_grow(&items, &capacity, SIZE_MAX, sizes[i]));
        assert_false(array_grow(&items, &capacity, SIZE_MAX / sizes[i], sizes[i]));
        assert_null(items);
        assert_int_equal(capacity, 0);
    }
}

static void takes_items_without_size(void **state)
{
    void *items = NULL;
    size_t capacity = 0;

    (void)state;
    assert_true(array_grow(&items, &capacity, 20, 0));

    assert_non_null(items);
    assert_int_equal(capacity, 32);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_its_items_while_it_grows),
        cmocka_unit_test(allocates_nothing_while_there_is_room),
        cmocka_unit_test(stays_as_it_is_without_memory),
        cmocka_unit_test(refuses_more_bytes_than_there_are_numbers_for),
        cmocka_unit_test(takes_items_without_size),
    };

    return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
