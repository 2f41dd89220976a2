/* SPDX-License-Identifier: Apache-2.0 */
/* captured_log.h - what is written to stderr, as the log is. */
#ifndef TESTS_UNIT_CAPTURED_LOG_H
#define TESTS_UNIT_CAPTURED_LOG_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/unit_test.h"

enum { CAPTURED_MAX = 1 << 20 };

static int captured_file_fd = -1, captured_stderr_fd = -1;

/* stderr is a file in memory until captured(). */
static inline void capture(void)
{
    captured_file_fd = memfd_create("log", MFD_CLOEXEC);
    captured_stderr_fd = dup(STDERR_FILENO);
    assert_true(captured_file_fd >= 0 && captured_stderr_fd >= 0);
    assert_int_equal(fcntl(captured_file_fd, F_SETFL, O_APPEND), 0);
    assert_true(dup2(captured_file_fd, STDERR_FILENO) >= 0);
}

/* Lends the text until the next call. */
static inline const char *captured(void)
{
    static char text[CAPTURED_MAX];
    ssize_t got = pread(captured_file_fd, text, sizeof(text) - 1, 0);

    (void)dup2(captured_stderr_fd, STDERR_FILENO);
    text[got > 0 ? got : 0] = '\0';
    (void)close(captured_stderr_fd);
    (void)close(captured_file_fd);
    return text;
}

#endif
