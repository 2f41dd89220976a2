/* SPDX-License-Identifier: Apache-2.0 */
/* test_maps.c - memory maps are read as the kernel prints them, and nothing else is. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit_test.h"
#include "unwind/locate/maps.h"

static struct maps parse(const char *text)
{
    struct maps maps = {0};
    struct err err = {""};

    if (maps_parse(text, strlen(text), &maps, &err) != CPY_OK)
        fail_msg("%s", err.text);
    return maps;
}

#define FRONT "7f1c8a200000-7f1c8a2ff000 r-xp 00028000 fe:101 1311 "

static void reads_all_parts_of_a_line(void **state)
{
    struct maps maps = parse(FRONT "                    /usr/lib/libpython3.11.so.1.0\n");

    (void)state;
    assert_int_equal(maps.count, 1);
    assert_true(maps.maps[0].start == 0x7f1c8a200000);
    assert_true(maps.maps[0].end == 0x7f1c8a2ff000);
    assert_true(maps.maps[0].readable);
    assert_false(maps.maps[0].writable);
    assert_int_equal(maps.maps[0].offset, 0x28000);
    assert_int_equal(maps.maps[0].dev_major, 0xfe);
    assert_int_equal(maps.maps[0].dev_minor, 0x101);
    assert_int_equal(maps.maps[0].inode, 1311);
    assert_string_equal(maps.maps[0].path, "/usr/lib/libpython3.11.so.1.0");
    maps_finish(&maps);
}

static void reads_the_last_address_there_is(void **state)
{
    struct maps maps = parse("ffffffffff600000-ffffffffffffffff ---p ffffffffffffffff 00:00 "
                             "18446744073709551615\n");

    (void)state;
    assert_true(maps.maps[0].end == UINT64_MAX);
    assert_true(maps.maps[0].offset == UINT64_MAX);
    assert_true(maps.maps[0].inode == UINT64_MAX);
    assert_false(maps.maps[0].readable);
    maps_finish(&maps);
}

static void has_an_empty_path_where_there_is_none(void **state)
{
    struct maps maps = parse("1000-2000 rw-p 00000000 00:00 0 \n"
                             "2000-3000 rw-p 00000000 00:00 0\n"
                             "3000-4000 rw-p 00000000 00:00 0                          [stack]\n");

    (void)state;
    assert_int_equal(maps.count, 3);
    assert_string_equal(maps.maps[0].path, "");
    assert_string_equal(maps.maps[1].path, "");
    assert_string_equal(maps.maps[2].path, "[stack]");
    assert_true(maps.maps[2].writable);
    maps_finish(&maps);
}

static void keeps_blanks_and_foreign_letters_in_a_path(void **state)
{
    struct maps maps = parse(FRONT "  /srv/my app/pythön ☃ \\012 x\n" FRONT "/a  b \n");

    (void)state;
    assert_string_equal(maps.maps[0].path, "/srv/my app/pythön ☃ \\012 x");
    assert_string_equal(maps.maps[1].path, "/a  b ");
    maps_finish(&maps);
}

static void takes_one_mark_of_a_deleted_file_off(void **state)
{
    struct maps maps =
        parse(FRONT "/usr/bin/python3 (deleted)\n" FRONT "/tmp/x (deleted) (deleted)\n" FRONT
                    "/tmp/x (deleted)y\n" FRONT "(deleted)\n");

    (void)state;
    assert_string_equal(maps.maps[0].path, "/usr/bin/python3");
    assert_string_equal(maps.maps[1].path, "/tmp/x (deleted)");
    assert_string_equal(maps.maps[2].path, "/tmp/x (deleted)y");
    assert_string_equal(maps.maps[3].path, "(deleted)");
    maps_finish(&maps);
}

static void reads_a_last_line_without_its_end(void **state)
{
    struct maps maps = parse("1000-2000 rw-p 00000000 00:00 0 \n" FRONT "/x");

    (void)state;
    assert_int_equal(maps.count, 2);
    assert_string_equal(maps.maps[1].path, "/x");
    maps_finish(&maps);
}

static void reads_nothing_from_nothing(void **state)
{
    struct maps maps = parse("");

    (void)state;
    assert_int_equal(maps.count, 0);
    maps_finish(&maps);
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
    struct maps maps = {0};
    struct err err;
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        (void)snprintf(text, sizeof(text), FRONT "/x\n%s\n" FRONT "/y\n", lines[i]);
        err.text[0] = '\0';
        if (maps_parse(text, strlen(text), &maps, &err) != CPY_FOREIGN)
            fail_msg("'%s' passes", lines[i]);
        assert_string_equal(err.text, "its memory map has a line that is not understood");
        assert_null(maps.maps);
    }
}

static enum cpy_rc parse_lines(size_t count, struct maps *out, struct err *err)
{
    static const char line[] = "1000-2000 r-xp 0 fe:01 1 /a\n";
    size_t size = sizeof(line) - 1, i;
    char *text = malloc(count * size);
    enum cpy_rc rc;

    assert_non_null(text);
    for (i = 0; i < count; i++)
        memcpy(text + i * size, line, size);
    rc = maps_parse(text, count * size, out, err);
    free(text);
    return rc;
}

static void reads_the_greatest_number_of_lines_and_no_more(void **state)
{
    struct maps maps = {0};
    struct err err = {""};

    (void)state;
    assert_int_equal(parse_lines(MAPS_MAX, &maps, &err), CPY_OK);
    assert_int_equal(maps.count, MAPS_MAX);
    maps_finish(&maps);
    assert_int_equal(parse_lines(MAPS_MAX + 1, &maps, &err), CPY_FOREIGN);
    assert_string_equal(err.text, "its memory map has more than 65536 lines");
    assert_null(maps.maps);
}

static int a_variable_of_ours = 1;

static const struct map *map_of(const struct maps *maps, const void *at)
{
    size_t i;

    for (i = 0; i < maps->count; i++)
        if ((uintptr_t)at >= maps->maps[i].start && (uintptr_t)at < maps->maps[i].end)
            return &maps->maps[i];
    return NULL;
}

static struct maps read_own(void)
{
    int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct maps maps = {0};
    struct err err = {""};

    assert_true(fd >= 0);
    if (maps_read(fd, &maps, &err) != CPY_OK)
        fail_msg("%s", err.text);
    (void)close(fd);
    return maps;
}

static void reads_its_own_map(void **state)
{
    struct maps maps = read_own();
    const struct map *map = map_of(&maps, &a_variable_of_ours);

    (void)state;
    assert_true(maps.count > 5);
    for (size_t i = 1; i < maps.count; i++)
        assert_true(maps.maps[i].start >= maps.maps[i - 1].end);
    assert_non_null(map);
    assert_true(map->readable && map->writable);
    assert_non_null(strrchr(map->path, '/'));
    maps_finish(&maps);
}

static void reads_a_mapped_file_that_was_removed(void **state)
{
    char path[] = "/tmp/a file of test_unwind_maps XXXXXX";
    int fd = mkstemp(path);
    const struct map *map;
    struct maps maps;
    struct stat st;
    void *at;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 8192), 0);
    at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
    assert_true(at != MAP_FAILED);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fstat(fd, &st), 0);
    maps = read_own();
    map = map_of(&maps, at);

    assert_non_null(map);
    assert_string_equal(map->path, path);
    assert_int_equal(map->offset, 4096);
    assert_true(map->inode == st.st_ino);
    assert_false(map->writable);
    maps_finish(&maps);
    (void)munmap(at, 4096);
    (void)close(fd);
}

static void says_why_a_map_cannot_be_opened(void **state)
{
    struct maps maps = {0};
    struct err err = {""};
    int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    assert_int_equal(maps_read(fd, &maps, &err), CPY_GONE);
    assert_string_equal(err.text, "its memory map: No such file or directory");
    (void)close(fd);
}

static void says_that_a_process_which_has_ended_has_no_memory(void **state)
{
    struct maps maps = {0};
    struct err err = {""};
    siginfo_t info;
    char path[64];
    pid_t pid = fork();
    int fd;

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    (void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(maps_read(fd, &maps, &err), CPY_GONE); /* a zombie's map is empty */
    assert_true(strlen(err.text) > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(maps_read(fd, &maps, &err), CPY_GONE);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_parts_of_a_line),
        cmocka_unit_test(reads_the_last_address_there_is),
        cmocka_unit_test(has_an_empty_path_where_there_is_none),
        cmocka_unit_test(keeps_blanks_and_foreign_letters_in_a_path),
        cmocka_unit_test(takes_one_mark_of_a_deleted_file_off),
        cmocka_unit_test(reads_a_last_line_without_its_end),
        cmocka_unit_test(reads_nothing_from_nothing),
        cmocka_unit_test(refuses_lines_that_the_kernel_does_not_print),
        cmocka_unit_test(reads_the_greatest_number_of_lines_and_no_more),
        cmocka_unit_test(reads_its_own_map),
        cmocka_unit_test(reads_a_mapped_file_that_was_removed),
        cmocka_unit_test(says_why_a_map_cannot_be_opened),
        cmocka_unit_test(says_that_a_process_which_has_ended_has_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
