/* SPDX-License-Identifier: Apache-2.0 */
/* store_times.c - which services a store has, and how much each of their profiles counts. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/host/clock.h"
#include "agent/host/escape.h"
#include "agent/report/files.h"
#include "agent/report/store_query.h"
#include "base/denied.h"
#include "base/json.h"
#include "exporters/store_name.h"
#include "pprof/pprof.h"

enum { FILE_BYTES_MAX = 16 << 20, PATH_SIZE = 4096, SERVICES_MAX = 10000 };

/* What is in one folder. */
struct folder {
    size_t files;
    uint64_t bytes;
    int64_t first_ms, last_ms;
};

static void note_file(struct folder *folder, int dir, const char *name)
{
    struct store_file file;
    struct stat stat;

    if (!store_name_read_file(name, false, &file) ||
        fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (folder->files == 0 || file.start_ms < folder->first_ms)
        folder->first_ms = file.start_ms;
    if (folder->files == 0 || file.start_ms > folder->last_ms)
        folder->last_ms = file.start_ms;
    folder->files++;
    folder->bytes += (uint64_t)stat.st_size;
}

static void add_folder(const char *store, const char *name, struct buf *out, size_t *count)
{
    struct folder folder = {.files = 0};
    char path[PATH_SIZE], service[STORE_SERVICE_SIZE];
    const struct dirent *entry;
    DIR *dir;

    if (snprintf(path, sizeof(path), "%s/%s", store, name) >= (int)sizeof(path))
        return;
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        note_file(&folder, dirfd(dir), entry->d_name);
    if (dir)
        (void)closedir(dir);
    if (folder.files == 0)
        return;
    buf_add_fmt(out, "%s\n{\"folder\": ", (*count)++ ? "," : "");
    json_string(out, name); /* plain ASCII: see store_name.h */
    escape_json(out, ", \"service\": ", store_name_read_service(name, service) ? service : NULL);
    buf_add_fmt(out,
                ", \"profiles\": %zu, \"bytes\": %" PRIu64 ", \"first_ms\": %" PRId64
                ", \"last_ms\": %" PRId64 "}",
                folder.files, folder.bytes, folder.first_ms, folder.last_ms);
}

bool store_query_services(const char *store, struct buf *out, struct err *err)
{
    DIR *dir = opendir(store);
    const struct dirent *entry;
    char text[DENIED_TEXT_MAX];
    size_t count = 0;

    if (!dir && errno != ENOENT) {
        err_set(err, "%s: %s", store, denied_text(store, errno, text));
        return false;
    }
    buf_add_str(out, "{\"services\": [");
    while (dir && count < SERVICES_MAX && (entry = readdir(dir)))
        if (store_name_is_service(entry->d_name))
            add_folder(store, entry->d_name, out, &count);
    if (dir)
        (void)closedir(dir);
    buf_add_str(out, "]}\n");
    return true;
}

/* The types that the first profile has; all others are shown by these. */
struct line {
    struct buf *out; /* borrowed */
    char names[PPROF_TYPES_MAX][2][64];
    size_t type_count, points;
};

static void take_types(struct line *line, const struct pprof_decoded *file)
{
    for (size_t i = 0; i < file->type_count; i++) {
        (void)snprintf(line->names[i][0], sizeof(line->names[i][0]), "%s", file->types[i].type);
        (void)snprintf(line->names[i][1], sizeof(line->names[i][1]), "%s", file->types[i].unit);
    }
    line->type_count = file->type_count;
}

/* `profile` has the types of the file. */
static int64_t find_decoded_total(const struct pprof_decoded *file, const struct pprof *profile,
                                  const char *type)
{
    for (size_t i = 0; i < file->type_count; i++)
        if (strcmp(file->types[i].type, type) == 0)
            return pprof_total(profile, i);
    return 0;
}

static void add_point(struct line *line, const struct pprof_decoded *file,
                      const struct pprof *profile)
{
    if (line->type_count == 0)
        take_types(line, file);
    buf_add_fmt(line->out, "%s[%" PRId64 ",%" PRId64, line->points++ ? "," : "",
                file->time_ns / (int64_t)NS_PER_MS, file->duration_ns / (int64_t)NS_PER_MS);
    for (size_t i = 0; i < line->type_count; i++)
        buf_add_fmt(line->out, ",%" PRId64, find_decoded_total(file, profile, line->names[i][0]));
    buf_add_str(line->out, "]");
}

/* The same of what has labels. */
static void add_labelled_point(struct line *line, const struct pprof_decoded *file,
                               const struct pprof_rule *rule)
{
    struct pprof *own;

    if (pprof_new(file->types, file->type_count, STORE_QUERY_BYTES_MAX, &own) != PPROF_OK)
        return;
    if (pprof_merge_by(own, file->profile, rule) == PPROF_OK)
        add_point(line, file, own);
    pprof_free(own);
}

/* One that cannot be read, or is gone, is left out. */
static void add_file(struct line *line, const char *path, const struct pprof_rule *rule)
{
    struct pprof_decoded file;
    struct err err;
    struct buf bytes;

    buf_init(&bytes, FILE_BYTES_MAX);
    if (report_read(path, &bytes, NULL, &err) &&
        pprof_decode(bytes.data, bytes.size, STORE_QUERY_BYTES_MAX, &file, &err) == PPROF_OK) {
        if (rule->with_count)
            add_labelled_point(line, &file, rule);
        else
            add_point(line, &file, file.profile);
        pprof_free(file.profile);
    }
    buf_finish(&bytes);
}

bool store_query_timeline(const struct store_query *query, struct buf *out, struct err *err)
{
    struct line line = {.out = out};
    struct report_files files = {0};
    struct pprof_label with[REPORT_LABELS_MAX];
    const struct pprof_rule rule = {.with = with, .with_count = store_query_labels(query, with)};
    size_t i, count, read = 0;

    if (!report_files_of_range(query->store, query->folder, query->from_ms, query->to_ms, &files,
                               err)) {
        report_files_finish(&files);
        return false;
    }
    count = files.count < STORE_QUERY_POINTS_MAX ? files.count : STORE_QUERY_POINTS_MAX;
    buf_add_fmt(out, "{\"files\":%zu,\"points\":[", files.count);
    for (i = 0; i < count && clock_mono_ns() < query->deadline_ns; i++, read++)
        add_file(&line, files.paths[store_query_index_of_turn(i, count) * files.count / count],
                 &rule);
    buf_add_fmt(out, "],\"read\":%zu,\"types\":[", read);
    for (i = 0; i < line.type_count; i++) {
        escape_json(out, i ? ",[" : "[", line.names[i][0]);
        escape_json(out, ",", line.names[i][1]);
        buf_add_str(out, "]");
    }
    buf_add_str(out, "]}\n");
    report_files_finish(&files);
    return true;
}
