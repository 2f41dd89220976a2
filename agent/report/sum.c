/* SPDX-License-Identifier: Apache-2.0 */
/* sum.c - see sum.h. */
#include "agent/report/sum.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/report/files.h"
#include "agent/report/report.h"
#include "base/array.h"
#include "base/time_units.h"

/* A difference of recorded times that is said: 1 %. */
#define SCALE_SHOWN 0.01

enum { MESSAGE_MAX = 4096, FILE_MAX = 64 << 20, PROFILE_MAX = 512 << 20 };

void report_sum_init(struct report_sum *sum, const char *wanted)
{
    *sum = (struct report_sum){.wanted = wanted, .max_bytes = PROFILE_MAX};
    buf_init(&sum->other, MESSAGE_MAX);
}

void report_sum_finish(struct report_sum *sum)
{
    pprof_free(sum->profile);
    buf_finish(&sum->other);
    free(sum->spans);
}

static size_t find_decoded_type(const struct pprof_decoded *file, const char *name)
{
    for (size_t i = 0; i < file->type_count; i++) {
        if (strcmp(file->types[i].type, name) == 0)
            return i;
    }
    return PPROF_TYPES_MAX;
}

static size_t choose_type(const struct report_sum *sum, const struct pprof_decoded *file)
{
    size_t type;

    if (sum->wanted)
        return find_decoded_type(file, sum->wanted);
    type = find_decoded_type(file, "cpu");
    if (type == PPROF_TYPES_MAX)
        type = find_decoded_type(file, "wall");
    if (type == PPROF_TYPES_MAX && file->type_count)
        type = file->type_count - 1;
    return type;
}

static void note_other_types(struct report_sum *sum, const struct pprof_decoded *file)
{
    buf_reset(&sum->other);
    buf_add_fmt(&sum->other,
                "there is no value '%s'; there are:", sum->wanted ? sum->wanted : "cpu");
    for (size_t i = 0; i < file->type_count; i++) {
        buf_add_str(&sum->other, " ");
        report_text(file->types[i].type, &sum->other);
    }
}

/* The first file that has the wanted type decides what is added up. */
static enum pprof_rc begin_sum(struct report_sum *sum, const struct pprof_decoded *file)
{
    size_t type = choose_type(sum, file);

    if (type == PPROF_TYPES_MAX) {
        note_other_types(sum, file);
        return PPROF_OK;
    }
    (void)snprintf(sum->names[0], sizeof(sum->names[0]), "%s", file->types[type].type);
    (void)snprintf(sum->names[1], sizeof(sum->names[1]), "%s", file->types[type].unit);
    sum->chosen = (struct pprof_type){sum->names[0], sum->names[1]};
    sum->type = type;
    sum->period = file->period;
    return pprof_new(file->types, file->type_count, sum->max_bytes, &sum->profile);
}

static enum pprof_rc note_time(struct report_sum *sum, const struct pprof_decoded *file)
{
    int64_t end = file->time_ns;

    if (!ARRAY_RESERVE(sum->spans, sum->span_capacity, sum->span_count + 1))
        return PPROF_NOMEM;

    if (file->duration_ns > 0 && file->duration_ns < INT64_MAX - sum->durations_ns)
        sum->durations_ns += file->duration_ns;
    if (file->time_ns <= 0)
        return PPROF_OK;
    if (file->duration_ns > 0 && file->duration_ns < INT64_MAX - end)
        end += file->duration_ns;
    if (sum->first_ns == 0 || file->time_ns < sum->first_ns)
        sum->first_ns = file->time_ns;
    if (end > sum->last_ns)
        sum->last_ns = end;
    sum->spans[sum->span_count++] = (struct report_span){file->time_ns, end};
    return PPROF_OK;
}

static int compare_spans(const void *a, const void *b)
{
    const struct report_span *x = a, *y = b;

    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

int64_t report_sum_recorded(struct report_sum *sum)
{
    int64_t recorded_ns = 0, until_ns = 0;
    const struct report_span *span;

    if (sum->first_ns == 0)
        return sum->durations_ns;
    qsort(sum->spans, sum->span_count, sizeof(*sum->spans), compare_spans);
    for (span = sum->spans; span < sum->spans + sum->span_count; span++) {
        if (span->end_ns <= until_ns)
            continue;
        recorded_ns += span->end_ns - (span->begin_ns > until_ns ? span->begin_ns : until_ns);
        until_ns = span->end_ns;
    }
    return recorded_ns;
}

/* Says which file has nothing to add. */
static void say_left_out(const struct report_sum *sum, const char *path)
{
    struct buf type;

    buf_init(&type, MESSAGE_MAX);
    report_text(sum->chosen.type, &type);
    buf_add_str(&type, " in ");
    report_text(sum->chosen.unit, &type);
    (void)fprintf(stderr, "pystrobe: %s: left out: it has no %s\n", path, buf_text(&type));
    buf_finish(&type);
}

static bool has_chosen(const struct report_sum *sum, const struct pprof_decoded *file)
{
    for (size_t i = 0; i < file->type_count; i++)
        if (strcmp(file->types[i].type, sum->chosen.type) == 0 &&
            strcmp(file->types[i].unit, sum->chosen.unit) == 0)
            return true;
    return false;
}

static enum pprof_rc add_decoded(struct report_sum *sum, const char *path,
                                 const struct pprof_decoded *file)
{
    const struct pprof_rule rule = {.with = sum->with, .with_count = sum->with_count};
    enum pprof_rc rc = PPROF_OK;

    if (!sum->profile)
        rc = begin_sum(sum, file);
    if (rc != PPROF_OK || !sum->profile)
        return rc;
    if (!has_chosen(sum, file)) {
        say_left_out(sum, path);
        return PPROF_OK;
    }
    sum->file_count++;
    rc = note_time(sum, file);
    return rc == PPROF_OK ? pprof_merge_by(sum->profile, file->profile, &rule) : rc;
}

static enum pprof_rc add_bytes(struct report_sum *sum, const char *path, const struct buf *bytes,
                               struct err *err)
{
    struct pprof_decoded file;
    enum pprof_rc rc = pprof_decode(bytes->data, bytes->size, sum->max_bytes, &file, err);

    if (rc != PPROF_OK)
        return rc;
    rc = add_decoded(sum, path, &file);
    if (rc != PPROF_OK)
        err_set(err, "%s", pprof_rc_text(rc));
    pprof_free(file.profile);
    return rc;
}

static void note_access(struct report_sum *sum, const struct stat *info)
{
    sum->is_others = sum->is_others || info->st_uid != geteuid();
    sum->is_private = sum->is_private || !(info->st_mode & S_IROTH);
}

bool report_sum_add(struct report_sum *sum, const char *path, bool may_go)
{
    struct stat info = {.st_uid = (uid_t)-1};
    struct err err = {""};
    struct buf bytes;
    bool good;

    buf_init(&bytes, FILE_MAX);
    if (report_read(path, &bytes, &info, &err)) {
        note_access(sum, &info);
        good = add_bytes(sum, path, &bytes, &err) == PPROF_OK;
    } else {
        good = may_go && errno == ENOENT;
    }
    buf_finish(&bytes);
    if (!good)
        (void)fprintf(stderr, "pystrobe: %s: %s\n", path, err.text);
    return good;
}

/* What `before` is multiplied by to be of as much recorded time as `after`. */
static double factor_of(struct report_sum *after, struct report_sum *before)
{
    const int64_t after_ns = report_sum_recorded(after), before_ns = report_sum_recorded(before);

    return after_ns > 0 && before_ns > 0 ? (double)after_ns / (double)before_ns : 1;
}

void report_sum_explain_scale(struct report_sum *after, struct report_sum *before, struct buf *out)
{
    const int64_t after_ns = report_sum_recorded(after), before_ns = report_sum_recorded(before);
    const double factor = factor_of(after, before);

    if (after_ns <= 0 || before_ns <= 0)
        buf_add_str(out, "the recorded time is not known: totals are compared");
    else if (factor < 1 - SCALE_SHOWN || factor > 1 + SCALE_SHOWN)
        buf_add_fmt(out,
                    "recorded: %.2fs before, %.2fs after; values before are times %.3g, "
                    "so that rates are compared",
                    (double)before_ns / NS_PER_S, (double)after_ns / NS_PER_S, factor);
}

enum pprof_rc report_sum_difference(struct report_sum *after, struct report_sum *before,
                                    struct pprof **out)
{
    const struct pprof_type types[] = {after->chosen, {"before", after->chosen.unit}};
    struct pprof *profile;
    enum pprof_rc rc = pprof_new(types, 2, after->max_bytes, &profile);

    if (rc != PPROF_OK)
        return rc;
    rc = pprof_merge_value(profile, 0, after->profile, after->type, 1);
    if (rc == PPROF_OK)
        rc = pprof_merge_value(profile, 1, before->profile, before->type, factor_of(after, before));
    if (rc == PPROF_OK)
        *out = profile;
    else
        pprof_free(profile);
    return rc;
}
