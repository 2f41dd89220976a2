/* SPDX-License-Identifier: Apache-2.0 */
/* store_query.c - see store_query.h. */
#include "agent/report/store_query.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/host/clock.h"
#include "agent/host/version.h"
#include "agent/report/files.h"
#include "agent/report/flame_json.h"
#include "agent/report/sum.h"
#include "exporters/store_name.h"

enum { TITLE_MAX = 256 };

/* First every second index, then those between; and within each of the two the same again. */
size_t store_query_index_of_turn(size_t turn, size_t count)
{
    size_t index = 0;

    for (size_t step = 1; count > 1; step *= 2) {
        const size_t half = count - count / 2; /* the indices 0, 2, 4, ... */

        count = turn < half ? half : count / 2;
        index += turn < half ? 0 : step;
        turn -= turn < half ? 0 : half;
    }
    return index;
}

size_t store_query_labels(const struct store_query *query,
                          struct pprof_label out[REPORT_LABELS_MAX])
{
    size_t count = 0;

    if (query->pid)
        out[count++] = (struct pprof_label){.key = "pid", .num = query->pid};
    if (query->label.key)
        out[count++] = query->label;
    return count;
}

/* Says of what there is nothing in profiles that are there. */
static void say_nothing_of(const struct store_query *query, struct err *err)
{
    if (query->label.key)
        err_set(err, "there is no profile with the label %.60s = %.100s", query->label.key,
                query->label.str);
    else
        err_set(err,
                "there is no profile of process %" PRId64
                ": it was not sampled, or [target] split = none",
                query->pid);
}

/* Adds up what a range has. False: there is nothing of it, `err` says why. */
static bool sum_up(const struct store_query *query, struct report_sum *sum, struct buf *out,
                   struct err *err)
{
    struct report_files files = {0};
    size_t i, count;
    bool good = report_files_of_range(query->store, query->folder, query->from_ms, query->to_ms,
                                      &files, err);

    sum->max_bytes = STORE_QUERY_BYTES_MAX;
    sum->with_count = store_query_labels(query, sum->with);
    count = files.count < STORE_QUERY_FILES_MAX ? files.count : STORE_QUERY_FILES_MAX;
    for (i = 0; good && i < count && clock_mono_ns() < query->deadline_ns; i++)
        if (!report_sum_add(
                sum, files.paths[store_query_index_of_turn(i, count) * files.count / count], true))
            continue; /* one that is bad is left out */
    buf_add_fmt(out, "{\"files\":%zu,\"read\":%zu,\"recorded_ms\":%" PRId64 "}", files.count,
                sum->file_count, report_sum_recorded(sum) / (int64_t)NS_PER_MS);
    report_files_finish(&files);
    if (good && sum->profile && (sum->with_count == 0 || pprof_row_count(sum->profile) > 0))
        return true;
    if (good && sum->profile)
        say_nothing_of(query, err);
    else if (good && sum->other.size > 0)
        err_set(err, "%s", buf_text(&sum->other));
    else if (good)
        err_set(err, "there are no profiles in this time range");
    return false;
}

static bool add_stored_graph(const struct store_query *query, struct report_sum *sum,
                             const struct pprof *profile, size_t base, struct buf *out)
{
    char service[STORE_SERVICE_SIZE], title[TITLE_MAX];
    struct format_view view = {.profile = profile,
                               .type = base == FORMAT_NO_BASE ? sum->type : 0,
                               .base = base,
                               .title = title,
                               .time_ns = sum->first_ns,
                               .duration_ns = report_sum_recorded(sum),
                               .period = sum->period};
    const char *name = store_name_read_service(query->folder, service) ? service : query->folder;

    if (query->pid)
        (void)snprintf(title, sizeof(title), "%s, process %" PRId64, name, query->pid);
    else
        (void)snprintf(title, sizeof(title), "%s", name);
    return flame_json(&view, STORE_QUERY_NODES_MAX, out) == PPROF_OK;
}

bool store_query_graph(const struct store_query *query, const char *type, struct buf *out,
                       struct err *err)
{
    struct report_sum sum;
    bool good;

    report_sum_init(&sum, type);
    buf_add_str(out, "{\"after\":");
    good = sum_up(query, &sum, out, err);
    buf_add_str(out, ",");
    if (good && !add_stored_graph(query, &sum, sum.profile, FORMAT_NO_BASE, out)) {
        err_set(err, "the flame graph is too large");
        good = false;
    }
    buf_add_str(out, "}\n");
    report_sum_finish(&sum);
    return good;
}

/* Encodes a sum; its comments say who made it and, as JSON, what was read for it. */
static enum pprof_rc encode_sum(struct report_sum *sum, struct buf *about, struct buf *out)
{
    const char *comments[] = {version_agent, buf_text(about)};
    const struct pprof_meta meta = {.time_ns = sum->first_ns,
                                    .duration_ns = report_sum_recorded(sum),
                                    .period_type = sum->chosen,
                                    .period = sum->period,
                                    .default_type = sum->chosen.type,
                                    .comments = comments,
                                    .comment_count = 2};

    return pprof_encode(sum->profile, &meta, out);
}

bool store_query_profile(const struct store_query *query, const char *type, struct buf *out,
                         struct err *err)
{
    struct report_sum sum;
    struct buf about;
    enum pprof_rc rc;
    bool good;

    buf_init(&about, TITLE_MAX);
    report_sum_init(&sum, type);
    good = sum_up(query, &sum, &about, err);
    if (good) {
        rc = encode_sum(&sum, &about, out);
        good = rc == PPROF_OK;
        if (!good)
            err_set(err, "%s", pprof_rc_text(rc));
    }
    report_sum_finish(&sum);
    buf_finish(&about);
    return good;
}

bool store_query_difference(const struct store_query *before, const struct store_query *after,
                            const char *type, struct buf *out, struct err *err)
{
    struct report_sum sums[2];
    struct pprof *profile = NULL;
    bool good;

    report_sum_init(&sums[0], type);
    report_sum_init(&sums[1], type);
    buf_add_str(out, "{\"before\":");
    good = sum_up(before, &sums[0], out, err);
    buf_add_str(out, ",\"after\":");
    good = good && sum_up(after, &sums[1], out, err);
    buf_add_str(out, ",");
    if (good && (strcmp(sums[0].names[1], sums[1].names[1]) != 0 ||
                 report_sum_difference(&sums[1], &sums[0], &profile) != PPROF_OK ||
                 !add_stored_graph(after, &sums[1], profile, 1, out))) {
        err_set(err, "the two cannot be compared: their units differ, or they are too large");
        good = false;
    }
    buf_add_str(out, "}\n");
    pprof_free(profile);
    report_sum_finish(&sums[0]);
    report_sum_finish(&sums[1]);
    return good;
}
