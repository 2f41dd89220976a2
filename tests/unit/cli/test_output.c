/* SPDX-License-Identifier: Apache-2.0 */
/* test_output.c - results are whole or not there, and only sources are read as sources. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/output.h"
#include "tests/unit/unit_test.h"

static char folder[] = "/tmp/pystrobe-output-XXXXXX";

/* A path in the test's folder, lent until the next but one call. */
static const char *in_folder(const char *name)
{
    static char paths[2][256];
    static size_t next;
    char *path = paths[next++ % 2];

    assert_true(snprintf(path, 256, "%s/%s", folder, name) < 256);
    return path;
}

static bool put(const char *path, const char *text, struct err *err)
{
    struct buf bytes;
    bool good;

    buf_init(&bytes, 4096);
    buf_add_str(&bytes, text);
    good = output_write(path, &bytes, err);
    buf_finish(&bytes);
    return good;
}

/* What output_source gives for a file of the folder; NULL: nothing. Lent until the next call. */
static const char *source(const char *name)
{
    static char text[256];
    struct buf out;
    bool found;

    buf_init(&out, sizeof(text) - 1);
    found = output_source(NULL, in_folder(name), &out);
    if (found)
        (void)snprintf(text, sizeof(text), "%s", buf_text(&out));
    buf_finish(&out);
    return found ? text : NULL;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    char command[256];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static void a_file_is_replaced_as_a_whole(void **state)
{
    struct err err = {""};

    (void)state;
    assert_true(put(in_folder("a.py"), "one", &err));
    assert_true(put(in_folder("a.py"), "two", &err));

    assert_string_equal(source("a.py"), "two");
    assert_int_equal(access(in_folder("a.py.part"), F_OK), -1);
}

static void a_device_is_written_to_as_it_is(void **state)
{
    struct err err = {""};

    (void)state;
    assert_true(put("/dev/null", "gone", &err));
    assert_int_equal(access("/dev/null.part", F_OK), -1);
    assert_false(put(in_folder("none/a.txt"), "x", &err));
    assert_non_null(strstr(err.text, "none/a.txt: No such file"));
    assert_false(put("/dev/full", "x", &err));
}

static void a_check_says_what_writing_would(void **state)
{
    struct err err = {""};

    (void)state;
    assert_true(put(in_folder("kept.txt"), "kept", &err));
    assert_true(output_check(in_folder("kept.txt"), &err));
    assert_true(output_check(in_folder("new.txt"), &err));
    assert_int_equal(access(in_folder("new.txt"), F_OK), -1);
    assert_int_equal(access(in_folder("new.txt.part"), F_OK), -1);
    assert_true(output_check("/dev/null", &err));
    assert_true(output_check("-", &err));

    assert_false(output_check(in_folder("none/a.txt"), &err));
    assert_non_null(strstr(err.text, "none/a.txt: No such file"));
    assert_false(output_check(folder, &err));
    assert_non_null(strstr(err.text, "Is a directory"));
}

static void only_python_sources_are_read_as_sources(void **state)
{
    struct err err = {""};
    char target[256];

    (void)state;
    assert_true(put(in_folder("secret"), "password", &err));
    assert_true(put(in_folder("b.py"), "pass", &err));
    (void)snprintf(target, sizeof(target), "%s", in_folder("secret"));
    assert_int_equal(symlink(target, in_folder("link.py")), 0);
    assert_int_equal(symlink("/dev/zero", in_folder("zero.py")), 0);

    assert_string_equal(source("b.py"), "pass");
    assert_null(source("secret"));
    assert_null(source("link.py"));
    assert_null(source("zero.py"));
    assert_null(source("none.py"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced_as_a_whole),
        cmocka_unit_test(a_device_is_written_to_as_it_is),
        cmocka_unit_test(a_check_says_what_writing_would),
        cmocka_unit_test(only_python_sources_are_read_as_sources),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
