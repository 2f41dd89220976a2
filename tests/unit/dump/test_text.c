/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - a dump reads like a traceback and cannot drive a terminal. */
#include "tests/unit/dump/example.h"
#include "tests/unit/dump/source_of_tree.h"
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

static int make_sources(void **state)
{
    if (tree_make(state) != 0)
        return -1;
    tree_directory("srv");
    tree_write_text("srv/shop.py", "\n"
                                   "    total = größe * rate(日本) + 1  \n"
                                   "    total = sum(\n"
                                   "\x1b[2J \xff \xc2\x9b raw\n"
                                   "   \n");
    return 0;
}

/* Shows one frame, with the sources. */
static const char *show_frame(const struct cpy_frame *frame, bool colour)
{
    const struct cpy_thread thread = {.tid = 1, .depth = 1, .frames = frame};
    struct dump dump = example_dump(&thread, 1);
    const char *text;

    tree_needs_openat2();
    dump.colour = colour;
    dump.source = source_of_tree(tree, tree);
    assert_non_null(dump.source);
    text = example_show(&dump, dump_text);
    source_close(dump.source);
    return text;
}

/* What stands behind the head and the line of the thread. */
static const char *show_below(const struct cpy_frame *frame)
{
    const char *text = strstr(show_frame(frame, false), "Thread 1 (idle)\n");

    assert_non_null(text);
    return text + strlen("Thread 1 (idle)\n");
}

static void reads_like_a_traceback(void **state)
{
    const struct dump dump = example_dump(example_threads, 3);

    (void)state;
    assert_string_equal(example_show(&dump, dump_text),
                        "Process 4242: python3 shop.py\n"
                        "Python 3.15.2\n"
                        "\n"
                        "Thread 4242 \"MainThread\" (main, holds the GIL, on CPU)\n"
                        "    /srv/shop.py:17 in Shop.price\n"
                        "    <native>\n"
                        "    /srv/shop.py:40 in <module>\n"
                        "\n"
                        "Thread 4243 (waits for the GIL)\n"
                        "    its stack did not hold still\n"
                        "\n"
                        "Thread ? \"Wörker\" (interpreter 3, handles an exception, collects "
                        "garbage)\n"
                        "    /srv/shop.py:40 in <module>\n"
                        "    ... deeper than 4096 frames: the oldest calls are not shown\n");
}

static void says_the_warning_and_that_there_is_no_gil(void **state)
{
    struct dump dump = example_dump(NULL, 0);

    (void)state;
    dump.warning = "nobody has checked 3.16";
    dump.free_threaded = true;
    assert_string_equal(example_show(&dump, dump_text), "Process 4242: python3 shop.py\n"
                                                        "Python 3.15.2, free-threaded\n"
                                                        "Warning: nobody has checked 3.16\n"
                                                        "\n"
                                                        "No thread is like that now.\n");
}

static void says_that_a_thread_has_no_frame(void **state)
{
    const struct cpy_thread thread = {.tid = 7};
    const struct dump dump = example_dump(&thread, 1);

    (void)state;
    assert_non_null(
        strstr(example_show(&dump, dump_text), "Thread 7 (idle)\n    runs no Python code\n"));
}

/* Six threads: one that runs, four that wait at one place, and the main one. */
static const char *show_crowd(bool each_thread)
{
    static const struct cpy_frame elsewhere = {.code = &example_price, .line = 18};
    const struct cpy_thread waits = {.tid = 10, .name = "w", EXAMPLE_FRAMES(example_frames)};
    struct cpy_thread threads[6] = {waits, waits, waits, waits, waits, waits};
    struct dump dump = example_dump(threads, 6);

    dump.command = NULL;
    dump.each_thread = each_thread;
    threads[1] =
        (struct cpy_thread){.tid = 11, .status = CPY_STATUS_CPU, .depth = 1, .frames = &elsewhere};
    threads[2].name = NULL;
    threads[2].tid = 12;
    threads[4].tid = 14;
    threads[5].tid = 4242;
    threads[5].status = CPY_STATUS_MAIN;
    return example_show(&dump, dump_text);
}

static void puts_the_main_thread_first_and_equal_stacks_together(void **state)
{
    (void)state;
    assert_string_equal(show_crowd(false), "\n"
                                           "Thread 4242 \"w\" (main, idle)\n"
                                           "    /srv/shop.py:17 in Shop.price\n"
                                           "    <native>\n"
                                           "    /srv/shop.py:40 in <module>\n"
                                           "\n"
                                           "4 threads: 10 \"w\", 12, 10 \"w\", ... (idle)\n"
                                           "    /srv/shop.py:17 in Shop.price\n"
                                           "    <native>\n"
                                           "    /srv/shop.py:40 in <module>\n"
                                           "\n"
                                           "Thread 11 (on CPU)\n"
                                           "    /srv/shop.py:18 in Shop.price\n");
}

static void shows_each_thread_where_it_stands_if_asked(void **state)
{
    const char *text = show_crowd(true);
    int threads = 0;

    (void)state;
    assert_int_equal(strncmp(text, "\nThread 10 \"w\" (idle)\n", 22), 0);
    for (const char *at = text; (at = strstr(at, "\nThread ")); at++)
        threads++;
    assert_int_equal(threads, 6);
    assert_non_null(strstr(text, "\nThread 14 \"w\" (idle)\n"));
}

static void shows_no_line_of_a_file_that_is_newer_than_the_process(void **state)
{
    const struct cpy_frame frame = {.code = &example_price, .line = 2};
    const struct cpy_thread thread = {.tid = 1, .depth = 1, .frames = &frame};
    const struct source_folder folder = {.root = tree, .working = tree};
    struct dump dump = example_dump(&thread, 1);
    const char *text;

    (void)state;
    tree_needs_openat2();
    dump.source = source_open(source_reader_of_folder(&folder), 1000);
    assert_non_null(dump.source);
    text = example_show(&dump, dump_text);
    source_close(dump.source);
    assert_non_null(strstr(text, "    /srv/shop.py:2 in Shop.price\n"
                                 "        (no line: the file is newer than the process)\n"));
    assert_null(strstr(text, "total"));
}

static void shows_the_source_line_without_its_indent(void **state)
{
    const struct cpy_frame frame = {.code = &example_price, .line = 2};

    (void)state;
    assert_string_equal(show_below(&frame), "    /srv/shop.py:2 in Shop.price\n"
                                            "        total = größe * rate(日本) + 1\n");
}

static void shows_no_source_line_that_is_blank_or_not_there(void **state)
{
    const struct cpy_frame blank = {.code = &example_price, .line = 5};
    const struct cpy_frame missing = {.code = &example_price, .line = 99};

    (void)state;
    assert_string_equal(show_below(&blank), "    /srv/shop.py:5 in Shop.price\n");
    assert_string_equal(show_below(&missing), "    /srv/shop.py:99 in Shop.price\n");
}

static void marks_what_runs_below_characters_of_any_width(void **state)
{
    const struct cpy_frame frame = {
        .code = &example_price, .line = 2, .end_line = 2, .column = 23, .end_column = 35};

    (void)state;
    assert_string_equal(show_below(&frame), "    /srv/shop.py:2:23 in Shop.price\n"
                                            "        total = größe * rate(日本) + 1\n"
                                            "                        ^^^^^^^^^^\n");
}

static void marks_to_the_end_of_the_line_what_goes_on_below(void **state)
{
    const struct cpy_frame frame = {
        .code = &example_price, .line = 3, .end_line = 9, .column = 13, .end_column = 2};

    (void)state;
    assert_string_equal(show_below(&frame), "    /srv/shop.py:3:13 in Shop.price\n"
                                            "        total = sum(\n"
                                            "                ^^^^\n");
}

static void marks_nothing_that_is_not_in_the_line(void **state)
{
    static const struct cpy_frame frames[] = {
        {.code = &example_price, .line = 2, .end_line = 2, .column = 9, .end_column = 4000},
        {.code = &example_price, .line = 2, .end_line = 2, .column = 4000, .end_column = 4001},
        {.code = &example_price, .line = 2, .end_line = 2, .column = 2, .end_column = 9},
        {.code = &example_price, .line = 2, .end_line = 2, .column = 9, .end_column = 9},
        {.code = &example_price, .line = 2, .end_line = 1, .column = 9, .end_column = 12},
        {.code = &example_price, .line = 2, .end_line = 2, .column = 9, .end_column = INT32_MIN},
        {.code = &example_price, .line = 2, .end_line = 2, .column = INT32_MIN, .end_column = 9},
        {.code = &example_price, .line = 2, .end_line = 2, .column = INT32_MAX, .end_column = 9},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
        assert_null(strchr(show_below(&frames[i]), '^'));
}

static void shows_the_instruction(void **state)
{
    const struct cpy_frame frame = {.code = &example_module, .line = 40, .opcode = "CALL"};

    (void)state;
    assert_string_equal(show_below(&frame), "    /srv/shop.py:40 in <module>  [CALL]\n");
}

static void escapes_all_foreign_text(void **state)
{
    const struct cpy_code code = {1, "\x1b[2J\x9b", "/srv/\r\xe2\x80\xae.py", 1};
    const struct cpy_frame frame = {.code = &code, .line = 1};
    const struct cpy_thread thread = {.tid = 1, .name = "\x07", .depth = 1, .frames = &frame};
    struct dump dump = example_dump(&thread, 1);

    (void)state;
    dump.command = "python3\n\x1b]0;title\x07";
    dump.python = "3\x1b";
    dump.warning = "\x1b";
    assert_string_equal(example_show(&dump, dump_text),
                        "Process 4242: python3\\x0a\\x1b]0;title\\x07\n"
                        "Python 3\\x1b\n"
                        "Warning: \\x1b\n"
                        "\n"
                        "Thread 1 \"\\x07\" (idle)\n"
                        "    /srv/\\x0d\\u202e.py:1 in \\x1b[2J\\x9b\n");
}

static void escapes_what_a_source_file_holds(void **state)
{
    const struct cpy_frame frame = {.code = &example_price, .line = 4};

    (void)state;
    assert_string_equal(show_below(&frame), "    /srv/shop.py:4 in Shop.price\n"
                                            "        \\x1b[2J \\xff \\u009b raw\n");
}

static void has_no_colour_unless_asked_for(void **state)
{
    const struct cpy_frame frame = {.code = &example_price,
                                    .line = 2,
                                    .end_line = 2,
                                    .column = 9,
                                    .end_column = 12,
                                    .opcode = "CALL"};

    (void)state;
    assert_null(strchr(show_frame(&frame, false), '\x1b'));
    assert_non_null(strstr(show_frame(&frame, true), "\033[1mThread 1\033[0m (idle)\n"));
    assert_non_null(strstr(show_frame(&frame, true), "\033[2mtotal = "));
    assert_non_null(strstr(show_frame(&frame, true), "\033[31m^^^\033[0m\n"));
}

static void counts_a_call_that_repeats_itself(void **state)
{
    static struct cpy_frame frames[104];
    const struct cpy_thread thread = {.tid = 1, .depth = 104, .frames = frames};
    const struct dump dump = example_dump(&thread, 1);
    size_t i;

    (void)state;
    for (i = 0; i < 100; i++)
        frames[i] = example_frames[0];
    for (i = 100; i < 104; i++)
        frames[i] = (struct cpy_frame){.code = &example_module, .line = i < 103 ? 1 : 2};
    assert_non_null(strstr(example_show(&dump, dump_text), "Thread 1 (idle)\n"
                                                           "    /srv/shop.py:17 in Shop.price\n"
                                                           "    /srv/shop.py:17 in Shop.price\n"
                                                           "    /srv/shop.py:17 in Shop.price\n"
                                                           "    ... the same call 97 more times\n"
                                                           "    /srv/shop.py:1 in <module>\n"
                                                           "    /srv/shop.py:1 in <module>\n"
                                                           "    /srv/shop.py:1 in <module>\n"
                                                           "    /srv/shop.py:2 in <module>\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_like_a_traceback),
        cmocka_unit_test(says_the_warning_and_that_there_is_no_gil),
        cmocka_unit_test(says_that_a_thread_has_no_frame),
        cmocka_unit_test(puts_the_main_thread_first_and_equal_stacks_together),
        cmocka_unit_test(shows_each_thread_where_it_stands_if_asked),
        cmocka_unit_test(shows_no_line_of_a_file_that_is_newer_than_the_process),
        cmocka_unit_test(shows_the_source_line_without_its_indent),
        cmocka_unit_test(shows_no_source_line_that_is_blank_or_not_there),
        cmocka_unit_test(marks_what_runs_below_characters_of_any_width),
        cmocka_unit_test(marks_to_the_end_of_the_line_what_goes_on_below),
        cmocka_unit_test(marks_nothing_that_is_not_in_the_line),
        cmocka_unit_test(shows_the_instruction),
        cmocka_unit_test(escapes_all_foreign_text),
        cmocka_unit_test(escapes_what_a_source_file_holds),
        cmocka_unit_test(has_no_colour_unless_asked_for),
        cmocka_unit_test(counts_a_call_that_repeats_itself),
    };

    return cmocka_run_group_tests_name("dump_text", tests, make_sources, tree_remove);
}
