/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_map.c - lines of memory maps are read as the kernel prints them, and nothing else is.
 */
#include "base/proc_map.h"
#include "tests/unit/unit_test.h"
#include <stdio.h>
#include <string.h>

/* Lends the path until the next call. */
static struct proc_map parse(const char *text)
{
    static char line[512];
    struct proc_map map = {0};

    (void)snprintf(line, sizeof(line), "%s", text);
    assert_true(proc_map_parse(line, &map));
    return map;
}

#define FRONT "7f1c8a200000-7f1c8a2ff000 r-xp 00028000 fe:101 1311 "

static void reads_all_parts_of_a_line(void **state)
{
    struct proc_map map = parse(FRONT "                    /usr/lib/libpython3.11.so.1.0");

    (void)state;
    assert_true(map.start == 0x7f1c8a200000);
    assert_true(map.end == 0x7f1c8a2ff000);
    assert_true(map.readable);
    assert_false(map.writable);
    assert_int_equal(map.offset, 0x28000);
    assert_int_equal(map.inode, 1311);
    assert_string_equal(map.path, "/usr/lib/libpython3.11.so.1.0");
}

static void reads_the_last_address_there_is(void **state)
{
    struct proc_map map = parse("ffffffffff600000-ffffffffffffffff ---p ffffffffffffffff 00:00 "
                                "18446744073709551615");

    (void)state;
    assert_true(map.end == UINT64_MAX);
    assert_true(map.offset == UINT64_MAX);
    assert_true(map.inode == UINT64_MAX);
    assert_false(map.readable);
}

static void has_an_empty_path_where_there_is_none(void **state)
{
    (void)state;
    assert_string_equal(parse("1000-2000 rw-p 00000000 00:00 0 ").path, "");
    assert_string_equal(parse("2000-3000 rw-p 00000000 00:00 0").path, "");
    assert_string_equal(parse("3000-4000 rw-p 00000000 00:00 0           [stack]").path, "[stack]");
    assert_true(parse("3000-4000 rw-p 00000000 00:00 0").writable);
}

static void keeps_blanks_and_foreign_letters_in_a_path(void **state)
{
    (void)state;
    assert_string_equal(parse(FRONT "  /srv/my app/pythön ☃ \\012 x").path,
                        "/srv/my app/pythön ☃ \\012 x");
    assert_string_equal(parse(FRONT "/a  b ").path, "/a  b ");
}

static void takes_one_mark_of_a_deleted_file_off(void **state)
{
    (void)state;
    assert_string_equal(parse(FRONT "/usr/bin/python3 (deleted)").path, "/usr/bin/python3");
    assert_string_equal(parse(FRONT "/tmp/x (deleted) (deleted)").path, "/tmp/x (deleted)");
    assert_string_equal(parse(FRONT "/tmp/x (deleted)y").path, "/tmp/x (deleted)y");
    assert_string_equal(parse(FRONT "(deleted)").path, "(deleted)");
}

static void refuses_lines_that_the_kernel_does_not_print(void **state)
{
    static const char *const lines[] = {
        "x",
        " ",
        "1000",
        "1000-",
        "1000-2000",
        "1000-2000 ",
        "1000-2000 r-xp",
        "1000-2000 r-xp ",
        "1000-2000 r-xp 0",
        "1000-2000 r-xp 0 fe",
        "1000-2000 r-xp 0 fe:",
        "1000-2000 r-xp 0 fe:01",
        "1000-2000 r-xp 0 fe:01 ",
        "1000-2000 r-xp 0 fe:01 x",
        "1000-2000 r-xp 0 fe:01 12x /a",
        "1000-2000 r-xp 0 fe:01 -1 /a",
        "1000-2000 r-xp -1 fe:01 1 /a",
        "1000-2000 r-xpx0 fe:01 1 /a",
        "2000-1000 r-xp 0 fe:01 1 /a",
        "1000-1000 r-xp 0 fe:01 1 /a",
        "-1000-2000 r-xp 0 fe:01 1 /a",
        "0x1000-0x2000 r-xp 0 fe:01 1 /a",
        " 1000-2000 r-xp 0 fe:01 1 /a",
        "1000- 2000 r-xp 0 fe:01 1 /a",
        "1000-10000000000000000 r-xp 0 fe:01 1 /a",
        "1000-2000 r-xp 0 fe:01 18446744073709551616 /a",
        "1000-2000 r-xp 0 fe:100000000 1 /a",
    };
    struct proc_map map;
    char line[256];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        (void)snprintf(line, sizeof(line), "%s", lines[i]);
        if (proc_map_parse(line, &map))
            fail_msg("'%s' passes", lines[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_parts_of_a_line),
        cmocka_unit_test(reads_the_last_address_there_is),
        cmocka_unit_test(has_an_empty_path_where_there_is_none),
        cmocka_unit_test(keeps_blanks_and_foreign_letters_in_a_path),
        cmocka_unit_test(takes_one_mark_of_a_deleted_file_off),
        cmocka_unit_test(refuses_lines_that_the_kernel_does_not_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
