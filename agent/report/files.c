/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - see files.h. */
#include "agent/report/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/denied.h"
#include "base/file.h"
#include "base/time_units.h"
#include "exporters/store_name.h"

enum { SERVICE_SIZE = 256 };

static bool add_report_path(struct report_files *files, const char *path, struct err *err)
{
    if (files->count >= REPORT_FILES_MAX) {
        err_set(err, "more than %d files: choose some with --service or --since", REPORT_FILES_MAX);
        return false;
    }
    if (!ARRAY_RESERVE(files->paths, files->capacity, files->count + 1) ||
        !(files->paths[files->count] = strdup(path))) {
        err_set(err, "out of memory");
        return false;
    }
    files->count++;
    return true;
}

static bool is_profile(const char *name)
{
    static const char ending[] = ".pb.gz";
    size_t size = strlen(name);

    return name[0] != '.' && size > sizeof(ending) - 1 &&
           strcmp(name + size - (sizeof(ending) - 1), ending) == 0;
}

/* A name in a store begins with the start of the profile. */
static bool is_wanted(const struct report_files *files, const char *name)
{
    return strcmp(name, files->since) >= 0 &&
           (files->until[0] == '\0' || strcmp(name, files->until) < 0);
}

/* Names a folder that could not be opened, so that the others are listed. False: it was not that;
 * `before` is how many there were before. */
static bool pass_over(const struct report_files *files, size_t before, const struct err *err)
{
    if (files->unreadable > before)
        (void)fprintf(stderr, "pystrobe: left out: %s\n", err->text);
    return files->unreadable > before;
}

/* Calls itself once for the folders below: a store has two levels. */
static bool list_profile_files(const char *path, bool services, struct report_files *files,
                               struct err *err)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    char below[4096], text[DENIED_TEXT_MAX];
    int cause;
    bool good = true;
    size_t unreadable;

    if (!dir) {
        cause = errno;
        err_set(err, "%s: %s", path, denied_text(path, cause, text));
        errno = cause;
        files->unreadable += errno == ENOENT ? 0 : 1;
        return !services && errno == ENOENT; /* the store lets go of empty folders */
    }
    while (good && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >= (int)sizeof(below))
            continue; /* no file of a store is named so */
        unreadable = files->unreadable;
        if (is_profile(entry->d_name))
            good = !is_wanted(files, entry->d_name) || add_report_path(files, below, err);
        else if (services && entry->d_type != DT_REG && entry->d_type != DT_LNK)
            good =
                list_profile_files(below, false, files, err) || pass_over(files, unreadable, err);
    }
    (void)closedir(dir);
    return good;
}

static int compare_file_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The store's name for a service's folder: what is not plain is %XX, and a '.' in front is. */
static bool service_folder(const char *service, char out[SERVICE_SIZE])
{
    size_t used = 0;
    const char *c;

    for (c = service; *c && used + 4 <= SERVICE_SIZE; c++) {
        bool plain = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= 'a' && *c <= 'z') || *c == '-' || *c == '_' ||
                     (*c == '.' && c != service);

        used += (size_t)snprintf(out + used, SERVICE_SIZE - used, plain ? "%c" : "%%%02X",
                                 plain ? *c : (unsigned char)*c);
    }
    return *c == '\0' && used > 0;
}

/* A file's name in the store begins with its start: what sorts before is older. */
static void set_since(struct report_files *files, int64_t since_ns)
{
    time_t seconds = (time_t)(since_ns / (int64_t)NS_PER_S);
    struct tm tm;

    files->since[0] = '\0';
    if (since_ns > 0 && gmtime_r(&seconds, &tm) &&
        strftime(files->since, sizeof(files->since), "%Y%m%dT%H%M%S", &tm) == 0)
        files->since[0] = '\0';
}

bool report_files_of_store(const char *store, const char *service, int64_t since_ns,
                           struct report_files *files, struct err *err)
{
    char folder[SERVICE_SIZE], path[4096];
    bool good;

    set_since(files, since_ns);
    if (service && !service_folder(service, folder)) {
        err_set(err, "'%s' cannot be the name of a service", service);
        return false;
    }
    if (service && snprintf(path, sizeof(path), "%s/%s", store, folder) >= (int)sizeof(path)) {
        err_set(err, "%s: the path is too long", store);
        return false;
    }
    good = service ? list_profile_files(path, false, files, err)
                   : list_profile_files(store, true, files, err);
    if (good && files->count)
        qsort(files->paths, files->count, sizeof(*files->paths), compare_file_paths);
    return good;
}

bool report_files_of_range(const char *store, const char *folder, int64_t from_ms, int64_t to_ms,
                           struct report_files *files, struct err *err)
{
    const struct store_file from = {.start_ms = from_ms}, to = {.start_ms = to_ms};
    char path[4096];

    if (!store_name_is_service(folder) ||
        snprintf(path, sizeof(path), "%s/%s", store, folder) >= (int)sizeof(path)) {
        err_set(err, "'%s' cannot be the folder of a service", folder);
        return false;
    }
    store_name_file(&from, false, files->since);
    store_name_file(&to, false, files->until);
    if (!list_profile_files(path, false, files, err))
        return false;
    if (files->count)
        qsort(files->paths, files->count, sizeof(*files->paths), compare_file_paths);
    return true;
}

void report_files_finish(struct report_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct report_files){0};
}

static bool read_profile_bytes(int fd, struct buf *out, struct err *err)
{
    if (file_read_all(fd, out))
        return true;
    if (errno == EFBIG)
        err_set(err, "larger than %zu bytes", out->max);
    else
        err_set(err, "%s", strerror(errno));
    return false;
}

bool report_read(const char *path, struct buf *out, struct stat *info, struct err *err)
{
    const bool is_input = strcmp(path, "-") == 0;
    int fd = is_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                      : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int saved = errno;
    char text[DENIED_TEXT_MAX];
    struct stat stat;
    bool good = false, known;

    if (fd < 0) {
        err_set(err, "%s", denied_text(path, saved, text));
        errno = saved;
        return false;
    }
    known = fstat(fd, &stat) == 0;
    if (known && info)
        *info = stat;
    if (known && S_ISDIR(stat.st_mode))
        err_set(err, "a directory: report --store %.200s shows the profiles of a store", path);
    else if (known && !is_input && !S_ISREG(stat.st_mode))
        err_set(err, "not a regular file: give a pipe as the standard input, and - as FILE");
    else if (is_input && isatty(fd))
        err_set(err, "the standard input is a terminal: give a profile there, as with < FILE");
    else
        good = read_profile_bytes(fd, out, err);
    saved = good ? 0 : EIO;
    (void)close(fd);
    errno = saved;
    return good;
}
