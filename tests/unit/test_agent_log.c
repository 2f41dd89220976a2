/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent_log.c - an event is one line, whatever foreign text is in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/log.h"

enum { TEXT_MAX = 16384 };

/* stderr as a file in memory, from set_up to the first captured(). */
static int file_fd = -1, stderr_fd = -1;

static int set_up(void **state)
{
    (void)state;
    (void)unsetenv("JOURNAL_STREAM");
    file_fd = memfd_create("log", MFD_CLOEXEC);
    stderr_fd = dup(STDERR_FILENO);
    return file_fd < 0 || stderr_fd < 0 || dup2(file_fd, STDERR_FILENO) < 0;
}

/* What was logged; stderr is as it was. Lends until the next call. */
static const char *captured(void)
{
    static char text[TEXT_MAX];
    ssize_t got;

    if (stderr_fd < 0)
        return text;
    (void)dup2(stderr_fd, STDERR_FILENO);
    got = pread(file_fd, text, sizeof(text) - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    (void)close(stderr_fd);
    (void)close(file_fd);
    stderr_fd = file_fd = -1;
    return text;
}

static int tear_down(void **state)
{
    (void)state;
    (void)captured();
    return 0;
}

/* The line behind its time: "pystrobe LEVEL: ...". */
static const char *after_time(const char *line)
{
    int year, month, day, hour, minute, second, size = 0;

    /* NOLINTNEXTLINE(cert-err34-c): the widths keep the numbers small */
    assert_int_equal(sscanf(line, "%4d-%2d-%2dT%2d:%2d:%2dZ %n", &year, &month, &day, &hour,
                            &minute, &second, &size),
                     6);
    assert_int_equal(size, 21);
    assert_in_range(year, 2020, 9999);
    return line + size;
}

static void writes_time_level_and_text(void **state)
{
    const char *text;

    (void)state;
    log_init(LOG_LEVEL_INFO);
    log_line(LOG_LEVEL_WARNING, "process %d: %s", 42, "gone");
    text = captured();
    assert_string_equal(after_time(text), "pystrobe warning: process 42: gone\n");
}

static void leaves_out_what_is_less_important(void **state)
{
    const char *text;

    (void)state;
    log_init(LOG_LEVEL_WARNING);
    log_line(LOG_LEVEL_INFO, "hidden");
    log_line(LOG_LEVEL_DEBUG, "hidden");
    log_line(LOG_LEVEL_ERROR, "shown");
    text = captured();
    assert_string_equal(after_time(text), "pystrobe error: shown\n");
}

static void lets_nobody_forge_a_line(void **state)
{
    const char *text;

    (void)state;
    log_init(LOG_LEVEL_INFO);
    log_line(LOG_LEVEL_INFO, "service %s", "x\n2026-01-01T00:00:00Z pystrobe error: \r\x1b[2J\x7f");
    text = captured();
    assert_string_equal(after_time(text), "pystrobe info: service x\\x0a2026-01-01T00:00:00Z "
                                          "pystrobe error: \\x0d\\x1b[2J\\x7f\n");
}

static void keeps_foreign_letters(void **state)
{
    const char *text;

    (void)state;
    log_init(LOG_LEVEL_INFO);
    log_line(LOG_LEVEL_INFO, "%s", "Wörker-π ☃");
    text = captured();
    assert_string_equal(after_time(text), "pystrobe info: Wörker-π ☃\n");
}

static void cuts_a_long_line_and_ends_it(void **state)
{
    static char longest[TEXT_MAX];
    const char *text;

    (void)state;
    log_init(LOG_LEVEL_INFO);
    memset(longest, '\n', sizeof(longest) - 1); /* four characters each */
    log_line(LOG_LEVEL_INFO, "%s", longest);
    text = captured();
    assert_in_range(strlen(text), 3000, 4096);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void starts_lines_with_a_priority_under_the_journal(void **state)
{
    struct stat st;
    char stream[64];

    (void)state;
    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    (void)snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
                   (unsigned long long)st.st_ino);
    assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
    log_init(LOG_LEVEL_DEBUG);
    log_line(LOG_LEVEL_ERROR, "a");
    log_line(LOG_LEVEL_WARNING, "b");
    log_line(LOG_LEVEL_INFO, "c");
    log_line(LOG_LEVEL_DEBUG, "d\n<0>e");
    assert_string_equal(captured(), "<3>a\n<4>b\n<6>c\n<7>d\\x0a<0>e\n");
}

static void ignores_a_journal_that_is_not_its_stderr(void **state)
{
    (void)state;
    assert_int_equal(setenv("JOURNAL_STREAM", "1:1", 1), 0);
    log_init(LOG_LEVEL_INFO);
    log_line(LOG_LEVEL_INFO, "x");
    assert_string_equal(after_time(captured()), "pystrobe info: x\n");
}

static void knows_its_levels_by_name(void **state)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    enum log_level level = LOG_LEVEL_ERROR;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_true(log_level_of(names[i], &level));
        assert_int_equal(level, i);
    }
    assert_false(log_level_of("Info", &level));
    assert_false(log_level_of("", &level));
    assert_int_equal(level, LOG_LEVEL_DEBUG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(writes_time_level_and_text),
        TEST(leaves_out_what_is_less_important),
        TEST(lets_nobody_forge_a_line),
        TEST(keeps_foreign_letters),
        TEST(cuts_a_long_line_and_ends_it),
        TEST(starts_lines_with_a_priority_under_the_journal),
        TEST(ignores_a_journal_that_is_not_its_stderr),
        cmocka_unit_test(knows_its_levels_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
