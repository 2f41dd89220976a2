/* SPDX-License-Identifier: Apache-2.0 */
/* test_maps.c - the files that a process has mapped, however many they are. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/descriptors.h"
#include "tests/unit/unit_test.h"
#include "unwind/locate/maps.h"

/* Reads a memory map with this text, `times` times. */
static enum cpy_rc read_text(const char *text, size_t times, struct maps *out, struct err *err)
{
    int fd = memfd_create("maps", MFD_CLOEXEC);
    enum cpy_rc rc;

    assert_true(fd >= 0);
    while (times-- > 0)
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    rc = maps_read_file(fd, out, err);
    (void)close(fd);
    return rc;
}

#define START "7f1c8a200000-7f1c8a2ff000 r-xp 00000000 fe:101 1311 "

static void keeps_only_what_may_be_the_start_of_an_object(void **state)
{
    struct maps maps;

    (void)state;
    assert_int_equal(read_text("1000-2000 rw-p 00000000 00:00 0 \n" START "/a\n"
                               "3000-4000 r-xp 00001000 fe:101 1311 /a\n"
                               "4000-5000 ---p 00000000 fe:101 1311 /b\n"
                               "5000-6000 rw-p 00000000 00:00 0                  [stack]\n" START
                               "/c",
                               1, &maps, NULL),
                     CPY_OK);
    assert_int_equal(maps.count, 2);
    assert_string_equal(maps.maps[0].path, "/a");
    assert_true(maps.maps[0].start == 0x7f1c8a200000);
    assert_string_equal(maps.maps[1].path, "/c");
    maps_finish(&maps);
}

static void refuses_a_line_that_is_not_understood(void **state)
{
    struct maps maps;
    struct err err = {""};

    (void)state;
    assert_int_equal(read_text(START "/x\n1000-\n" START "/y\n", 1, &maps, &err), CPY_FOREIGN);
    assert_string_equal(err.text, "its memory map has a line that is not understood");
}

static void keeps_an_object_whose_first_part_is_not_executable(void **state)
{
    struct maps maps;

    (void)state;
    assert_int_equal(read_text("1000-2000 r--p 00000000 fe:01 7 /a\n" /* as most linkers do */
                               "2000-3000 r-xp 00001000 fe:01 7 /a\n"
                               "3000-4000 r--p 00000000 fe:01 8 /b\n" /* as lld, if it is small */
                               "4000-5000 r-xp 00000000 fe:01 8 /b\n"
                               "5000-6000 r--p 00000000 fe:01 9 /c\n" /* its text was moved */
                               "6000-7000 rwxp 00000000 00:00 0 \n"
                               "7000-8000 r--p 00002000 fe:01 9 /c\n"
                               "8000-9000 r--p 00000000 fe:01 7 /a\n" /* loaded a second time */
                               "9000-a000 r-xp 00001000 fe:01 7 /a\n",
                               1, &maps, NULL),
                     CPY_OK);
    assert_int_equal(maps.count, 5);
    assert_string_equal(maps.maps[0].path, "/a");
    assert_string_equal(maps.maps[1].path, "/b");
    assert_string_equal(maps.maps[2].path, "/b");
    assert_string_equal(maps.maps[3].path, "/c");
    assert_true(maps.maps[4].start == 0x8000);
    maps_finish(&maps);
}

static void reads_a_map_of_any_number_of_lines(void **state)
{
    static const char lines[] = "1000-2000 rw-p 00000000 00:00 0 \n"
                                "2000-3000 r--p 00000000 00:00 0 \n"
                                "3000-4000 r--s 00000000 fe:01 4711 /data/shard\n"
                                "4000-5000 rw-s 00000000 00:01 4712 /dev/shm/tensor (deleted)\n";
    static const size_t counts[] = {140000, 1000000};
    struct maps maps;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(read_text(lines, counts[i] / 4, &maps, NULL), CPY_OK);
        assert_int_equal(maps.count, 0);
        assert_null(maps.maps);
        assert_int_equal(maps.lines, counts[i]);
        maps_finish(&maps);
    }
}

static void names_the_bytes_that_it_keeps_at_most(void **state)
{
    struct maps maps;
    struct err err = {""};
    char text[128];

    (void)state;
    assert_int_equal(read_text(START "/a\n", 65536, &maps, &err), CPY_OK);
    assert_int_equal(maps.count, 65536);
    assert_true(maps.bytes <= MAPS_BYTES_MAX);
    maps_finish(&maps);
    assert_int_equal(read_text(START "/a\n", 1000000, &maps, &err), CPY_FOREIGN);
    (void)snprintf(text, sizeof(text),
                   "its memory map has more loaded objects than 8 MiB hold: %zu so far",
                   MAPS_BYTES_MAX / (sizeof(struct proc_map) + sizeof("/a")));
    assert_string_equal(err.text, text);
}

static const struct proc_map *map_of(const struct maps *maps, const char *path)
{
    size_t i;

    for (i = 0; i < maps->count; i++)
        if (strcmp(path, maps->maps[i].path) == 0)
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
    char *own = realpath("/proc/self/exe", NULL);
    struct maps maps = read_own();

    (void)state;
    assert_non_null(own);
    assert_true(maps.count > 1);
    for (size_t i = 1; i < maps.count; i++)
        assert_true(maps.maps[i].start >= maps.maps[i - 1].end);
    assert_non_null(map_of(&maps, own));
    maps_finish(&maps);
    free(own);
}

static void reads_a_mapped_file_that_was_removed(void **state)
{
    char path[] = "/tmp/a file of test_unwind_maps XXXXXX";
    int fd = mkstemp(path);
    const struct proc_map *map;
    struct maps maps;
    struct stat st;
    void *at;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 8192), 0);
    at = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(at != MAP_FAILED);
    assert_int_equal(mprotect((char *)at + 4096, 4096, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fstat(fd, &st), 0);
    maps = read_own();
    map = map_of(&maps, path);

    assert_non_null(map);
    assert_true(map->start == (uintptr_t)at);
    assert_true(map->inode == st.st_ino);
    assert_false(map->writable);
    maps_finish(&maps);
    (void)munmap(at, 8192);
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

static void tells_a_process_that_is_gone_from_an_error_of_our_own(void **state)
{
    int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct rlimit before = descriptors_forbid();
    struct maps maps;
    struct err err = {""};
    enum cpy_rc rc = maps_read(fd, &maps, &err);

    (void)state;
    descriptors_allow(before);
    assert_int_equal(rc, CPY_NOMEM);
    assert_string_equal(err.text, "its memory map: Too many open files");
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_only_what_may_be_the_start_of_an_object),
        cmocka_unit_test(refuses_a_line_that_is_not_understood),
        cmocka_unit_test(keeps_an_object_whose_first_part_is_not_executable),
        cmocka_unit_test(reads_a_map_of_any_number_of_lines),
        cmocka_unit_test(names_the_bytes_that_it_keeps_at_most),
        cmocka_unit_test(reads_its_own_map),
        cmocka_unit_test(reads_a_mapped_file_that_was_removed),
        cmocka_unit_test(says_why_a_map_cannot_be_opened),
        cmocka_unit_test(says_that_a_process_which_has_ended_has_no_memory),
        cmocka_unit_test(tells_a_process_that_is_gone_from_an_error_of_our_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
