/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_config.c - `pystrobe config`: what goes to which stream, and the exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/commands/commands.h"
#include "tests/unit/unit_test.h"

enum { OUTPUT_MAX = 64 * 1024, ARGUMENTS_MAX = 4 };

/* What a run of the command left. */
struct outcome {
    int status;
    char out[OUTPUT_MAX], err[OUTPUT_MAX];
};

/* Points `stream` at a file without a name. Gives what restore needs. */
static int redirect(FILE *stream, FILE *into)
{
    int saved;

    (void)fflush(stream);
    saved = dup(fileno(stream));
    assert_true(saved >= 0);
    assert_true(dup2(fileno(into), fileno(stream)) >= 0);
    return saved;
}

static void restore(FILE *stream, int saved, FILE *from, char *text)
{
    (void)fflush(stream);
    assert_true(dup2(saved, fileno(stream)) >= 0);
    (void)close(saved);
    rewind(from);
    text[fread(text, 1, OUTPUT_MAX - 1, from)] = '\0';
    (void)fclose(from);
}

/* Runs the command with up to three arguments, the rest NULL. */
static const struct outcome *run(const char *first, const char *second, const char *third)
{
    static struct outcome outcome;
    const char *given[] = {"config", first, second, third};
    char *argv[ARGUMENTS_MAX + 1] = {NULL};
    FILE *out = tmpfile(), *err = tmpfile();
    int argc, saved_out, saved_err;

    assert_non_null(out);
    assert_non_null(err);
    for (argc = 0; argc < ARGUMENTS_MAX && given[argc]; argc++)
        argv[argc] = strdup(given[argc]);
    saved_out = redirect(stdout, out);
    saved_err = redirect(stderr, err);
    outcome.status = cmd_config(argc, argv);
    restore(stderr, saved_err, err, outcome.err);
    restore(stdout, saved_out, out, outcome.out);
    while (argc > 0)
        free(argv[--argc]);
    return &outcome;
}

static void prints_the_defaults_without_a_file(void **state)
{
    const struct outcome *got = run(NULL, NULL, NULL);

    (void)state;
    assert_int_equal(got->status, 0);
    assert_non_null(strstr(got->out, "rate = 19Hz ; default\n"));
    assert_string_equal(got->err, "");
}

static void prints_the_settings_of_a_file(void **state)
{
    const struct outcome *got = run("-c", "packaging/pystrobe.ini", NULL);

    (void)state;
    assert_int_equal(got->status, 0);
    assert_int_equal(strncmp(got->out, "[agent]\n", 8), 0);
    assert_string_equal(got->err, "");
}

static void gives_78_and_all_mistakes_on_stderr(void **state)
{
    const struct outcome *got = run("--config", "tests/fuzz/corpus/conf/mistakes.ini", NULL);

    (void)state;
    assert_int_equal(got->status, 78);
    assert_string_equal(got->out, "");
    assert_non_null(strstr(got->err, "mistakes.ini:1: section \"agnt\" is not known"));
    assert_non_null(strstr(got->err, "mistakes.ini:15: [exporter o] type: \"parca\" is not known"));
}

static void gives_78_for_a_file_that_is_not_there(void **state)
{
    const struct outcome *got = run("-c", "/nowhere/t.ini", NULL);

    (void)state;
    assert_int_equal(got->status, 78);
    assert_string_equal(got->err,
                        "pystrobe: /nowhere/t.ini: cannot be opened: No such file or directory\n");
}

static void prints_the_sample(void **state)
{
    const struct outcome *got = run("--sample", NULL, NULL);

    (void)state;
    assert_int_equal(got->status, 0);
    assert_int_equal(strncmp(got->out, "# pystrobe.ini: ", 16), 0);
}

static void prints_help_with_an_example(void **state)
{
    const struct outcome *got = run("--help", NULL, NULL);

    (void)state;
    assert_int_equal(got->status, 0);
    assert_non_null(strstr(got->out, "Example:\n"));
}

static void gives_64_for_a_command_line_that_is_wrong(void **state)
{
    (void)state;
    assert_int_equal(run("--verbose", NULL, NULL)->status, 64);
    assert_int_equal(run("-c", NULL, NULL)->status, 64);
    assert_int_equal(run("file.ini", NULL, NULL)->status, 64);
    assert_int_equal(run("--sample", "-c", "x")->status, 64);
    assert_string_equal(run("file.ini", NULL, NULL)->out, "");
}

static void gives_1_if_the_output_cannot_be_written(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    char name[] = "config";
    char *argv[] = {name, NULL};
    int saved, status;

    (void)state;
    assert_non_null(full);
    saved = redirect(stdout, full);
    status = cmd_config(1, argv);
    (void)dup2(saved, STDOUT_FILENO);
    (void)close(saved);
    clearerr(stdout);
    (void)fclose(full);

    assert_int_equal(status, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_the_defaults_without_a_file),
        cmocka_unit_test(prints_the_settings_of_a_file),
        cmocka_unit_test(gives_78_and_all_mistakes_on_stderr),
        cmocka_unit_test(gives_78_for_a_file_that_is_not_there),
        cmocka_unit_test(prints_the_sample),
        cmocka_unit_test(prints_help_with_an_example),
        cmocka_unit_test(gives_64_for_a_command_line_that_is_wrong),
        cmocka_unit_test(gives_1_if_the_output_cannot_be_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
