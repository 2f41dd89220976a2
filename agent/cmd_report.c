/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c - `pystrobe report`: the hottest functions of pprof files. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/commands.h"
#include "agent/options.h"
#include "agent/report.h"
#include "agent/report_files.h"

enum {
    MESSAGE_MAX = 4096,
    FILE_MAX = 64 << 20,
    PROFILE_MAX = 512 << 20,
    OUTPUT_MAX = 64 << 20,
    TOP_DEFAULT = 20
};

static const char help[] =
    "Usage: pystrobe report [OPTIONS] FILE...\n"
    "       pystrobe report [OPTIONS] --store DIR [--service NAME]\n\n"
    "Adds pprof files up, ours or others', and prints the functions that took most.\n"
    "own: while the function itself ran; total: with all that it called.\n\n"
    "  -n, --top N         how many functions (default 20)\n"
    "  -t, --type TYPE     which value: cpu, wall, gil, samples, or any other name that the\n"
    "                      files have (default: cpu, or else wall, or else their last one)\n"
    "  -s, --store DIR     all profiles of a local store\n"
    "  -S, --service NAME  of the store only those of this service\n"
    "  -j, --json          one JSON object; times in the files' own unit\n"
    "  -h, --help          this text\n\n"
    "Exit status: 0; 1 if a file is no valid profile or there is none; 64 for wrong usage.\n\n"
    "Example:\n"
    "  pystrobe record -d 10s -o out.pb.gz -- python3 app.py && pystrobe report out.pb.gz\n";

struct request {
    size_t top;
    const char *type; /* borrowed from argv; NULL: choose */
    const char *store, *service;
    bool json;
};

/* What the files add up to. */
struct sum {
    const struct request *request;
    struct pprof *profile; /* owned; of one type; NULL: no file was read yet */
    struct report report;
    struct buf other;   /* owned: what to say if no file has the wanted type */
    char names[2][128]; /* what report.type points to */
};

static size_t find_type(const struct pprof_decoded *file, const char *name)
{
    size_t i;

    for (i = 0; i < file->type_count; i++) {
        if (strcmp(file->types[i].type, name) == 0)
            return i;
    }
    return PPROF_TYPES_MAX;
}

static size_t choose_type(const struct request *request, const struct pprof_decoded *file)
{
    size_t type;

    if (request->type)
        return find_type(file, request->type);
    type = find_type(file, "cpu");
    if (type == PPROF_TYPES_MAX)
        type = find_type(file, "wall");
    if (type == PPROF_TYPES_MAX && file->type_count)
        type = file->type_count - 1;
    return type;
}

static void note_other_types(struct sum *sum, const struct pprof_decoded *file)
{
    size_t i;

    buf_reset(&sum->other);
    buf_add_fmt(&sum->other, "there is no value '%s'; there are:",
                sum->request->type ? sum->request->type : "cpu");
    for (i = 0; i < file->type_count; i++) {
        buf_add_str(&sum->other, " ");
        report_text(file->types[i].type, &sum->other);
    }
}

/* The first file that has the wanted type decides what is added up. */
static enum pprof_rc begin_sum(struct sum *sum, const struct pprof_decoded *file)
{
    size_t type = choose_type(sum->request, file);

    if (type == PPROF_TYPES_MAX) {
        note_other_types(sum, file);
        return PPROF_OK;
    }
    (void)snprintf(sum->names[0], sizeof(sum->names[0]), "%s", file->types[type].type);
    (void)snprintf(sum->names[1], sizeof(sum->names[1]), "%s", file->types[type].unit);
    sum->report.type = (struct pprof_type){sum->names[0], sum->names[1]};
    return pprof_new(&sum->report.type, 1, PROFILE_MAX, &sum->profile);
}

static void note_time(struct report *report, const struct pprof_decoded *file)
{
    int64_t end = file->time_ns;

    if (file->duration_ns > 0 && file->duration_ns < INT64_MAX - report->duration_ns)
        report->duration_ns += file->duration_ns;
    if (file->time_ns <= 0)
        return;
    if (file->duration_ns > 0 && file->duration_ns < INT64_MAX - end)
        end += file->duration_ns;
    if (report->first_ns == 0 || file->time_ns < report->first_ns)
        report->first_ns = file->time_ns;
    if (end > report->last_ns)
        report->last_ns = end;
}

static enum pprof_rc add_decoded(struct sum *sum, const struct pprof_decoded *file)
{
    enum pprof_rc rc = PPROF_OK;

    if (!sum->profile)
        rc = begin_sum(sum, file);
    if (rc != PPROF_OK || !sum->profile)
        return rc;
    sum->report.file_count++;
    note_time(&sum->report, file);
    return pprof_merge(sum->profile, file->profile);
}

static enum pprof_rc add_bytes(struct sum *sum, const struct buf *bytes, struct err *err)
{
    struct pprof_decoded file;
    enum pprof_rc rc = pprof_decode(bytes->data, bytes->size, PROFILE_MAX, &file, err);

    if (rc != PPROF_OK)
        return rc;
    rc = add_decoded(sum, &file);
    if (rc != PPROF_OK)
        err_set(err, "%s", pprof_rc_text(rc));
    pprof_free(file.profile);
    return rc;
}

/* Adds one file. `may_go`: the store may have dropped it since it was listed. */
static bool add_file(struct sum *sum, const char *path, bool may_go)
{
    struct err err = {""};
    struct buf bytes;
    bool good;

    buf_init(&bytes, FILE_MAX);
    if (report_read(path, &bytes, &err))
        good = add_bytes(sum, &bytes, &err) == PPROF_OK;
    else
        good = may_go && errno == ENOENT;
    buf_finish(&bytes);
    if (!good)
        (void)fprintf(stderr, "pystrobe: %s: %s\n", path, err.text);
    return good;
}

static bool wants_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) == 1 && (!no_colour || !no_colour[0]);
}

static int print(struct sum *sum)
{
    struct pprof_top *tops;
    struct buf out;
    int status = EXIT_FAILED;

    if (pprof_top(sum->profile, 0, &tops, &sum->report.top_count) != PPROF_OK) {
        (void)fputs("pystrobe: out of memory\n", stderr);
        return status;
    }
    sum->report.tops = tops;
    sum->report.top_max = sum->request->top;
    sum->report.total = pprof_total(sum->profile, 0);
    sum->report.colour = wants_colour();
    buf_init(&out, OUTPUT_MAX);
    (sum->request->json ? report_json : report_table)(&sum->report, &out);
    if (!buf_failed(&out) && fwrite(out.data, 1, out.size, stdout) == out.size &&
        fflush(stdout) == 0)
        status = EXIT_OK;
    buf_finish(&out);
    free(tops);
    return status;
}

static int report(const struct request *request, char **paths, size_t count)
{
    struct sum sum = {.request = request};
    int status = EXIT_OK;
    size_t i;

    buf_init(&sum.other, MESSAGE_MAX);
    for (i = 0; i < count; i++) {
        if (!add_file(&sum, paths[i], request->store != NULL))
            status = EXIT_FAILED;
    }
    if (!sum.profile && sum.other.size)
        (void)fprintf(stderr, "pystrobe: %.*s\n", (int)sum.other.size, (char *)sum.other.data);
    if (!sum.profile || print(&sum) != EXIT_OK)
        status = EXIT_FAILED;
    pprof_free(sum.profile);
    buf_finish(&sum.other);
    return status;
}

static int report_store(const struct request *request)
{
    struct report_files files = {0};
    struct err err = {""};
    int status = EXIT_FAILED;

    if (!report_files_of_store(request->store, request->service, &files, &err))
        (void)fprintf(stderr, "pystrobe: %s\n", err.text);
    else if (files.count == 0)
        (void)fprintf(stderr, "pystrobe: %s: there are no profiles%s%s\n", request->store,
                      request->service ? " of " : "", request->service ? request->service : "");
    else
        status = report(request, files.paths, files.count);
    report_files_finish(&files);
    return status;
}

static bool read_count(const char *text, size_t *out)
{
    char *end;
    unsigned long number;

    errno = 0;
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || number == 0) {
        (void)fprintf(stderr, "pystrobe: '%s' is no number of functions\n", text);
        return false;
    }
    *out = number;
    return true;
}

static const struct option longs[] = {
    {"top", required_argument, NULL, 'n'},
    {"type", required_argument, NULL, 't'},
    {"store", required_argument, NULL, 's'},
    {"service", required_argument, NULL, 'S'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Takes one option in. False: it is wrong. */
static bool take_option(int c, struct request *request)
{
    switch (c) {
    case 'n':
        return read_count(optarg, &request->top);
    case 't':
        request->type = optarg;
        return true;
    case 's':
        request->store = optarg;
        return true;
    case 'S':
        request->service = optarg;
        return true;
    case 'j':
        request->json = true;
        return true;
    default:
        return false;
    }
}

int cmd_report(int argc, char **argv)
{
    struct request request = {.top = TOP_DEFAULT};
    int c;

    optind = 0; /* glibc: begin anew, whoever parsed before */
    while ((c = getopt_long(argc, argv, "n:t:s:S:jh", longs, NULL)) != -1) {
        if (c == 'h')
            return options_help(help);
        if (!take_option(c, &request))
            return options_usage("report");
    }
    if (request.store && optind < argc)
        (void)fputs("pystrobe: report takes FILEs or --store DIR, not both\n", stderr);
    else if (request.service && !request.store)
        (void)fputs("pystrobe: --service needs --store DIR\n", stderr);
    else if (request.store)
        return report_store(&request);
    else if (optind == argc)
        (void)fputs("pystrobe: report needs a FILE or --store DIR\n", stderr);
    else
        return report(&request, argv + optind, (size_t)(argc - optind));
    return options_usage("report");
}
