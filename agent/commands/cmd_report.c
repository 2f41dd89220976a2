/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c - `pystrobe report`: pprof files as tables, call trees, graphs and other formats. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/option_table.h"
#include "agent/cli/output.h"
#include "agent/cli/output_format.h"
#include "agent/commands/commands.h"
#include "agent/dump/source_reader.h"
#include "agent/host/clock.h"
#include "agent/host/version.h"
#include "agent/report/files.h"
#include "agent/report/report.h"
#include "agent/report/sum.h"
#include "formats/format.h"

enum { OUTPUT_MAX = 1 << 30, TOP_DEFAULT = 20, STORE_SIZE = 4096, TITLE_SIZE = 256 };

static const char help[] =
    "Usage: pystrobe report [OPTIONS] FILE...\n"
    "       pystrobe report [OPTIONS] --diff BEFORE AFTER\n"
    "       pystrobe report [OPTIONS] --store [DIR] [--service NAME] [--since TIME]\n\n"
    "Adds up pprof files of pystrobe or other programs, and prints the functions with\n"
    "the highest values. own: of the function itself; total: with all that it called.\n"
    "FILE - is the standard input.\n\n"
    "  -N, --top N         how many functions (default 20)\n"
    "      --type TYPE, --value TYPE\n"
    "                      the value: cpu, wall, gil, samples, or another one of the\n"
    "                      files (default: cpu, else wall, else their last one)\n"
    "  -f, --format NAME   table, json, or one of the list below (default: by the\n"
    "                      ending of FILE; table for the standard output)\n"
    "  -o, --output FILE   default: the standard output\n"
    "      --diff          what AFTER took more or less than BEFORE\n"
    "  -s, --store [DIR]   all profiles of a local store; default: where exec keeps\n"
    "                      them\n"
    "  -S, --service NAME  of the store only those of this service\n"
    "      --since TIME    of the store only those that began in the last 2h, 30m ...\n"
    "      --source DIR    source lines of a heatmap from files below DIR, at which\n"
    "                      absolute names in the profiles begin (/: this machine's\n"
    "                      files). Default: /, but no lines for root, and for\n"
    "                      profiles of somebody else\n"
    "      --no-source     a heatmap without source lines\n"
    "  -j, --json          the same as -f json; times in the files' own unit\n"
    "  -h, --help          this text\n\n"
    "Formats, by name and by the output's ending:\n";

static const char help_end[] =
    "\n\n"
    "Exit status: 0; 1 if a file is not a valid profile or cannot be read, or if no\n"
    "profile was found; 64 for wrong usage.\n\n"
    "Example:\n"
    "  pystrobe report out.pb.gz -o out.html\n";

struct request {
    size_t top;
    const char *type; /* borrowed from argv; NULL: choose */
    const char *store, *service;
    const char *output;
    const char *source;          /* NULL: not given */
    const struct format *format; /* NULL: a table, or JSON */
    const char *format_name;     /* as it was given; NULL: it was not */
    uint64_t since_ns;           /* before now; 0: all */
    bool wants_store, json, diff, no_source;
    char store_path[STORE_SIZE];
};

/* Where a report goes, and what of it is not there yet. */
struct sink {
    struct output file;
    struct buf bytes; /* owned */
};

static bool wants_colour(const struct request *request)
{
    const char *no_colour = getenv("NO_COLOR");

    return output_is_terminal(request->output) && (!no_colour || !no_colour[0]);
}

/* Appends the hottest functions. */
static enum pprof_rc add_top_functions(const struct request *request, struct report_sum *sum,
                                       struct buf *out)
{
    struct report report = {.file_count = sum->file_count,
                            .first_ns = sum->first_ns,
                            .last_ns = sum->last_ns,
                            .duration_ns = report_sum_recorded(sum),
                            .type = sum->chosen,
                            .total = pprof_total(sum->profile, sum->type),
                            .top_max = request->top,
                            .bold = wants_colour(request)};
    struct pprof_top *tops;
    enum pprof_rc rc = pprof_top(sum->profile, sum->type, &tops, &report.top_count);

    if (rc != PPROF_OK)
        return rc;
    report.tops = tops;
    (request->json ? report_json : report_table)(&report, out);
    free(tops);
    return buf_failed(out) ? PPROF_FULL : PPROF_OK;
}

/* A format_view's `source`. */
static bool read_reported_source(void *reader, const char *file, struct buf *out)
{
    return source_reader_read(reader, file, out);
}

/*
 * Reader of the files that the profiles name. A profile may name any file, so files are not read if
 * our rights may exceed those of the processes that were sampled. NULL: no files are read.
 */
static struct source_reader *open_reported_source(const struct request *request, bool is_others)
{
    const struct source_folder folder = {.root = request->source ? request->source : "/",
                                         .working = request->source ? request->source : ".",
                                         .python_only = true};

    if (!request->format->shows_source || request->no_source)
        return NULL;
    if (request->source || (!is_others && geteuid() != 0))
        return source_reader_of_folder(&folder);
    (void)fprintf(stderr,
                  "pystrobe: no source lines: %s; --source DIR says below which directory "
                  "files may be shown\n",
                  is_others ? "the profiles belong to another user, and name the files"
                            : "root may read more than the processes that name the files");
    return NULL;
}

/* Only root may read a report of private profiles that root makes, or one with source lines. */
static enum output_readers readers_of_report(const struct request *request, bool is_private)
{
    const bool has_source =
        request->source && request->format && request->format->shows_source && !request->no_source;

    return geteuid() == 0 && (is_private || has_source) ? OUTPUT_OURS : OUTPUT_USUAL;
}

static void init_sink(struct sink *sink, const struct request *request, bool is_private)
{
    output_init(&sink->file, request->output, readers_of_report(request, is_private));
    buf_init(&sink->bytes, OUTPUT_MAX);
}

/* Puts out the rest of what was made, or says why it was not. */
static int finish_sink(struct sink *sink, enum pprof_rc rc)
{
    struct err err = {""};
    bool good = rc == PPROF_OK && output_add(&sink->file, &sink->bytes);

    buf_finish(&sink->bytes);
    good = output_close(&sink->file, good, &err) && good;
    if (!good)
        (void)fprintf(stderr, "pystrobe: %s\n", err.text[0] ? err.text : pprof_rc_text(rc));
    else if (output_is_file(sink->file.path))
        (void)fprintf(stderr, "pystrobe: wrote %s\n", sink->file.path);
    return good ? EXIT_OK : EXIT_FAILED;
}

/* Appends the profile in the format that is asked for; `base`: as in struct format_view. */
static enum pprof_rc add_format(const struct request *request, struct report_sum *sum,
                                const struct pprof *profile, size_t base, const char *title,
                                struct sink *sink)
{
    struct source_reader *reader = open_reported_source(request, sum->is_others);
    struct format_view view = {.profile = profile,
                               .type = base == FORMAT_NO_BASE ? sum->type : 0,
                               .base = base,
                               .title = title,
                               .time_ns = sum->first_ns,
                               .duration_ns = report_sum_recorded(sum),
                               .period = sum->period,
                               .made_by = version_agent,
                               .source = reader ? read_reported_source : NULL,
                               .ctx = reader,
                               .drain = output_drain,
                               .drain_ctx = &sink->file};
    struct pprof_stacks *stacks;
    enum pprof_rc rc = pprof_stacks_new(profile, &stacks);

    if (rc == PPROF_OK) {
        view.stacks = stacks;
        rc = request->format->write(&view, &sink->bytes);
        pprof_stacks_free(stacks);
        source_reader_explain(reader);
    }
    source_reader_end(reader);
    return rc;
}

static void say_no_value(const struct report_sum *sum)
{
    if (!sum->profile && sum->other.size)
        (void)fprintf(stderr, "pystrobe: %s\n", buf_text(&sum->other));
}

/* What the report is called: its service, its store, or its files. */
static void name_report(const struct request *request, char **paths, size_t count,
                        char title[TITLE_SIZE])
{
    const char *of = request->wants_store ? request->store : paths[0];

    (void)snprintf(title, TITLE_SIZE, "%s%s", request->service ? request->service : of,
                   !request->wants_store && count > 1 ? " and others" : "");
}

/* Puts out a sum that has a profile. */
static int report_added(const struct request *request, struct report_sum *sum, const char *title)
{
    struct sink sink;
    enum pprof_rc rc;

    init_sink(&sink, request, sum->is_private);
    if (request->format)
        rc = add_format(request, sum, sum->profile, FORMAT_NO_BASE, title, &sink);
    else
        rc = add_top_functions(request, sum, &sink.bytes);
    return finish_sink(&sink, rc);
}

static int report_profiles(const struct request *request, char **paths, size_t count)
{
    struct report_sum sum;
    char title[TITLE_SIZE];
    int status = EXIT_OK;

    report_sum_init(&sum, request->type);
    for (size_t i = 0; i < count; i++)
        if (!report_sum_add(&sum, paths[i], request->wants_store))
            status = EXIT_FAILED;
    say_no_value(&sum);
    name_report(request, paths, count, title);
    if (!sum.profile || report_added(request, &sum, title) != EXIT_OK)
        status = EXIT_FAILED;
    report_sum_finish(&sum);
    return status;
}

/* Appends the table of a difference: how it is scaled, then the functions. */
static enum pprof_rc add_changes_table(const struct request *request, const struct pprof *profile,
                                       struct report_sum *after, const char *scale, struct buf *out)
{
    if (scale[0])
        buf_add_fmt(out, "%s\n", scale);
    return report_changes(profile, &after->chosen, request->top, out);
}

/* Sets two sums of which both have a profile against each other. */
static int report_difference(const struct request *request, struct report_sum sums[2],
                             const char *of)
{
    struct pprof *profile = NULL;
    char title[2 * TITLE_SIZE + 2];
    struct buf scale;
    struct sink sink;
    enum pprof_rc rc = report_sum_difference(&sums[1], &sums[0], &profile);
    int status;

    init_sink(&sink, request, sums[0].is_private || sums[1].is_private);
    buf_init(&scale, TITLE_SIZE);
    report_sum_explain_scale(&sums[1], &sums[0], &scale);
    (void)snprintf(title, sizeof(title), "%s%s%s", of, scale.size ? "; " : "", buf_text(&scale));
    if (rc == PPROF_OK && request->format)
        rc = add_format(request, &sums[1], profile, 1, title, &sink);
    else if (rc == PPROF_OK)
        rc = add_changes_table(request, profile, &sums[1], buf_text(&scale), &sink.bytes);
    if (scale.size && request->format)
        (void)fprintf(stderr, "pystrobe: %s\n", buf_text(&scale));
    status = finish_sink(&sink, rc);
    buf_finish(&scale);
    pprof_free(profile);
    return status;
}

/* Says why two files cannot be compared. */
static void say_units(const char *before, const char *after)
{
    struct buf text;

    buf_init(&text, OUTPUT_MAX);
    buf_add_str(&text, "pystrobe: the files cannot be compared: their units are ");
    report_text(before, &text);
    buf_add_str(&text, " and ");
    report_text(after, &text);
    (void)fprintf(stderr, "%s\n", buf_text(&text));
    buf_finish(&text);
}

static int report_diff(const struct request *request, char **paths)
{
    struct report_sum sums[2];
    char title[TITLE_SIZE];
    int i, status = EXIT_OK;

    for (i = 0; i < 2; i++) {
        report_sum_init(&sums[i], i && sums[0].profile ? sums[0].names[0] : request->type);
        if (!report_sum_add(&sums[i], paths[i], false) || !sums[i].profile)
            status = EXIT_FAILED;
        say_no_value(&sums[i]);
    }
    (void)snprintf(title, sizeof(title), "%s, before: %s", paths[1], paths[0]);
    if (status == EXIT_OK && strcmp(sums[0].names[1], sums[1].names[1]) != 0) {
        say_units(sums[0].names[1], sums[1].names[1]);
        status = EXIT_FAILED;
    }
    if (status == EXIT_OK)
        status = report_difference(request, sums, title);
    report_sum_finish(&sums[0]);
    report_sum_finish(&sums[1]);
    return status;
}

static int report_store(const struct request *request)
{
    struct report_files files = {0};
    struct err err = {""};
    int status = EXIT_FAILED;
    int64_t since_ns = request->since_ns ? clock_utc_ns() - (int64_t)request->since_ns : 0;

    if (!report_files_of_store(request->store, request->service, since_ns, &files, &err))
        (void)fprintf(stderr, "pystrobe: %s\n", err.text);
    else if (files.count == 0)
        (void)fprintf(stderr, "pystrobe: %s: there are no profiles%s%s%s\n", request->store,
                      request->service ? " of " : "", request->service ? request->service : "",
                      since_ns ? " in this time range" : "");
    else
        status = report_profiles(request, files.paths, files.count);
    if (files.unreadable > 0)
        status = EXIT_FAILED;
    report_files_finish(&files);
    return status;
}

static bool read_count(const char *text, void *out)
{
    char *end;
    unsigned long number;

    errno = 0;
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || number == 0) {
        (void)fprintf(stderr, "pystrobe: '%s' is not a number of functions, 1 or more\n", text);
        return false;
    }
    *(size_t *)out = number;
    return true;
}

/* Takes --store and its directory, if it has one. */
static bool read_store(const char *text, void *out)
{
    struct request *request = out;

    request->wants_store = true;
    request->store = text;
    return true;
}

/* --json is --format json. */
static bool read_json(const char *text, void *format_name)
{
    (void)text;
    *(const char **)format_name = "json";
    return true;
}

/* A name of a value: a file may have others than those of pystrobe, but none that is empty. */
static bool read_type(const char *text, void *type)
{
    static const struct options_word usual[] = {{"cpu", 0},  {"wall", 0},    {"gil", 0},
                                                {"wait", 0}, {"samples", 0}, {"exception", 0},
                                                {NULL, 0}};
    uint32_t found;

    if (text[0] == '\0')
        return options_word("type", text, usual, &found);
    *(const char **)type = text;
    return true;
}

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"top", 'N', OPTION_READ, FIELD(top), .read = read_count, .old = 'n'},
    {"type", 0, OPTION_READ, FIELD(type), .read = read_type, .old = 't'},
    {"value", 0, OPTION_READ, FIELD(type), .read = read_type},
    {"format", 'f', OPTION_TEXT, FIELD(format_name)},
    {"output", 'o', OPTION_TEXT, FIELD(output)},
    {"diff", 0, OPTION_FLAG, FIELD(diff), .old = 'd'},
    {"store", 's', OPTION_READ, .read = read_store, .optional = true},
    {"service", 'S', OPTION_TEXT, FIELD(service)},
    {"since", 0, OPTION_DURATION, FIELD(since_ns)},
    {"source", 0, OPTION_TEXT, FIELD(source)},
    {"no-source", 0, OPTION_FLAG, FIELD(no_source)},
    {"json", 'j', OPTION_CALL, FIELD(format_name), .read = read_json},
    {.name = NULL},
};

/* Finds the format by its name or by the output's. False: it is wrong, which was said. */
static bool choose_report_format(struct request *request)
{
    const char *name = request->format_name;

    request->json = name && strcmp(name, "json") == 0;
    if (!request->json && !(name && strcmp(name, "table") == 0) &&
        !output_format_choose(name, request->output, NULL, &request->format))
        return false;
    if (!request->diff || !(request->json || (request->format && !request->format->differs)))
        return true;
    (void)fprintf(stderr, "pystrobe: %s has no place for a difference\n",
                  request->json ? "json" : request->format->name);
    return false;
}

/* Finds the store: an argument, the word behind the options, or where it is by itself. */
static bool choose_store(struct request *request, char **words, int count)
{
    if (!request->wants_store)
        return true;
    if (!request->store && count == 1) {
        request->store = words[0];
    } else if (count > 0) {
        (void)fputs("pystrobe: report takes FILEs or --store DIR, not both\n", stderr);
        return false;
    } else if (!request->store) {
        request->store = request->store_path;
        if (!options_store(request->store_path, sizeof(request->store_path))) {
            (void)fputs("pystrobe: no default store, because HOME is not set; use --store DIR\n",
                        stderr);
            return false;
        }
    }
    return true;
}

/* Says what is wrong with the words as a whole. */
static bool check_report_arguments(const struct request *request, int count)
{
    if (!request->wants_store && (request->service || request->since_ns))
        (void)fputs("pystrobe: --service and --since need --store DIR\n", stderr);
    else if (request->diff && (request->wants_store || count != 2))
        (void)fputs("pystrobe: --diff needs two FILEs\n", stderr);
    else if (!request->wants_store && count == 0)
        (void)fputs("pystrobe: report needs a FILE or --store DIR\n", stderr);
    else
        return true;
    return false;
}

static int print_report_help(void)
{
    const struct format *format;

    (void)fputs(help, stdout);
    for (size_t i = 0; (format = format_at(i)); i++)
        (void)printf("  %-10s %-16s %s\n", format->name, format->endings[0], format->text);
    return options_help(help_end);
}

int cmd_report(int argc, char **argv)
{
    static const struct option_table table = {
        .rows = rows, .print_help = print_report_help, .help_at_once = true};
    struct request request = {.top = TOP_DEFAULT};
    int status;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    argv += optind;
    argc -= optind;
    if (!check_report_arguments(&request, argc) || !choose_store(&request, argv, argc) ||
        !choose_report_format(&request))
        return options_usage("report");
    if (request.wants_store)
        return report_store(&request);
    return request.diff ? report_diff(&request, argv)
                        : report_profiles(&request, argv, (size_t)argc);
}
