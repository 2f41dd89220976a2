/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c - files are read as far as the bound lets them; paths have base names. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

enum { SIZE = 100000 };

/* A file of SIZE bytes, whose position is at its beginning. */
static int make_file(void)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    unsigned char bytes[1000];
    size_t i;

    assert_true(fd >= 0);
    for (i = 0; i < SIZE; i++) {
        bytes[i % sizeof(bytes)] = (unsigned char)(i / 7);
        if ((i + 1) % sizeof(bytes) == 0)
            assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    }
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void assert_bytes(const unsigned char *bytes, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        assert_int_equal(bytes[i], (unsigned char)(i / 7));
}

static void reads_the_first_bytes_or_all_that_there_are(void **state)
{
    static unsigned char bytes[SIZE + 1];
    int fd = make_file();
    size_t size;

    (void)state;
    assert_true(file_read(fd, bytes, 10, &size));
    assert_int_equal(size, 10);
    assert_true(file_read(fd, bytes, sizeof(bytes), &size));
    assert_int_equal(size, SIZE);
    assert_bytes(bytes, SIZE);
    assert_true(file_read(fd, bytes, 0, &size));
    assert_int_equal(size, 0);
    (void)close(fd);
    assert_false(file_read(fd, bytes, 10, &size));
    assert_int_equal(errno, EBADF);
}

static void appends_a_whole_file(void **state)
{
    int fd = make_file();
    struct buf buf;

    (void)state;
    buf_init(&buf, SIZE);
    assert_true(file_read_all(fd, &buf));

    assert_int_equal(buf.size, SIZE);
    assert_bytes(buf.data, buf.size);
    assert_true(file_read_all(fd, &buf)); /* from its end on there is nothing */
    assert_int_equal(buf.size, SIZE);
    (void)close(fd);
    assert_false(file_read_all(fd, &buf));
    assert_int_equal(errno, EBADF);
    buf_finish(&buf);
}

static void tells_too_large_from_out_of_memory(void **state)
{
    int fd = make_file();
    struct buf buf;

    (void)state;
    buf_init(&buf, SIZE - 1);
    assert_false(file_read_all(fd, &buf));
    assert_int_equal(errno, EFBIG);
    buf_finish(&buf);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    buf_init(&buf, SIZE);
    alloc_fail_all();
    assert_false(file_read_all(fd, &buf));
    (void)alloc_fail_stop();
    assert_int_equal(errno, ENOMEM);
    buf_finish(&buf);
    (void)close(fd);
}

static void closes_what_is_no_directory(void **state)
{
    int fd = make_file();
    DIR *dir = file_open_dir(open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    (void)state;
    assert_non_null(dir);
    assert_int_equal(closedir(dir), 0);
    assert_null(file_open_dir(fd));
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_null(file_open_dir(open("/nowhere", O_RDONLY | O_CLOEXEC)));
    assert_int_equal(errno, ENOENT);
}

static void gives_the_last_part_of_a_path(void **state)
{
    (void)state;
    assert_string_equal(file_base_name("/usr/bin/python3"), "python3");
    assert_string_equal(file_base_name("python3"), "python3");
    assert_string_equal(file_base_name("/usr/bin/"), "");
    assert_string_equal(file_base_name(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_first_bytes_or_all_that_there_are),
        cmocka_unit_test(appends_a_whole_file),
        cmocka_unit_test(tells_too_large_from_out_of_memory),
        cmocka_unit_test(closes_what_is_no_directory),
        cmocka_unit_test(gives_the_last_part_of_a_path),
    };

    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
