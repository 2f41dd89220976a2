/* SPDX-License-Identifier: Apache-2.0 */
/* test_lines.c - each format of line table is read to its rules, and no byte beyond its end.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit_test.h"
#include "unwind/layouts/linetable.h"

enum { FIRST = 100, FORMATS = 3 };

/* A table in memory of exactly its size, so that a sanitizer sees one byte too many. */
struct table {
    enum linetable_format format;
    unsigned char *bytes;
    size_t size;
};

#define TABLE(format, ...)                                   \
    make_table(format, (const unsigned char[]){__VA_ARGS__}, \
               sizeof((const unsigned char[]){__VA_ARGS__}))

static struct table make_table(enum linetable_format format, const unsigned char *bytes,
                               size_t size)
{
    struct table t = {format, malloc(size), size};

    assert_non_null(t.bytes);
    memcpy(t.bytes, bytes, size);
    return t;
}

static int32_t line_at(const struct table *t, int32_t unit)
{
    int32_t line = linetable_line(t->format, t->bytes, t->size, FIRST, unit);

    assert_int_equal(linetable_position(t->format, t->bytes, t->size, FIRST, unit).line, line);
    return line;
}

/* The lines of the first units, from unit -1 on. */
static void expect_lines(struct table t, const int32_t *lines, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        assert_int_equal(line_at(&t, (int32_t)i - 1), lines[i]);
    free(t.bytes);
}

#define EXPECT_LINES(table, ...)                        \
    expect_lines(table, (const int32_t[]){__VA_ARGS__}, \
                 sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void expect_position(struct table t, int32_t unit, struct linetable_position wanted)
{
    struct linetable_position got = linetable_position(t.format, t.bytes, t.size, FIRST, unit);

    assert_int_equal(got.line, wanted.line);
    assert_int_equal(got.end_line, wanted.end_line);
    assert_int_equal(got.column, wanted.column);
    assert_int_equal(got.end_column, wanted.end_column);
    free(t.bytes);
}

static void lnotab_moves_the_line_where_its_pair_begins(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_LNOTAB, 2, 1, 4, 5), FIRST, 100, 101, 101, 106, 106);
}

static void lnotab_goes_back_by_a_negative_difference(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_LNOTAB, 2, 3, 2, 0xFE), FIRST, 100, 103, 101);
}

static void lnotab_joins_pairs_that_one_jump_was_split_into(void **state)
{
    struct table t = TABLE(LINES_LNOTAB, 255, 0, 5, 127, 0, 127, 0, 46);

    (void)state;
    assert_int_equal(line_at(&t, 129), 100);
    assert_int_equal(line_at(&t, 130), 400);
    free(t.bytes);
}

static void lnotab_begins_with_a_pair_that_skips_nothing(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_LNOTAB, 0, 1, 2, 1), FIRST, 101, 102);
}

static void lnotab_leaves_out_half_a_pair_at_its_end(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_LNOTAB, 2, 1, 0), FIRST, 100, 101, 101);
}

static void an_empty_lnotab_means_the_first_line_for_all(void **state)
{
    (void)state;
    assert_int_equal(linetable_line(LINES_LNOTAB, NULL, 0, FIRST, 12), FIRST);
}

static void pep_626_gives_a_range_the_line_that_its_difference_leads_to(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_3_10, 2, 1, 4, 2), FIRST, 101, 103, 103, 0);
}

static void pep_626_has_ranges_without_a_line_that_leave_it_as_it_was(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_3_10, 2, 1, 2, 0x80, 2, 1), FIRST, 101, 0, 102, 0);
}

static void pep_626_moves_the_line_by_an_empty_range(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_3_10, 0, 127, 0, 127, 2, 1, 0, 0x81, 2, 0x81), FIRST, 355, 101);
}

static void pep_626_goes_on_over_a_range_of_more_than_254_bytes(void **state)
{
    struct table t = TABLE(LINES_3_10, 254, 1, 6, 0);

    (void)state;
    assert_int_equal(line_at(&t, 126), 101);
    assert_int_equal(line_at(&t, 129), 101);
    assert_int_equal(line_at(&t, 130), 0);
    free(t.bytes);
}

static void the_older_formats_know_a_line_and_nothing_else(void **state)
{
    (void)state;
    expect_position(TABLE(LINES_LNOTAB, 2, 1), 1, (struct linetable_position){.line = 101});
    expect_position(TABLE(LINES_3_10, 4, 1), 1, (struct linetable_position){.line = 101});
}

/* First byte of a location entry. */
#define ENTRY(kind, units) (0x80 | (kind) << 3 | ((units)-1))

static void locations_reach_over_as_many_units_as_their_entry_says(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_3_11, ENTRY(11, 2), 0, 0, ENTRY(12, 1), 0, 0, ENTRY(3, 3), 0), FIRST,
                 101, 101, 103, 103, 103, 103, 0);
}

static void locations_may_have_no_line_and_leave_it_as_it_was(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_3_11, ENTRY(11, 1), 0, 0, ENTRY(15, 1), ENTRY(11, 1), 0, 0), FIRST,
                 101, 0, 102, 0);
}

static void locations_move_the_line_by_a_signed_number(void **state)
{
    (void)state; /* 1000 * 2 is 16 + 31 * 64; 5 * 2 + 1 is -5 */
    EXPECT_LINES(TABLE(LINES_3_11, ENTRY(13, 1), 0x40 | 16, 31, ENTRY(13, 1), 11), FIRST, 1100,
                 1095, 0);
}

static void locations_of_one_line_have_both_columns_in_one_byte(void **state)
{
    (void)state;
    expect_position(TABLE(LINES_3_11, ENTRY(3, 1), 0x5D), 0,
                    (struct linetable_position){100, 100, 3 * 8 + 5 + 1, 3 * 8 + 5 + 13 + 1});
}

static void locations_of_a_near_line_have_a_byte_for_each_column(void **state)
{
    (void)state;
    expect_position(TABLE(LINES_3_11, ENTRY(12, 1), 4, 127), 0,
                    (struct linetable_position){102, 102, 5, 128});
}

static void locations_without_columns_end_on_their_line(void **state)
{
    (void)state;
    expect_position(TABLE(LINES_3_11, ENTRY(13, 1), 2), 0,
                    (struct linetable_position){.line = 101, .end_line = 101});
}

static void long_locations_have_their_end_as_numbers(void **state)
{
    (void)state; /* 3 lines on, columns 199 (+ 1: 8 + 3 * 64) and none */
    expect_position(TABLE(LINES_3_11, ENTRY(14, 1), 0, 3, 0x40 | 8, 3, 0), 0,
                    (struct linetable_position){100, 103, 200, 0});
}

static void locations_without_a_line_have_no_columns_either(void **state)
{
    (void)state;
    expect_position(TABLE(LINES_3_11, ENTRY(15, 8)), 7, (struct linetable_position){0});
}

static void a_frame_that_has_not_started_is_on_the_first_line(void **state)
{
    struct linetable_position p;
    int format;

    (void)state;
    for (format = 0; format < FORMATS; format++) {
        p = linetable_position((enum linetable_format)format, NULL, 0, FIRST, -1);
        assert_int_equal(p.line, FIRST);
        assert_int_equal(p.end_line | p.column | p.end_column, 0);
    }
}

static void a_location_table_must_begin_with_an_entry(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_3_11, 0x01, ENTRY(11, 1), 0, 0), FIRST, 0);
}

static void a_number_that_never_ends_is_no_line(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_3_11, ENTRY(13, 1), 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F),
                 FIRST, 0);
}

static void a_number_of_more_than_32_bits_is_no_line(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_3_11, ENTRY(13, 1), 0x42, 0x40, 0x40, 0x40, 0x40, 0), FIRST, 101);
    EXPECT_LINES(TABLE(LINES_3_11, ENTRY(13, 1), 0x42, 0x40, 0x40, 0x40, 0x40, 0x40, 0), FIRST, 0);
}

static void a_number_does_not_go_on_in_the_next_entry(void **state)
{
    (void)state;
    EXPECT_LINES(TABLE(LINES_3_11, ENTRY(13, 1), 0x42, ENTRY(11, 1), 0, 0), FIRST, 0);
}

static void a_line_beyond_any_file_is_not_shown(void **state)
{
    const int32_t most = INT32_MAX;
    struct table up = TABLE(LINES_3_11, ENTRY(11, 1), 0, 0);
    struct table down = TABLE(LINES_3_10, 2, 0x81);

    (void)state;
    assert_int_equal(linetable_line(up.format, up.bytes, up.size, most, 0), 0);
    assert_int_equal(linetable_line(up.format, up.bytes, up.size, most - 1, 0), most);
    assert_int_equal(linetable_line(down.format, down.bytes, down.size, 127, 0), 0);
    assert_int_equal(linetable_line(down.format, down.bytes, down.size, 128, 0), 1);
    assert_int_equal(linetable_line(LINES_LNOTAB, NULL, 0, INT32_MIN, -1), 0);
    free(up.bytes);
    free(down.bytes);
}

/* A table that ends anywhere gives what its whole entries say; the sanitizers watch its end. */
static void a_table_that_is_cut_anywhere_is_read_to_its_end_only(void **state)
{
    static const unsigned char whole[] = {ENTRY(11, 2), 0, 0, ENTRY(14, 1), 4, 0x41,         1,
                                          0x41,         2, 3, ENTRY(2, 8),  9, ENTRY(13, 1), 0x42,
                                          0x01,         2};
    struct linetable_position p;
    struct table t;
    size_t size;
    int format;

    (void)state;
    for (size = 1; size < sizeof(whole); size++) {
        for (format = 0; format < FORMATS; format++) {
            t = make_table((enum linetable_format)format, whole, size);
            assert_true(line_at(&t, 2) >= 0 && line_at(&t, INT32_MAX) >= 0);
            free(t.bytes);
        }
        t = make_table(LINES_3_11, whole, size);
        p = linetable_position(t.format, t.bytes, t.size, FIRST, 2);
        assert_int_equal(p.line, size > 4 ? 103 : 0);
        assert_int_equal(p.end_line, size < 10 ? 0 : 103 + 65);
        free(t.bytes);
    }
}

static void reads_a_table_of_megabytes(void **state)
{
    const size_t entries = 1 << 20;
    struct table t = {LINES_3_11, malloc(entries * 3), entries * 3};
    size_t i;

    (void)state;
    assert_non_null(t.bytes);
    for (i = 0; i < entries; i++)
        memcpy(t.bytes + 3 * i, (const unsigned char[]){ENTRY(11, 1), 1, 2}, 3);

    assert_int_equal(line_at(&t, (1 << 20) - 1), FIRST + (1 << 20));
    assert_int_equal(line_at(&t, 1 << 20), 0);
    free(t.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnotab_moves_the_line_where_its_pair_begins),
        cmocka_unit_test(lnotab_goes_back_by_a_negative_difference),
        cmocka_unit_test(lnotab_joins_pairs_that_one_jump_was_split_into),
        cmocka_unit_test(lnotab_begins_with_a_pair_that_skips_nothing),
        cmocka_unit_test(lnotab_leaves_out_half_a_pair_at_its_end),
        cmocka_unit_test(an_empty_lnotab_means_the_first_line_for_all),
        cmocka_unit_test(pep_626_gives_a_range_the_line_that_its_difference_leads_to),
        cmocka_unit_test(pep_626_has_ranges_without_a_line_that_leave_it_as_it_was),
        cmocka_unit_test(pep_626_moves_the_line_by_an_empty_range),
        cmocka_unit_test(pep_626_goes_on_over_a_range_of_more_than_254_bytes),
        cmocka_unit_test(the_older_formats_know_a_line_and_nothing_else),
        cmocka_unit_test(locations_reach_over_as_many_units_as_their_entry_says),
        cmocka_unit_test(locations_may_have_no_line_and_leave_it_as_it_was),
        cmocka_unit_test(locations_move_the_line_by_a_signed_number),
        cmocka_unit_test(locations_of_one_line_have_both_columns_in_one_byte),
        cmocka_unit_test(locations_of_a_near_line_have_a_byte_for_each_column),
        cmocka_unit_test(locations_without_columns_end_on_their_line),
        cmocka_unit_test(long_locations_have_their_end_as_numbers),
        cmocka_unit_test(locations_without_a_line_have_no_columns_either),
        cmocka_unit_test(a_frame_that_has_not_started_is_on_the_first_line),
        cmocka_unit_test(a_location_table_must_begin_with_an_entry),
        cmocka_unit_test(a_number_that_never_ends_is_no_line),
        cmocka_unit_test(a_number_of_more_than_32_bits_is_no_line),
        cmocka_unit_test(a_number_does_not_go_on_in_the_next_entry),
        cmocka_unit_test(a_line_beyond_any_file_is_not_shown),
        cmocka_unit_test(a_table_that_is_cut_anywhere_is_read_to_its_end_only),
        cmocka_unit_test(reads_a_table_of_megabytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
