/* SPDX-License-Identifier: Apache-2.0 */
/* test_buf.c - a buffer grows to its maximum, and stays failed once it failed. */
#include <string.h>

#include "base/buf.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

static void keeps_what_is_added_in_order(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 100);
    buf_add(&buf, "a\0b", 3);
    buf_add_str(&buf, "cd");
    buf_add_fmt(&buf, "%d-%s", 42, "x");

    assert_false(buf_failed(&buf));
    assert_int_equal(buf.size, 9);
    assert_memory_equal(buf.data, "a\0bcd42-x", 9);
    buf_finish(&buf);
}

static void grows_to_exactly_its_maximum(void **state)
{
    enum { MAX = 10000 };
    struct buf buf;
    size_t i;

    (void)state;
    buf_init(&buf, MAX);
    for (i = 0; i < MAX; i++)
        buf_add(&buf, "x", 1);

    assert_false(buf_failed(&buf));
    assert_int_equal(buf.size, MAX);
    buf_add(&buf, "x", 1);
    assert_true(buf_failed(&buf));
    assert_int_equal(buf.size, MAX);
    buf_finish(&buf);
}

static void a_failure_sticks_until_reset(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 4);
    buf_add(&buf, "12345", 5);
    buf_add(&buf, "1", 1);

    assert_true(buf_failed(&buf));
    assert_int_equal(buf.size, 0);
    buf_reset(&buf);
    buf_add(&buf, "1", 1);
    assert_false(buf_failed(&buf));
    assert_int_equal(buf.size, 1);
    buf_finish(&buf);
}

static void refuses_a_size_that_would_wrap(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, SIZE_MAX);
    buf_add(&buf, "12", 2);

    assert_null(buf_extend(&buf, SIZE_MAX - 1));
    assert_true(buf_failed(&buf));
    buf_finish(&buf);
}

static void lends_room_that_counts_as_used(void **state)
{
    struct buf buf;
    unsigned char *room;

    (void)state;
    buf_init(&buf, 1000);
    room = buf_extend(&buf, 700);

    assert_non_null(room);
    memset(room, 7, 700);
    assert_int_equal(buf.size, 700);
    assert_ptr_equal(room, buf.data);
    buf_finish(&buf);
}

static void gives_its_content_as_a_string(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 10);
    assert_string_equal(buf_text(&buf), "");
    buf_add_str(&buf, "four");
    assert_string_equal(buf_text(&buf), "four");
    buf_add_fmt(&buf, "%s", "to ten");
    assert_string_equal(buf_text(&buf), "fourto ten"); /* the NUL takes none of its maximum */
    buf.size = 4;
    assert_string_equal(buf_text(&buf), "four");
    assert_int_equal(buf.size, 4);
    buf_reset(&buf);
    assert_string_equal(buf_text(&buf), "");
    buf_finish(&buf);
}

static void has_room_for_the_nul_at_every_size(void **state)
{
    struct buf buf;
    size_t i;

    (void)state;
    buf_init(&buf, 1000);
    for (i = 0; i < 1000; i++) {
        assert_int_equal(strlen(buf_text(&buf)), i);
        assert_true(i == 0 || buf.capacity > buf.size);
        buf_add(&buf, "x", 1);
    }
    buf_finish(&buf);
}

static void gives_what_fitted_before_a_failure_as_a_string(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 4);
    buf_add_str(&buf, "123");
    buf_add_str(&buf, "45");
    assert_true(buf_failed(&buf));
    assert_string_equal(buf_text(&buf), "123");
    buf_finish(&buf);
}

static void formatted_text_over_the_maximum_fails_whole(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 8);
    buf_add_fmt(&buf, "%s", "0123456789");

    assert_true(buf_failed(&buf));
    assert_int_equal(buf.size, 0);
    buf_finish(&buf);
}

static void reset_keeps_the_memory(void **state)
{
    struct buf buf;
    unsigned long allocations;

    (void)state;
    buf_init(&buf, 1000);
    buf_add_str(&buf, "warm");
    buf_reset(&buf);
    alloc_fail_all();
    buf_add_str(&buf, "again");
    allocations = alloc_fail_stop();

    assert_int_equal(allocations, 0);
    assert_false(buf_failed(&buf));
    buf_finish(&buf);
}

static void out_of_memory_is_a_failure_that_keeps_the_content(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 100000);
    buf_add_str(&buf, "kept");
    alloc_fail_all();
    (void)buf_extend(&buf, 50000);
    (void)alloc_fail_stop();

    assert_true(buf_failed(&buf));
    assert_int_equal(buf.size, 4);
    assert_memory_equal(buf.data, "kept", 4);
    buf_finish(&buf);
}

static void finish_takes_null_and_may_be_repeated(void **state)
{
    struct buf buf;

    (void)state;
    buf_finish(NULL);
    buf_init(&buf, 10);
    buf_add_str(&buf, "x");
    buf_finish(&buf);
    buf_finish(&buf);

    assert_null(buf.data);
    assert_int_equal(buf.max, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_is_added_in_order),
        cmocka_unit_test(grows_to_exactly_its_maximum),
        cmocka_unit_test(a_failure_sticks_until_reset),
        cmocka_unit_test(refuses_a_size_that_would_wrap),
        cmocka_unit_test(lends_room_that_counts_as_used),
        cmocka_unit_test(gives_its_content_as_a_string),
        cmocka_unit_test(has_room_for_the_nul_at_every_size),
        cmocka_unit_test(gives_what_fitted_before_a_failure_as_a_string),
        cmocka_unit_test(formatted_text_over_the_maximum_fails_whole),
        cmocka_unit_test(reset_keeps_the_memory),
        cmocka_unit_test(out_of_memory_is_a_failure_that_keeps_the_content),
        cmocka_unit_test(finish_takes_null_and_may_be_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
