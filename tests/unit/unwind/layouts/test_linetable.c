/* SPDX-License-Identifier: Apache-2.0 */
/* test_linetable.c - each kind of entry moves the line as CPython's does; none runs off. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit_test.h"
#include "unwind/layouts/linetable.h"

/* The first byte of an entry. */
#define ENTRY(kind, units) (unsigned char)(0x80 | (kind) << 3 | ((units)-1))
enum { SHORT = 4, LINE_0 = 10, LINE_1 = 11, LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
enum { FIRST = 100 };

/* Reads from memory of exactly the table's size, so that a sanitizer sees a byte too many. */
static int32_t line_from(const unsigned char *table, size_t size, int32_t first, int32_t index)
{
    unsigned char *exact = malloc(size ? size : 1);
    int32_t line;

    assert_non_null(exact);
    memcpy(exact, table, size);
    line = linetable_line(LINES_3_11, exact, size, first, index);
    free(exact);
    return line;
}

#define LINE_OF(index, ...)                                                                        \
    line_from((const unsigned char[]){__VA_ARGS__}, sizeof((unsigned char[]){__VA_ARGS__}), FIRST, \
              index)

static void stays_on_the_line_in_a_short_form(void **state)
{
    (void)state;
    for (int kind = 0; kind <= 9; kind++)
        assert_int_equal(LINE_OF(1, ENTRY(kind, 2), 0x12), FIRST);
}

static void moves_by_none_to_two_lines_in_a_one_line_form(void **state)
{
    (void)state;
    assert_int_equal(LINE_OF(0, ENTRY(LINE_0, 1), 1, 2), FIRST);
    assert_int_equal(LINE_OF(0, ENTRY(LINE_1, 1), 1, 2), FIRST + 1);
    assert_int_equal(LINE_OF(0, ENTRY(LINE_2, 1), 1, 2), FIRST + 2);
}

static void moves_by_a_signed_number_without_columns(void **state)
{
    (void)state;
    assert_int_equal(LINE_OF(0, ENTRY(NO_COLUMNS, 1), 5 << 1), FIRST + 5);
    assert_int_equal(LINE_OF(0, ENTRY(NO_COLUMNS, 1), 5 << 1 | 1), FIRST - 5);
    assert_int_equal(LINE_OF(0, ENTRY(NO_COLUMNS, 1), 0x40 | 0x08, 0x19), FIRST + 804);
}

static void moves_by_a_signed_number_in_a_long_form(void **state)
{
    (void)state;
    assert_int_equal(LINE_OF(0, ENTRY(LONG, 1), 7 << 1, 1, 2, 3), FIRST + 7);
    assert_int_equal(LINE_OF(0, ENTRY(LONG, 1), 7 << 1 | 1, 1, 0x40 | 1, 1, 3), FIRST - 7);
}

static void has_no_line_where_the_table_says_none(void **state)
{
    (void)state;
    assert_int_equal(LINE_OF(0, ENTRY(NONE, 1), ENTRY(LINE_1, 1), 0, 0), 0);
    assert_int_equal(LINE_OF(1, ENTRY(NONE, 1), ENTRY(LINE_1, 1), 0, 0), FIRST + 1);
}

static void adds_up_the_entries_before(void **state)
{
#define TABLE                                                                                     \
    ENTRY(LINE_1, 2), 0, 0, ENTRY(SHORT, 8), 0, ENTRY(NO_COLUMNS, 1), 3 << 1 | 1, ENTRY(NONE, 3), \
        ENTRY(LONG, 4), 10 << 1, 0, 1, 2
    static const int32_t lines[] = {101, 101, 101, 101, 101, 101, 101, 101, 101, 101,
                                    98,  0,   0,   0,   108, 108, 108, 108, 0,   0};

    (void)state;
    for (int32_t i = 0; i < (int32_t)(sizeof(lines) / sizeof(lines[0])); i++)
        assert_int_equal(LINE_OF(i, TABLE), lines[i]);
}

static void has_the_line_before_where_one_around_will_do(void **state)
{
    static const unsigned char table[] = {TABLE};
    static const unsigned char pairs[] = {4, 1, 2, 0x80, 4, 3, 0, 0x80, 2, 0x80};
    static const int32_t lines[] = {101, 101, 101, 104, 104, 104};

    (void)state;
    for (int32_t unit = 11; unit < 14; unit++)
        assert_int_equal(linetable_line_around(LINES_3_11, table, sizeof(table), FIRST, unit), 98);
    for (int32_t unit = 0; unit < 18; unit++)
        if (unit < 11 || unit > 13)
            assert_int_equal(linetable_line_around(LINES_3_11, table, sizeof(table), FIRST, unit),
                             linetable_line(LINES_3_11, table, sizeof(table), FIRST, unit));
    assert_int_equal(linetable_line_around(LINES_3_11, table, sizeof(table), FIRST, 18), 0);
    for (int32_t unit = 0; unit < 6; unit++)
        assert_int_equal(linetable_line_around(LINES_3_10, pairs, sizeof(pairs), FIRST, unit),
                         lines[unit]);
    assert_int_equal(linetable_line_around(LINES_3_10, pairs, sizeof(pairs), FIRST, 6), 0);
    assert_int_equal(linetable_line_around(LINES_3_11, table, sizeof(table), FIRST, -1), FIRST);
}

static void gives_the_first_line_before_the_first_unit(void **state)
{
    (void)state;
    assert_int_equal(LINE_OF(-1, ENTRY(LINE_2, 1), 0, 0), FIRST);
    assert_int_equal(LINE_OF(INT32_MIN, ENTRY(LINE_2, 1), 0, 0), FIRST);
    assert_int_equal(line_from((const unsigned char *)"", 0, FIRST, -1), FIRST);
}

static void has_no_line_past_the_end(void **state)
{
    (void)state;
    assert_int_equal(LINE_OF(8, ENTRY(LINE_1, 8), 0, 0), 0);
    assert_int_equal(LINE_OF(INT32_MAX, ENTRY(LINE_1, 8), 0, 0), 0);
    assert_int_equal(line_from((const unsigned char *)"", 0, FIRST, 0), 0);
}

static void has_no_line_in_a_number_that_is_cut_short(void **state)
{
    (void)state;
    assert_int_equal(LINE_OF(0, ENTRY(NO_COLUMNS, 1)), 0);
    assert_int_equal(LINE_OF(0, ENTRY(LONG, 1)), 0);
    assert_int_equal(LINE_OF(0, ENTRY(NO_COLUMNS, 1), 0x41), 0);
    assert_int_equal(LINE_OF(0, ENTRY(LONG, 1), 0x7f, 0x7f), 0);
    assert_int_equal(LINE_OF(0, ENTRY(NO_COLUMNS, 1), ENTRY(0, 3), 0), 0); /* by the next entry */
}

static void takes_the_greatest_numbers_and_none_beyond(void **state)
{
    (void)state;
    /* 2**31 - 1 lines up, in 32 bits with the sign: over INT32_MAX with the first line. */
    assert_int_equal(LINE_OF(0, ENTRY(NO_COLUMNS, 1), 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 3), 0);
    assert_int_equal(
        line_from((const unsigned char[]){ENTRY(NO_COLUMNS, 1), 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 3}, 7,
                  0, 0),
        INT32_MAX);
    /* Below line 0, and back again. */
    assert_int_equal(LINE_OF(0, ENTRY(NO_COLUMNS, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 3), 0);
    assert_int_equal(LINE_OF(1, ENTRY(NO_COLUMNS, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 3,
                             ENTRY(NO_COLUMNS, 1), 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 3),
                     FIRST);
    /* A seventh byte is one too many. */
    assert_int_equal(LINE_OF(0, ENTRY(NO_COLUMNS, 1), 0x42, 0x40, 0x40, 0x40, 0x40, 0x40, 0), 0);
}

static void has_no_line_in_what_is_no_table(void **state)
{
    unsigned char junk[256];

    (void)state;
    memset(junk, 0x7f, sizeof(junk));
    assert_int_equal(line_from(junk, sizeof(junk), FIRST, 0), 0);
    assert_int_equal(LINE_OF(1, ENTRY(LINE_1, 1), 0, 0, 0, 0, 0, 0), 0);
}

static void ends_on_any_bytes(void **state)
{
    unsigned char bytes[64];
    unsigned seed = 1;
    int32_t line;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed = seed * 1103515245 + 12345;
            bytes[i] = (unsigned char)(seed >> 16);
        }
        line = line_from(bytes, (size_t)round % sizeof(bytes), FIRST, round % 300);
        assert_true(line >= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_on_the_line_in_a_short_form),
        cmocka_unit_test(moves_by_none_to_two_lines_in_a_one_line_form),
        cmocka_unit_test(moves_by_a_signed_number_without_columns),
        cmocka_unit_test(moves_by_a_signed_number_in_a_long_form),
        cmocka_unit_test(has_no_line_where_the_table_says_none),
        cmocka_unit_test(adds_up_the_entries_before),
        cmocka_unit_test(has_the_line_before_where_one_around_will_do),
        cmocka_unit_test(gives_the_first_line_before_the_first_unit),
        cmocka_unit_test(has_no_line_past_the_end),
        cmocka_unit_test(has_no_line_in_a_number_that_is_cut_short),
        cmocka_unit_test(takes_the_greatest_numbers_and_none_beyond),
        cmocka_unit_test(has_no_line_in_what_is_no_table),
        cmocka_unit_test(ends_on_any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
