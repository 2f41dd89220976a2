/* SPDX-License-Identifier: Apache-2.0 */
/* test_output.c - results are whole or not there, and for those who may read them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    good = output_write(path, &bytes, OUTPUT_USUAL, err);
    buf_finish(&bytes);
    return good;
}

/* What a file has. Lent until the next call. */
static const char *read_text(const char *path)
{
    static char text[256];
    FILE *file = fopen(path, "re");
    size_t size;

    assert_non_null(file);
    size = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    return text;
}

static mode_t mode_of(const char *path)
{
    struct stat info;

    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 0777;
}

/* How many files the folder has whose names begin like that. */
static size_t count_files(const char *beginning)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(directory);
    while ((entry = readdir(directory)))
        count += strncmp(entry->d_name, beginning, strlen(beginning)) == 0;
    (void)closedir(directory);
    return count;
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

    assert_string_equal(read_text(in_folder("a.py")), "two");
    assert_int_equal(count_files("a.py"), 1);
}

static void a_device_is_written_to_as_it_is(void **state)
{
    struct err err = {""};

    (void)state;
    assert_true(put("/dev/null", "gone", &err));
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
    assert_int_equal(count_files("new.txt"), 0);
    assert_int_equal(count_files("kept.txt"), 1);
    assert_true(output_check("/dev/null", &err));
    assert_true(output_check("-", &err));

    assert_false(output_check(in_folder("none/a.txt"), &err));
    assert_non_null(strstr(err.text, "none/a.txt: No such file"));
    assert_false(output_check(folder, &err));
    assert_non_null(strstr(err.text, "Is a directory"));
}

static void what_tells_of_others_is_for_us_alone(void **state)
{
    const mode_t before = umask(022);
    struct err err = {""};
    struct buf bytes;

    (void)state;
    buf_init(&bytes, 4096);
    buf_add_str(&bytes, "theirs");
    assert_true(put(in_folder("theirs.html"), "ours", &err));
    assert_int_equal(mode_of(in_folder("theirs.html")), 0644);
    assert_true(output_write(in_folder("theirs.html"), &bytes, OUTPUT_OURS, &err));
    assert_int_equal(mode_of(in_folder("theirs.html")), 0600);
    buf_finish(&bytes);
    (void)umask(before);
}

/* The name that the file had until it was whole could be told before. */
static void a_link_beside_the_file_is_not_followed(void **state)
{
    char target[256];
    struct err err = {""};

    (void)state;
    assert_true(put(in_folder("target"), "untouched", &err));
    (void)snprintf(target, sizeof(target), "%s", in_folder("target"));
    assert_int_equal(symlink(target, in_folder("out.html.part")), 0);
    assert_true(output_check(in_folder("out.html"), &err));
    assert_true(put(in_folder("out.html"), "new", &err));

    assert_string_equal(read_text(in_folder("target")), "untouched");
    assert_string_equal(read_text(in_folder("out.html")), "new");
}

static void a_recording_is_kept_under_a_name_of_its_own(void **state)
{
    struct output_kept one, other;
    struct err err = {""};
    struct buf bytes;

    (void)state;
    buf_init(&bytes, 4096);
    buf_add_str(&bytes, "recording");
    assert_true(output_keep(in_folder("map.html"), &bytes, OUTPUT_OURS, &one, &err));
    assert_true(output_keep(in_folder("map.html"), &bytes, OUTPUT_OURS, &other, &err));

    assert_string_not_equal(one.path, other.path);
    assert_string_equal(read_text(one.path), "recording");
    assert_string_equal(strstr(one.path, ".pb.gz"), ".pb.gz");
    assert_int_equal(mode_of(one.path), 0600);
    assert_true(output_keep("-", &bytes, OUTPUT_OURS, &one, &err));
    assert_string_equal(one.path, "");
    assert_true(output_keep("/dev/null", &bytes, OUTPUT_OURS, &one, &err));
    assert_string_equal(one.path, "");
    assert_false(output_keep(in_folder("none/map.html"), &bytes, OUTPUT_OURS, &one, &err));
    buf_finish(&bytes);
}

static void a_file_in_parts_takes_its_place_when_it_is_whole(void **state)
{
    const char *path = in_folder("parts.jsonl");
    struct output output;
    struct err err = {""};
    struct buf bytes;

    (void)state;
    assert_true(put(path, "before", &err));
    buf_init(&bytes, 16);
    for (int whole = 0; whole < 2; whole++) {
        output_init(&output, path, OUTPUT_USUAL);
        buf_add_str(&bytes, "one ");
        assert_true(output_drain(&output, &bytes));
        assert_int_equal(bytes.size, 0);
        buf_add_str(&bytes, "two");
        assert_true(output_drain(&output, &bytes));
        assert_string_equal(read_text(path), "before");
        assert_true(output_close(&output, whole, &err));
        assert_string_equal(read_text(path), whole ? "one two" : "before");
        assert_int_equal(access(output.aside, F_OK), -1);
    }
    buf_finish(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced_as_a_whole),
        cmocka_unit_test(a_device_is_written_to_as_it_is),
        cmocka_unit_test(a_check_says_what_writing_would),
        cmocka_unit_test(what_tells_of_others_is_for_us_alone),
        cmocka_unit_test(a_link_beside_the_file_is_not_followed),
        cmocka_unit_test(a_recording_is_kept_under_a_name_of_its_own),
        cmocka_unit_test(a_file_in_parts_takes_its_place_when_it_is_whole),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
