/* SPDX-License-Identifier: Apache-2.0 */
/* temp_tree.h - a directory of the test's own, with files in it, removed at its end. */
#ifndef TESTS_UNIT_TEMP_TREE_H
#define TESTS_UNIT_TEMP_TREE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/unit_test.h"

static char tree[64];

/* Group setup: makes the directory. */
static inline int tree_make(void **state)
{
    (void)state;
    (void)snprintf(tree, sizeof(tree), "/tmp/pystrobe-test-XXXXXX");
    return mkdtemp(tree) ? 0 : -1;
}

static inline int tree_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* Group teardown: removes it. */
static inline int tree_remove(void **state)
{
    (void)state;
    return nftw(tree, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Skips the test where openat2 is missing: a kernel before 5.6, valgrind 3.19. */
static inline void tree_needs_openat2(void)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

    if (fd < 0 && errno == ENOSYS)
        skip();
    assert_true(fd >= 0);
    (void)close(fd);
}

/* The path of a name inside. Lends until the fourth next call. */
static inline const char *tree_path(const char *name)
{
    static char paths[4][256];
    static unsigned turn;
    char *path = paths[turn++ % 4];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", tree, name);
    return path;
}

static inline void tree_directory(const char *name)
{
    assert_int_equal(mkdir(tree_path(name), 0755), 0);
}

static inline void tree_write(const char *name, const void *bytes, size_t size)
{
    int fd = open(tree_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    (void)close(fd);
}

static inline void tree_write_text(const char *name, const char *text)
{
    tree_write(name, text, strlen(text));
}

static inline void tree_link(const char *name, const char *to)
{
    assert_int_equal(symlink(to, tree_path(name)), 0);
}

#endif
