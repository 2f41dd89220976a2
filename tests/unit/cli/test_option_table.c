/* SPDX-License-Identifier: Apache-2.0 */
/* test_option_table.c - a command line sets the fields that the rows of a table name. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/option_table.h"
#include "agent/host/exits.h"
#include "tests/unit/unit_test.h"

enum { WORDS_MAX = 8 };

enum colour { COLOUR_NONE, COLOUR_RED, COLOUR_BLUE = 4 };

struct asked {
    bool flag, from_word;
    enum colour colour;
    uint32_t bits;
    const char *text, *maybe;
    pid_t pid;
    uint64_t duration_ns;
    double rate_hz;
    struct options_flags flags;
};

static bool read_maybe(const char *text, void *field)
{
    *(const char **)field = text ? text : "absent";
    return !text || strcmp(text, "bad") != 0;
}

static const struct options_word colours[] = {
    {"none", COLOUR_NONE}, {"red", COLOUR_RED}, {"blue", COLOUR_BLUE}, {NULL, 0}};

#define FIELD(field) OPTION_FIELD(struct asked, field)

static const struct option_row rows[] = {
    {"flag", 'f', OPTION_FLAG, FIELD(flag)},
    {"yes", 0, OPTION_WORD, FIELD(from_word), .words = colours},
    {"blue", 0, OPTION_SET, FIELD(colour), COLOUR_BLUE},
    {"colour", 'c', OPTION_WORD, FIELD(colour), COLOUR_RED, colours, .optional = true},
    {"bit", 'b', OPTION_BITS, FIELD(bits), 2},
    {"more", 0, OPTION_WORD_BITS, FIELD(bits), .words = colours},
    {"text", 't', OPTION_TEXT, FIELD(text)},
    {"maybe", 'm', OPTION_READ, FIELD(maybe), .read = read_maybe, .optional = true},
    {"call", 0, OPTION_CALL, FIELD(maybe), .read = read_maybe},
    {"pid", 'p', OPTION_PID, FIELD(pid)},
    {"duration", 'd', OPTION_DURATION, FIELD(duration_ns)},
    {"rate", 'r', OPTION_RATE, FIELD(rate_hz)},
    OPTION_LOG_ROWS(struct asked, flags),
    {.name = NULL},
};

/* Help goes to stdout, which TAP is read from, and what is wrong to stderr. */
static int helped;

static int print_help(void)
{
    helped++;
    return EXIT_OK;
}

static const struct option_table permuting = {.rows = rows, .print_help = print_help};

static int saved_stderr = -1;

static int hush(void **state)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)state;
    helped = 0;
    saved_stderr = dup(STDERR_FILENO);
    return null < 0 || dup2(null, STDERR_FILENO) < 0 || close(null) != 0;
}

static int unhush(void **state)
{
    (void)state;
    return dup2(saved_stderr, STDERR_FILENO) < 0 || close(saved_stderr) != 0;
}

/* Reads up to WORDS_MAX words, the rest NULL; -1: go on, else the exit status. */
static int take(const struct option_table *table, struct asked *out, const char *const *words)
{
    char *argv[WORDS_MAX + 2] = {(char[]){"command"}};
    int argc = 1, status = -1;

    *out = (struct asked){.pid = 0};
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1]; /* getopt_long moves them only */
    return option_table_read(table, argc, argv, out, &status) ? -1 : status;
}

#define TAKE(table, out, ...) take(table, out, (const char *const[]){__VA_ARGS__, NULL})

static void sets_the_field_of_each_kind(void **state)
{
    struct asked asked;

    (void)state;
    assert_int_equal(
        TAKE(&permuting, &asked, "-f", "--blue", "-b", "-tx", "--pid=7", "-d2m", "--rate", "50"),
        -1);
    assert_true(asked.flag);
    assert_false(asked.from_word);
    assert_int_equal(asked.colour, COLOUR_BLUE);
    assert_int_equal(asked.bits, 2);
    assert_string_equal(asked.text, "x");
    assert_int_equal(asked.pid, 7);
    assert_true(asked.duration_ns == UINT64_C(120000000000));
    assert_true(asked.rate_hz > 49.9 && asked.rate_hz < 50.1);
}

static void a_word_is_a_value_a_bool_or_bits(void **state)
{
    struct asked asked;

    (void)state;
    assert_int_equal(
        TAKE(&permuting, &asked, "--yes", "red", "-cblue", "-b", "--more", "red", "--more=blue"),
        -1);
    assert_true(asked.from_word);
    assert_int_equal(asked.colour, COLOUR_BLUE);
    assert_int_equal(asked.bits, 7);
    assert_int_equal(TAKE(&permuting, &asked, "--yes", "red", "--yes", "none"), -1);
    assert_false(asked.from_word);
}

static void an_argument_that_is_optional_may_be_absent(void **state)
{
    struct asked asked;

    (void)state;
    assert_int_equal(TAKE(&permuting, &asked, "--colour", "--maybe", "word"), -1);
    assert_int_equal(asked.colour, COLOUR_RED);
    assert_string_equal(asked.maybe, "absent");
    assert_int_equal(optind, 3);
    assert_int_equal(TAKE(&permuting, &asked, "--maybe=there"), -1);
    assert_string_equal(asked.maybe, "there");
    assert_int_equal(TAKE(&permuting, &asked, "--call"), -1);
    assert_string_equal(asked.maybe, "absent");
}

static void what_is_wrong_is_a_usage_error(void **state)
{
    static const char *const wrong[][2] = {{"--unknown"}, {"-x"},          {"--text"},
                                           {"-c", "-cx"}, {"--pid=0"},     {"--duration=x"},
                                           {"--rate=0"},  {"--maybe=bad"}, {"--flag=1"}};
    struct asked asked;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(TAKE(&permuting, &asked, wrong[i][0], wrong[i][1]), EXIT_USAGE);
    assert_int_equal(helped, 0);
}

static void help_counts_once_all_is_read_or_at_once(void **state)
{
    static const struct option_table at_once = {
        .rows = rows, .print_help = print_help, .help_at_once = true};
    struct asked asked;

    (void)state;
    assert_int_equal(TAKE(&permuting, &asked, "-h", "--unknown"), EXIT_USAGE);
    assert_int_equal(helped, 0);
    assert_int_equal(TAKE(&permuting, &asked, "--help", "word"), EXIT_OK);
    assert_int_equal(helped, 1);
    assert_int_equal(TAKE(&at_once, &asked, "-h", "--unknown"), EXIT_OK);
    assert_int_equal(helped, 2);
}

static void other_words_may_end_the_options_or_be_none(void **state)
{
    static const struct option_table first = {.rows = rows, .ends_at_word = true};
    static const struct option_table none = {.rows = rows, .no_words = true};
    struct asked asked;

    (void)state;
    assert_int_equal(TAKE(&permuting, &asked, "word", "-f"), -1);
    assert_true(asked.flag);
    assert_int_equal(optind, 2);
    assert_int_equal(TAKE(&first, &asked, "word", "-f"), -1);
    assert_false(asked.flag);
    assert_int_equal(optind, 1);
    assert_int_equal(TAKE(&none, &asked, "-f"), -1);
    assert_int_equal(TAKE(&none, &asked, "word"), EXIT_USAGE);
}

static void options_of_the_log_become_flags_of_the_settings(void **state)
{
    struct asked asked;

    (void)state;
    assert_int_equal(TAKE(&permuting, &asked, "--log-level", "debug", "--log-format=json"), -1);
    assert_int_equal(asked.flags.count, 2);
    assert_string_equal(asked.flags.flags[0].key, "log_level");
    assert_string_equal(asked.flags.flags[1].name, "--log-format");
    assert_string_equal(asked.flags.flags[1].value, "json");
}

int main(void)
{
#define QUIET(name) cmocka_unit_test_setup_teardown(name, hush, unhush)
    const struct CMUnitTest tests[] = {
        QUIET(sets_the_field_of_each_kind),
        QUIET(a_word_is_a_value_a_bool_or_bits),
        QUIET(an_argument_that_is_optional_may_be_absent),
        QUIET(what_is_wrong_is_a_usage_error),
        QUIET(help_counts_once_all_is_read_or_at_once),
        QUIET(other_words_may_end_the_options_or_be_none),
        QUIET(options_of_the_log_become_flags_of_the_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
