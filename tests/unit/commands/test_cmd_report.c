/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_report.c - which files a report is about, and its exit statuses. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/commands/commands.h"
#include "tests/unit/pprof/example.h"
#include "tests/unit/unit_test.h"

enum { ARGS_MAX = 12, TEXT_SIZE = 65536, PATH_SIZE = 256 };

static char folder[] = "/tmp/pystrobe-report-XXXXXX";

/* A path below the test's folder, lent until four calls later. */
static char *in_folder(const char *name)
{
    static char paths[4][PATH_SIZE];
    static size_t next;
    char *path = paths[next++ % 4];

    assert_true(snprintf(path, PATH_SIZE, "%s/%s", folder, name) < PATH_SIZE);
    return path;
}

static void write_bytes(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(in_folder(name), "wbe");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_profile(const char *name, const struct pprof_type types[EXAMPLE_TYPES],
                          const char *rows, const struct pprof_meta *meta)
{
    struct pprof *p;
    struct buf out;

    buf_init(&out, 1 << 20);
    assert_int_equal(pprof_new(types, EXAMPLE_TYPES, 1 << 20, &p), PPROF_OK);
    assert_int_equal(example_fill(p, rows), PPROF_OK);
    assert_int_equal(pprof_encode(p, meta, &out), PPROF_OK);
    write_bytes(name, out.data, out.size);
    pprof_free(p);
    buf_finish(&out);
}

static void write_rows_of(const char *name, const char *rows, uint32_t types, int64_t duration_ns)
{
    struct pprof_meta meta = example_meta;

    meta.types = types;
    meta.duration_ns = duration_ns;
    write_profile(name, example_types, rows, &meta);
}

static void write_rows(const char *name, const char *rows, uint32_t types)
{
    write_rows_of(name, rows, types, example_meta.duration_ns);
}

static void write_example(const char *name, uint32_t types)
{
    write_rows(name, "012", types);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    write_example("all.pb.gz", 0);
    write_example("wall.pb.gz", 1U << 1);
    write_bytes("bad.pb.gz", "nonsense", 8);
    if (mkdir(in_folder("store"), 0700) || mkdir(in_folder("store/web"), 0700) ||
        mkdir(in_folder("store/a%20b"), 0700) || mkdir(in_folder("store/.hidden"), 0700))
        return 1;
    write_example("store/web/1.pb.gz", 0);
    write_example("store/web/2.pb.gz", 0);
    write_bytes("store/web/.3.tmp", "x", 1);
    write_bytes("store/web/notes.txt", "x", 1);
    write_bytes("store/.hidden/4.pb.gz", "x", 1);
    write_example("store/a%20b/5.pb.gz", 0);
    write_rows("before.pb.gz", "02", 0);
    write_rows("after.pb.gz", "012", 0);
    write_rows_of("longer.pb.gz", "02", 0, 5 * example_meta.duration_ns);
    write_rows_of("untimed.pb.gz", "02", 0, 0);
    if (mkdir(in_folder("dated"), 0700) || mkdir(in_folder("dated/web"), 0700))
        return 1;
    write_example("dated/web/20200101T000000.000Z-0123456789abcdef.pb.gz", 0);
    write_example("dated/web/99990101T000000.000Z-0123456789abcdef.pb.gz", 0);
    return 0;
}

static int remove_folder(void **state)
{
    char command[PATH_SIZE];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

/* Runs `report` with up to ARGS_MAX arguments; what it prints to stdout is in `text`. */
static int run(char text[TEXT_SIZE], char *const *args)
{
    char name[] = "report", *argv[ARGS_MAX + 2] = {name};
    int kept_out = dup(STDOUT_FILENO), kept_err = dup(STDERR_FILENO);
    int out = open(in_folder("out"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int argc, status;
    ssize_t size;

    for (argc = 1; args[argc - 1]; argc++)
        argv[argc] = args[argc - 1];
    (void)fflush(stdout);
    assert_true(out >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0);
    status = cmd_report(argc, argv);
    (void)fflush(stdout);
    assert_true(dup2(kept_out, STDOUT_FILENO) >= 0 && dup2(kept_err, STDERR_FILENO) >= 0);
    size = pread(out, text, TEXT_SIZE - 1, 0);
    assert_true(size >= 0);
    text[size] = '\0';
    (void)close(out);
    (void)close(kept_out);
    (void)close(kept_err);
    return status;
}

#define RUN(text, ...) run(text, (char *const[]){__VA_ARGS__, NULL})

static char text[TEXT_SIZE];
static char opt_type[] = "--type", opt_store[] = "--store", opt_service[] = "--service",
            opt_json[] = "--json", opt_top[] = "--top", opt_help[] = "--help";
static char opt_diff[] = "--diff", opt_format[] = "--format", opt_output[] = "--output",
            opt_since[] = "--since";
static char jsonl[] = "jsonl", tree[] = "tree", collapsed[] = "collapsed", table[] = "table",
            two_hours[] = "2h";
static char wall[] = "wall", nope[] = "nope", web[] = "web", blank[] = "a b", zero[] = "0",
            one[] = "1", up[] = "..";

static void files_are_added_up(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, in_folder("all.pb.gz"), in_folder("all.pb.gz")), EXIT_OK);

    assert_memory_equal(text, "2 profiles, ", 12);
    assert_non_null(strstr(text, "60.00ms: 90.00ms cpu\n"));
    assert_non_null(strstr(text, "60.00ms   66.7%   60.00ms   66.7%  fib "));
}

static void without_cpu_it_is_wall(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, in_folder("wall.pb.gz")), EXIT_OK);

    assert_non_null(strstr(text, "60.00ms: 60.00ms wall\n"));
}

static void a_type_can_be_chosen(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_type, wall, opt_json, in_folder("all.pb.gz")), EXIT_OK);
    assert_non_null(strstr(text, "\"type\": \"wall\""));

    assert_int_equal(RUN(text, opt_type, nope, in_folder("all.pb.gz")), EXIT_FAILED);
    assert_string_equal(text, "pystrobe: there is no value 'nope'; there are: samples wall cpu\n");
}

static void a_file_without_the_value_is_named_and_left_out(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, in_folder("all.pb.gz"), in_folder("wall.pb.gz")), EXIT_OK);

    assert_non_null(strstr(text, "wall.pb.gz: left out: it has no cpu in nanoseconds\n"));
    assert_non_null(strstr(text, "1 profile, "));
}

static void a_bad_file_is_named_and_the_others_are_shown(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, in_folder("bad.pb.gz"), in_folder("all.pb.gz")), EXIT_FAILED);
    assert_non_null(strstr(text, "bad.pb.gz: not a pprof file"));
    assert_non_null(strstr(text, "1 profile, "));

    assert_int_equal(RUN(text, in_folder("gone.pb.gz")), EXIT_FAILED);
    assert_non_null(strstr(text, "gone.pb.gz: No such file"));
    assert_int_equal(RUN(text, in_folder("store")), EXIT_FAILED);
    assert_non_null(strstr(text, "store: a directory: report --store "));
}

static void a_profile_is_read_from_the_standard_input(void **state)
{
    static char dash[] = "-";
    const int kept = dup(STDIN_FILENO), file = open(in_folder("all.pb.gz"), O_RDONLY | O_CLOEXEC);
    char bytes[4096];
    ssize_t size = read(file, bytes, sizeof(bytes));
    int ends[2];

    (void)state;
    assert_true(kept >= 0 && size > 0 && size < (ssize_t)sizeof(bytes));
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], bytes, (size_t)size), size);
    (void)close(ends[1]);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    assert_int_equal(RUN(text, dash), EXIT_OK);
    assert_memory_equal(text, "1 profile, ", 11);
    assert_int_equal(RUN(text, dash), EXIT_FAILED); /* it is read already */
    assert_true(dup2(kept, STDIN_FILENO) >= 0);
    (void)close(kept);
    (void)close(file);
    (void)close(ends[0]);
}

static void a_store_is_all_its_profiles_or_a_service_s(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_store, in_folder("store")), EXIT_OK);
    assert_memory_equal(text, "3 profiles", 10);
    assert_int_equal(RUN(text, opt_store, in_folder("store"), opt_service, web), EXIT_OK);
    assert_memory_equal(text, "2 profiles", 10);
    assert_int_equal(RUN(text, opt_store, in_folder("store"), opt_service, blank), EXIT_OK);
    assert_memory_equal(text, "1 profile,", 10);
}

static void a_store_without_profiles_is_a_failure(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_store, in_folder("store"), opt_service, nope), EXIT_FAILED);
    assert_non_null(strstr(text, "there are no profiles of nope"));
    assert_int_equal(RUN(text, opt_store, in_folder("none")), EXIT_FAILED);
    assert_non_null(strstr(text, "none: No such file"));
    assert_int_equal(RUN(text, opt_store, in_folder("store/web"), opt_service, up), EXIT_FAILED);
}

static void wrong_usage_is_64(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_top, zero, in_folder("all.pb.gz")), EXIT_USAGE);
    assert_int_equal(RUN(text, opt_service, web), EXIT_USAGE);
    assert_int_equal(RUN(text, opt_store, in_folder("store"), in_folder("all.pb.gz")), EXIT_USAGE);
    assert_int_equal(RUN(text, opt_top), EXIT_USAGE);
    assert_int_equal(RUN(text, NULL), EXIT_USAGE);
    assert_non_null(strstr(text, "pystrobe report --help"));
}

static void help_is_no_error(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_help), EXIT_OK);

    assert_non_null(strstr(text, "Usage: pystrobe report"));
    assert_non_null(strstr(text, "Example:"));
}

static void top_limits_the_table(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_top, one, in_folder("all.pb.gz")), EXIT_OK);

    assert_non_null(strstr(text, "and 2 more"));
    assert_null(strstr(text, "work"));
}

static void a_difference_shows_what_changed(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_diff, in_folder("before.pb.gz"), in_folder("after.pb.gz")),
                     EXIT_OK);
    assert_non_null(strstr(text, "+30.00ms cpu in all:   15.00ms before,   45.00ms after\n"));
    assert_non_null(strstr(text, "\n  +30.00ms         0   30.00ms  +30.00ms  fib "));
    assert_non_null(strstr(text, "\n         0         0         0  +30.00ms  <module> "));
    assert_null(strstr(text, "idle"));

    assert_int_equal(
        RUN(text, opt_diff, opt_format, tree, in_folder("before.pb.gz"), in_folder("after.pb.gz")),
        EXIT_OK);
    assert_non_null(strstr(text, "66.7%    30.00 ms     0.00 us     fib"));

    assert_int_equal(RUN(text, opt_diff, in_folder("wall.pb.gz"), in_folder("after.pb.gz")),
                     EXIT_OK);
    assert_non_null(strstr(text, "0 wall in all"));
}

/* As of processes that were recorded side by side: two profiles of one time are of that time. */
static void a_sum_is_of_the_time_that_its_files_cover(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_output, in_folder("both.pb.gz"), in_folder("all.pb.gz"),
                         in_folder("all.pb.gz")),
                     EXIT_OK);
    assert_int_equal(RUN(text, opt_diff, in_folder("all.pb.gz"), in_folder("both.pb.gz")), EXIT_OK);
    assert_null(strstr(text, "values before are"));
    assert_non_null(strstr(text, "+45.00ms cpu in all:   45.00ms before,   90.00ms after\n"));
}

static void a_difference_is_one_of_rates(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_diff, in_folder("longer.pb.gz"), in_folder("after.pb.gz")),
                     EXIT_OK);
    assert_memory_equal(text, "recorded: 0.30s before, 0.06s after; values before are times 0.2,",
                        65);
    assert_non_null(strstr(text, "+42.00ms cpu in all:    3.00ms before,   45.00ms after\n"));

    assert_int_equal(RUN(text, opt_diff, opt_format, collapsed, in_folder("longer.pb.gz"),
                         in_folder("after.pb.gz")),
                     EXIT_OK);
    assert_non_null(strstr(text, "pystrobe: recorded: 0.30s before"));
    assert_non_null(strstr(text, ";work (/srv/app.py:10) 3000000 15000000\n"));

    assert_int_equal(RUN(text, opt_diff, in_folder("untimed.pb.gz"), in_folder("after.pb.gz")),
                     EXIT_OK);
    assert_non_null(strstr(text, "is not known: totals are compared\n"));
    assert_non_null(strstr(text, "+30.00ms cpu in all:   15.00ms before,"));
}

static void a_difference_needs_two_files_and_a_format_for_it(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_diff, in_folder("after.pb.gz")), EXIT_USAGE);
    assert_int_equal(
        RUN(text, opt_diff, opt_json, in_folder("after.pb.gz"), in_folder("bad.pb.gz")),
        EXIT_USAGE);
    assert_non_null(strstr(text, "json has no place for a difference"));
    assert_int_equal(RUN(text, opt_diff, in_folder("after.pb.gz"), in_folder("bad.pb.gz")),
                     EXIT_FAILED);
}

static void units_of_a_file_do_not_control_the_terminal(void **state)
{
    static const struct pprof_type types[EXAMPLE_TYPES] = {
        {"samples", "count"}, {"wall", "nanoseconds"}, {"cpu", "a\x1b[2J\xc2\x9b"}};

    (void)state;
    write_profile("odd.pb.gz", types, "0", &example_meta);
    assert_int_equal(RUN(text, opt_diff, in_folder("all.pb.gz"), in_folder("odd.pb.gz")),
                     EXIT_FAILED);
    assert_non_null(strstr(text, "their units are nanoseconds and a?[2J?\n"));
}

static void the_outputs_name_chooses_the_format(void **state)
{
    char *page = in_folder("page.html"), got[16] = "";
    FILE *file;

    (void)state;
    assert_int_equal(RUN(text, opt_output, page, in_folder("all.pb.gz")), EXIT_OK);
    assert_memory_equal(text, "pystrobe: wrote ", 16);
    assert_non_null(strstr(text, "/page.html\n"));
    file = fopen(page, "re");
    assert_non_null(file);
    assert_int_equal(fread(got, 1, 15, file), 15);
    (void)fclose(file);
    assert_string_equal(got, "<!DOCTYPE html>");
    assert_int_equal(access(in_folder("page.html.part"), F_OK), -1);

    assert_int_equal(RUN(text, opt_output, in_folder("no/page.html"), in_folder("all.pb.gz")),
                     EXIT_FAILED);
    assert_non_null(strstr(text, "no/page.html: No such file"));

    assert_int_equal(RUN(text, opt_output, in_folder("page.foo"), in_folder("all.pb.gz")),
                     EXIT_USAGE);
    assert_non_null(strstr(text, "no format has files that end so"));
    assert_non_null(strstr(text, " .collapsed .folded "));
}

static void a_format_can_be_named(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_format, collapsed, in_folder("all.pb.gz")), EXIT_OK);
    assert_memory_equal(text, "<module> (/srv/app.py:1);work", 29);
    assert_int_equal(RUN(text, opt_format, table, in_folder("all.pb.gz")), EXIT_OK);
    assert_memory_equal(text, "1 profile, ", 11);
    assert_int_equal(RUN(text, opt_format, nope, in_folder("all.pb.gz")), EXIT_USAGE);
    assert_non_null(strstr(text, "format 'nope' is not known"));
}

static void a_report_is_called_as_what_it_is_of(void **state)
{
    char wanted[PATH_SIZE + 32];

    (void)state;
    (void)snprintf(wanted, sizeof(wanted), "{\"profile\":\"%s\"", in_folder("store"));
    assert_int_equal(RUN(text, opt_format, jsonl, opt_store, in_folder("store")), EXIT_OK);
    assert_memory_equal(text, wanted, strlen(wanted));
    assert_int_equal(RUN(text, opt_format, jsonl, opt_store, in_folder("store"), opt_service, web),
                     EXIT_OK);
    assert_memory_equal(text, "{\"profile\":\"web\"", 16);
    assert_int_equal(
        RUN(text, opt_format, jsonl, in_folder("after.pb.gz"), in_folder("before.pb.gz")), EXIT_OK);
    assert_non_null(strstr(text, "after.pb.gz and others\""));
}

static void old_profiles_of_a_store_can_be_left_out(void **state)
{
    (void)state;
    assert_int_equal(RUN(text, opt_store, in_folder("dated")), EXIT_OK);
    assert_memory_equal(text, "2 profiles", 10);
    assert_int_equal(RUN(text, opt_since, two_hours, opt_store, in_folder("dated")), EXIT_OK);
    assert_memory_equal(text, "1 profile,", 10);
    assert_int_equal(RUN(text, opt_since, two_hours, in_folder("all.pb.gz")), EXIT_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_added_up),
        cmocka_unit_test(without_cpu_it_is_wall),
        cmocka_unit_test(a_type_can_be_chosen),
        cmocka_unit_test(a_file_without_the_value_is_named_and_left_out),
        cmocka_unit_test(a_bad_file_is_named_and_the_others_are_shown),
        cmocka_unit_test(a_profile_is_read_from_the_standard_input),
        cmocka_unit_test(a_store_is_all_its_profiles_or_a_service_s),
        cmocka_unit_test(a_store_without_profiles_is_a_failure),
        cmocka_unit_test(wrong_usage_is_64),
        cmocka_unit_test(help_is_no_error),
        cmocka_unit_test(top_limits_the_table),
        cmocka_unit_test(a_difference_shows_what_changed),
        cmocka_unit_test(a_sum_is_of_the_time_that_its_files_cover),
        cmocka_unit_test(a_difference_is_one_of_rates),
        cmocka_unit_test(a_difference_needs_two_files_and_a_format_for_it),
        cmocka_unit_test(units_of_a_file_do_not_control_the_terminal),
        cmocka_unit_test(the_outputs_name_chooses_the_format),
        cmocka_unit_test(a_format_can_be_named),
        cmocka_unit_test(a_report_is_called_as_what_it_is_of),
        cmocka_unit_test(old_profiles_of_a_store_can_be_left_out),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
