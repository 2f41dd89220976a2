/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - an event is one line, whatever foreign text is in it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/host/log.h"
#include "agent/host/log_limit.h"
#include "tests/unit/unit_test.h"

enum { TEXT_MAX = 1 << 20, LONGEST = 16384, WRITERS = 4, LINES = 100 };

/* stderr as a file in memory, from set_up to the first captured(). */
static int file_fd = -1, stderr_fd = -1;

static int set_up(void **state)
{
    (void)state;
    (void)unsetenv("JOURNAL_STREAM");
    log_set_format(LOG_TEXT);
    file_fd = memfd_create("log", MFD_CLOEXEC);
    stderr_fd = dup(STDERR_FILENO);
    /* Appending, as to any log: without it two writes to a memfd can go to the same place. */
    return file_fd < 0 || fcntl(file_fd, F_SETFL, O_APPEND) != 0 || stderr_fd < 0 ||
           dup2(file_fd, STDERR_FILENO) < 0;
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
    static char longest[LONGEST];
    const char *text;

    (void)state;
    log_init(LOG_LEVEL_INFO);
    memset(longest, '\n', sizeof(longest) - 1); /* four characters each */
    log_line(LOG_LEVEL_INFO, "%s", longest);
    text = captured();
    assert_in_range(strlen(text), 3000, 4096);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void shows_bytes_that_are_no_utf8_and_marks_of_direction(void **state)
{
    (void)state;
    log_init(LOG_LEVEL_INFO);
    log_line(LOG_LEVEL_INFO, "%s", "a\xff\u202e");
    assert_string_equal(after_time(captured()), "pystrobe info: a\\xff\\u202e\n");
}

static void writes_json_that_nobody_can_break_out_of(void **state)
{
    const char *text, *message;

    (void)state;
    log_init(LOG_LEVEL_INFO);
    log_set_format(LOG_JSON);
    log_line(LOG_LEVEL_WARNING, "name %s", "\"}\n{\"level\": \"error\"");
    text = captured();
    message = strstr(text, "\"message\"");
    assert_non_null(message);
    assert_string_equal(message,
                        "\"message\": \"name \\\"}\\\\x0a{\\\"level\\\": \\\"error\\\"\"}\n");
    assert_non_null(strstr(text, "\"level\": \"warning\", \"pid\": "));
    assert_memory_equal(text, "{\"time\": \"20", 12);
}

static void ends_json_also_where_the_text_is_cut(void **state)
{
    static char longest[LONGEST];
    const char *text;

    (void)state;
    log_init(LOG_LEVEL_INFO);
    log_set_format(LOG_JSON);
    memset(longest, '"', sizeof(longest) - 1);
    log_line(LOG_LEVEL_INFO, "%s", longest);
    text = captured();
    assert_in_range(strlen(text), 3000, 4096);
    assert_string_equal(text + strlen(text) - 4, "\"\"}\n");
}

static void leaves_out_what_comes_too_often_and_says_how_much(void **state)
{
    uint64_t before = log_left_out();
    const char *text;
    size_t i, lines = 0;

    (void)state;
    log_init(LOG_LEVEL_INFO);
    for (i = 0; i < LOG_BURST + 30; i++)
        log_line(LOG_LEVEL_INFO, "too often: %zu", i);
    log_line(LOG_LEVEL_INFO, "another kind");
    text = captured();
    for (i = 0; text[i]; i++)
        lines += text[i] == '\n';
    assert_in_range(lines, LOG_BURST + 1, LOG_BURST + 2); /* + 2: if this took 30 s */
    assert_in_range(log_left_out() - before, 29, 30);
    assert_non_null(strstr(text, "another kind\n"));
}

static void leaves_nothing_out_when_everything_is_to_be_seen(void **state)
{
    const char *text;
    size_t i, lines = 0;

    (void)state;
    log_init(LOG_LEVEL_DEBUG);
    for (i = 0; i < 200; i++)
        log_line(LOG_LEVEL_INFO, "often: %zu", i);
    text = captured();
    for (i = 0; text[i]; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, 200);
}

static void loses_a_line_rather_than_wait_for_a_reader_that_is_stuck(void **state)
{
    static const char text[] = "a\n\nb\nc\n";
    uint64_t before = log_left_out();
    char filler[4096];
    int ends[2], held;

    (void)state;
    memset(filler, 'x', sizeof(filler));
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    while (write(ends[1], filler, sizeof(filler)) > 0)
        ;
    held = fcntl(ends[1], F_SETFL, 0); /* blocking, as a stderr is */
    assert_int_equal(held, 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    log_init(LOG_LEVEL_DEBUG);

    log_line(LOG_LEVEL_INFO, "lost");
    assert_int_equal(log_left_out() - before, 1);
    log_text(LOG_LEVEL_INFO, "", text, strlen(text));
    assert_int_equal(log_left_out() - before, 4);

    assert_true(dup2(file_fd, STDERR_FILENO) >= 0);
    log_line(LOG_LEVEL_INFO, "seen");
    assert_string_equal(after_time(captured()), "pystrobe info: seen (4 lines were lost)\n");
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* LINES lines that are long enough to be torn, were they not written at once. */
static void *write_lines(void *arg)
{
    static const char padding[] =
        "................................................................";
    size_t i;

    for (i = 0; i < LINES; i++)
        log_line(LOG_LEVEL_INFO, "writer %d line %03zu %s%s end", *(int *)arg, i, padding, padding);
    return NULL;
}

/* Forks while threads write: a child must not wait for what a thread of its parent held. */
static void fork_writers(void)
{
    pid_t children[WRITERS];
    int i, status;

    for (i = 0; i < WRITERS; i++) {
        int number = WRITERS + i;

        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            (void)write_lines(&number);
            _exit(0);
        }
    }
    for (i = 0; i < WRITERS; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
}

static void writes_whole_lines_from_threads_and_children(void **state)
{
    pthread_t threads[WRITERS];
    int numbers[WRITERS], i, counts[2 * WRITERS] = {0};
    const char *text, *line;

    (void)state;
    log_init(LOG_LEVEL_DEBUG); /* all lines of all of them */
    for (i = 0; i < WRITERS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, &numbers[i]), 0);
    }
    fork_writers();
    for (i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);

    text = captured();
    for (line = text; *line; line = strchr(line, '\n') + 1) {
        int writer, number;

        /* NOLINTNEXTLINE(cert-err34-c): what is read was written above */
        assert_int_equal(
            sscanf(after_time(line), "pystrobe info: writer %1d line %3d", &writer, &number), 2);
        assert_in_range(writer, 0, 2 * WRITERS - 1);
        assert_int_equal(number, counts[writer]++);
        assert_memory_equal(strchr(line, '\n') - 4, " end", 4);
    }
    for (i = 0; i < 2 * WRITERS; i++)
        assert_int_equal(counts[i], LINES);
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
        TEST(shows_bytes_that_are_no_utf8_and_marks_of_direction),
        TEST(writes_json_that_nobody_can_break_out_of),
        TEST(ends_json_also_where_the_text_is_cut),
        TEST(leaves_out_what_comes_too_often_and_says_how_much),
        TEST(leaves_nothing_out_when_everything_is_to_be_seen),
        TEST(loses_a_line_rather_than_wait_for_a_reader_that_is_stuck),
        TEST(writes_whole_lines_from_threads_and_children),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
