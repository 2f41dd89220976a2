/* SPDX-License-Identifier: Apache-2.0 */
/* test_source.c - source lines come from regular files inside the root, and from nowhere else. */
#include <sys/inotify.h>

#include "tests/unit/dump/source_of_tree.h"
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

/* TREE/outside.py lies beside TREE/root, which plays the target's root. */
static struct source *open_root(void)
{
    struct source *source;

    tree_needs_openat2();
    source = source_of_tree(tree_path("root"), tree_path("root/srv"));
    assert_non_null(source);
    return source;
}

static int make_root(void **state)
{
    if (tree_make(state) != 0)
        return -1;
    tree_directory("root");
    tree_directory("root/srv");
    tree_write_text("outside.py", "outside\n");
    tree_write_text("root/srv/shop.py", "first\n    second\n\nfourth without an end");
    return 0;
}

/* The line as a string, NULL if there is none. Lends until the next call. */
static const char *line_of(const char *file, int32_t number)
{
    static char text[SOURCE_LINE_MAX + 1];
    struct source *source = open_root();
    struct source_line line;
    bool found = source_line(source, file, number, &line);

    if (found) {
        assert_true(line.size <= SOURCE_LINE_MAX);
        memcpy(text, line.text, line.size);
        text[line.size] = '\0';
    }
    source_close(source);
    return found ? text : NULL;
}

static void finds_every_line_of_a_file(void **state)
{
    (void)state;
    assert_string_equal(line_of("/srv/shop.py", 1), "first");
    assert_string_equal(line_of("/srv/shop.py", 2), "    second");
    assert_string_equal(line_of("/srv/shop.py", 3), "");
    assert_string_equal(line_of("/srv/shop.py", 4), "fourth without an end");
}

static void has_no_line_before_the_first_or_behind_the_last(void **state)
{
    (void)state;
    assert_null(line_of("/srv/shop.py", 0));
    assert_null(line_of("/srv/shop.py", -1));
    assert_null(line_of("/srv/shop.py", INT32_MIN));
    assert_null(line_of("/srv/shop.py", 5));
    assert_null(line_of("/srv/shop.py", INT32_MAX));
}

static void finds_lines_far_down(void **state)
{
    static char text[2000 * 8];
    size_t size = 0;
    int i;

    (void)state;
    for (i = 1; i <= 2000; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "n%d\n", i);
    tree_write("root/srv/long.py", text, size);

    assert_string_equal(line_of("/srv/long.py", 256), "n256");
    assert_string_equal(line_of("/srv/long.py", 257), "n257");
    assert_string_equal(line_of("/srv/long.py", 512), "n512");
    assert_string_equal(line_of("/srv/long.py", 2000), "n2000");
    assert_null(line_of("/srv/long.py", 2001));
}

static void counts_lines_as_python_does(void **state)
{
    (void)state;
    tree_write_text("root/srv/ends.py", "\xEF\xBB\xBFone\r\ntwo\rthree\n\tfour\ffive\n");

    assert_string_equal(line_of("/srv/ends.py", 1), "one");
    assert_string_equal(line_of("/srv/ends.py", 2), "two");
    assert_string_equal(line_of("/srv/ends.py", 3), "three");
    assert_string_equal(line_of("/srv/ends.py", 4), " four five");
}

static void takes_relative_names_from_the_working_directory(void **state)
{
    (void)state;
    assert_string_equal(line_of("shop.py", 1), "first");
    assert_string_equal(line_of("./shop.py", 1), "first");
    assert_null(line_of("../../outside.py", 1));
    assert_null(line_of("../srv/shop.py", 1));
}

static void does_not_leave_the_root_by_dots_or_links(void **state)
{
    (void)state;
    tree_link("root/srv/relative", "../../outside.py");
    tree_link("root/srv/absolute", tree_path("outside.py"));
    tree_link("root/srv/process", "/proc/self/exe");

    assert_null(line_of("/../outside.py", 1));
    assert_null(line_of("/srv/../../outside.py", 1));
    assert_null(line_of("/srv/relative", 1));
    assert_null(line_of("/srv/absolute", 1));
    assert_null(line_of("/srv/process", 1));
}

static void does_not_follow_the_links_of_proc(void **state)
{
    struct source *source;
    struct source_line line;

    (void)state;
    tree_needs_openat2();
    source = source_of_tree("/", "/");
    assert_non_null(source);
    assert_false(source_line(source, "/proc/self/root/etc/passwd", 1, &line));
    assert_true(source_line(source, "/etc/passwd", 1, &line));
    source_close(source);
}

static void follows_links_inside_the_root(void **state)
{
    (void)state;
    tree_link("root/srv/inside", "/srv/shop.py");

    assert_string_equal(line_of("/srv/inside", 1), "first");
}

static void opens_nothing_but_regular_files(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(tree_path("root/srv/fifo"), 0644), 0);

    assert_null(line_of("/srv/fifo", 1)); /* and does not wait for a writer */
    assert_null(line_of("/srv", 1));
    assert_null(line_of("/srv/no-such-file", 1));
}

/* To open a FIFO lets its writer go on; so it must not even be opened. */
static void leaves_a_fifo_alone(void **state)
{
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    char events[4096];

    (void)state;
    assert_true(watch >= 0);
    assert_int_equal(mkfifo(tree_path("root/srv/watched"), 0644), 0);
    assert_true(inotify_add_watch(watch, tree_path("root/srv/watched"), IN_OPEN) >= 0);
    assert_null(line_of("/srv/watched", 1));

    assert_int_equal(read(watch, events, sizeof(events)), -1);
    (void)close(watch);
}

static void has_no_lines_of_a_huge_file(void **state)
{
    (void)state;
    tree_write_text("root/srv/huge.py", "first\n");
    assert_string_equal(line_of("/srv/huge.py", 1), "first");
    assert_int_equal(truncate(tree_path("root/srv/huge.py"), SOURCE_FILE_MAX), 0);
    assert_string_equal(line_of("/srv/huge.py", 1), "first");
    assert_int_equal(truncate(tree_path("root/srv/huge.py"), SOURCE_FILE_MAX + 1), 0);
    assert_null(line_of("/srv/huge.py", 1));
}

static void cuts_a_long_line(void **state)
{
    static char text[3 * SOURCE_LINE_MAX];

    (void)state;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 3] = '\n';
    text[sizeof(text) - 1] = '\n';
    tree_write("root/srv/wide.py", text, sizeof(text));

    assert_int_equal(strlen(line_of("/srv/wide.py", 1)), SOURCE_LINE_MAX);
    assert_string_equal(line_of("/srv/wide.py", 2), "x");
}

static void names_in_brackets_have_no_lines(void **state)
{
    (void)state;
    tree_write_text("root/srv/<string>", "not this one\n");

    assert_null(line_of("<string>", 1));
    assert_null(line_of("<frozen importlib._bootstrap>", 1));
    assert_null(line_of("", 1));
}

static void an_empty_file_has_no_line(void **state)
{
    (void)state;
    tree_write_text("root/srv/empty.py", "");

    assert_null(line_of("/srv/empty.py", 1));
}

static void reads_a_file_once(void **state)
{
    struct source *source = open_root();
    struct source_line before, after;

    (void)state;
    tree_write_text("root/srv/changing.py", "before\n");
    assert_true(source_line(source, "/srv/changing.py", 1, &before));
    tree_write_text("root/srv/changing.py", "after\n");
    assert_true(source_line(source, "/srv/changing.py", 1, &after));

    assert_ptr_equal(before.text, after.text);
    assert_memory_equal(after.text, "before", 6);
    source_close(source);
}

static void remembers_no_more_files_than_it_says(void **state)
{
    struct source *source = open_root();
    struct source_line line;
    char name[64];
    int i;

    (void)state;
    assert_true(source_line(source, "/srv/shop.py", 1, &line));
    for (i = 0; i < SOURCE_FILES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "/srv/no-such-file-%d", i);
        assert_false(source_line(source, name, 1, &line));
    }
    assert_false(source_line(source, "/srv/./shop.py", 1, &line));
    assert_true(source_line(source, "/srv/shop.py", 1, &line));
    source_close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_line_of_a_file),
        cmocka_unit_test(has_no_line_before_the_first_or_behind_the_last),
        cmocka_unit_test(finds_lines_far_down),
        cmocka_unit_test(counts_lines_as_python_does),
        cmocka_unit_test(takes_relative_names_from_the_working_directory),
        cmocka_unit_test(does_not_leave_the_root_by_dots_or_links),
        cmocka_unit_test(does_not_follow_the_links_of_proc),
        cmocka_unit_test(follows_links_inside_the_root),
        cmocka_unit_test(opens_nothing_but_regular_files),
        cmocka_unit_test(leaves_a_fifo_alone),
        cmocka_unit_test(has_no_lines_of_a_huge_file),
        cmocka_unit_test(cuts_a_long_line),
        cmocka_unit_test(names_in_brackets_have_no_lines),
        cmocka_unit_test(an_empty_file_has_no_line),
        cmocka_unit_test(reads_a_file_once),
        cmocka_unit_test(remembers_no_more_files_than_it_says),
    };

    return cmocka_run_group_tests_name("source", tests, make_root, tree_remove);
}
