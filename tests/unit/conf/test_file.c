/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c - the ini file on disk, and what stands in its place. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/denied.h"
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

/* A folder of this test, and a path in it. */
static char folder[] = "/tmp/test-conf-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/t.ini", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void write_file(const char *text, size_t size)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Reads what cannot be read, and holds the message after its name to `expected`. */
static void must_not_read(const char *name, const char *expected)
{
    struct conf *conf = NULL;
    struct buf errors;
    char text[512];

    buf_init(&errors, CONF_TEXT_MAX);
    (void)snprintf(text, sizeof(text), "%s: %s\n", name, expected);
    assert_int_equal(conf_read(name, &conf, &errors), CONF_BAD);
    assert_null(conf);
    assert_string_equal(conf_text_of(&errors), text);
    buf_finish(&errors);
}

static void reads_a_file(void **state)
{
    struct conf *conf = NULL;
    struct buf errors;

    (void)state;
    buf_init(&errors, CONF_TEXT_MAX);
    write_file("[agent]\nrate = 3Hz\n", 19);

    assert_int_equal(conf_read(path, &conf, &errors), CONF_OK);
    assert_true(conf->agent.rate_hz == 3);
    conf_free(conf);
    (void)unlink(path);
    buf_finish(&errors);
}

static void refuses_what_is_no_regular_file_without_waiting(void **state)
{
    (void)state;
    must_not_read(path, "cannot be opened: No such file or directory");
    must_not_read(folder, "is a directory; allowed: a regular file");
    must_not_read("/dev/null", "is a device, pipe or socket; allowed: a regular file");
    must_not_read("/proc/self/mem", "cannot be read: Input/output error");
    assert_int_equal(mkfifo(path, 0600), 0);
    must_not_read(path, "is a device, pipe or socket; allowed: a regular file");
    (void)unlink(path);
}

static void says_that_a_file_may_not_be_read(void **state)
{
    char whose[DENIED_TEXT_MAX], expected[DENIED_TEXT_MAX + 32];
    uid_t user = geteuid();

    (void)state;
    write_file("", 0);
    assert_int_equal(chmod(path, 0), 0);
    if (user == 0)
        assert_int_equal(seteuid(65534), 0); /* root may read anything */
    (void)snprintf(expected, sizeof(expected), "cannot be opened: %s",
                   denied_text(path, EACCES, whose));
    must_not_read(path, expected);
    if (user == 0)
        assert_int_equal(seteuid(0), 0);
    (void)unlink(path);
}

static void reads_a_mebibyte_and_no_more(void **state)
{
    static char text[CONF_TEXT_MAX + 1];
    struct conf *conf = NULL;
    struct buf errors;

    (void)state;
    buf_init(&errors, CONF_TEXT_MAX);
    memset(text, '\n', sizeof(text));
    write_file(text, CONF_TEXT_MAX);
    assert_int_equal(conf_read(path, &conf, &errors), CONF_OK);
    conf_free(conf);
    write_file(text, CONF_TEXT_MAX + 1);
    must_not_read(path, "is too large; allowed: up to 1 MiB");
    conf_must_fail(text, sizeof(text), "t.ini: is too large; allowed: up to 1 MiB\n");
    (void)unlink(path);
    buf_finish(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_file),
        cmocka_unit_test(refuses_what_is_no_regular_file_without_waiting),
        cmocka_unit_test(says_that_a_file_may_not_be_read),
        cmocka_unit_test(reads_a_mebibyte_and_no_more),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
