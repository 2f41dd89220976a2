/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - writes each profile into a file of its own, for cron jobs and hosts without
 * a network. What it has written is anybody's to take away: nothing is remembered but
 * how much there was.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/durable.h"
#include "base/file.h"
#include "base/time_units.h"
#include "exporters/clock_watch.h"
#include "exporters/file_name.h"
#include "exporters/ops.h"

enum {
    SAME_NAME_MAX = 10000, /* files of one name, told apart by their number */
    LIST_MAX = 64 << 20    /* bytes for the list of a directory: half a million files */
};

#define LOOK_EVERY_NS (60 * (int64_t)NS_PER_S)
#define ASIDE         ".pystrobe-" /* what an unfinished file begins with */

struct file {
    char *pattern;         /* owned */
    char *directory;       /* owned */
    unsigned folder_flags; /* how it is opened */
    regex_t matcher;
    bool has_matcher;
    uint64_t max_size_bytes, max_age_ns; /* 0: no limit */
    uint64_t bytes;                      /* of all files, as far as they are known */
    int64_t looked_ns;                   /* when they were counted; 0: not yet */
    struct clock_watch clock;
    int64_t (*since_boot_ns)(void); /* NULL: UTC is taken for that */
};

/* A file that is there. */
struct found {
    const char *name; /* in an arena */
    int64_t written_ns;
    bool ahead;    /* by that it was written in the future */
    uint64_t size; /* 0: it is gone */
};

static void file_close(void *self)
{
    struct file *file = self;

    if (!file)
        return;
    if (file->has_matcher)
        regfree(&file->matcher);
    free(file->pattern);
    free(file->directory);
    free(file);
}

static enum exporter_rc set_directory_error(const struct file *file, const char *what,
                                            struct err *err)
{
    err_set(err, "%s %s: %s", file->directory, what, strerror(errno));
    return errno == ENOMEM ? EXPORTER_NOMEM : EXPORTER_RETRY;
}

static enum exporter_rc
prepare_file_exporter(struct file *file, const struct exporter_settings *settings, struct err *err)
{
    const char *pattern = settings->pattern ? settings->pattern : "";
    const char *wrong = file_name_check(pattern), *last = file_base_name(pattern);
    int dir;

    if (wrong) {
        err_set(err, "pattern: %s", wrong);
        return EXPORTER_BAD_CONFIG;
    }
    file->pattern = strdup(pattern);
    file->directory =
        last - pattern > 1 ? strndup(pattern, (size_t)(last - pattern) - 1) : strdup("/");
    file->has_matcher = file_name_matcher(pattern, &file->matcher);
    if (!file->pattern || !file->directory || !file->has_matcher)
        return EXPORTER_NOMEM;
    dir = folder_open(file->directory, file->folder_flags, err);
    if (dir >= 0) {
        (void)close(dir);
        return EXPORTER_OK;
    }
    if (errno == ENOMEM)
        return EXPORTER_NOMEM;
    return settings->may_wait ? EXPORTER_OK : EXPORTER_RETRY;
}

static enum exporter_rc file_open(const struct exporter_settings *settings, void **out,
                                  struct err *err)
{
    struct file *file = calloc(1, sizeof(*file));
    enum exporter_rc rc;

    if (!file)
        return EXPORTER_NOMEM;
    file->folder_flags = ops_folder_flags(settings);
    file->max_size_bytes = settings->max_size_bytes;
    file->max_age_ns = settings->max_age_ns;
    file->since_boot_ns = settings->since_boot_ns;
    rc = prepare_file_exporter(file, settings, err);
    if (rc == EXPORTER_OK)
        *out = file;
    else
        file_close(file);
    return rc;
}

/* Without {type} in its pattern there is one file with all values. */
static bool file_is_whole(const void *self)
{
    const struct file *file = self;

    return !file_name_has_type(file->pattern);
}

/* Gives a finished file its name if no file has it: 0, or the errno why not. */
static int rename_without_replace(int dir, const char *from, const char *name)
{
    if (renameat2(dir, from, dir, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    if (linkat(dir, from, dir, name, 0) != 0) /* a file system that lacks the flag */
        return errno;
    return unlinkat(dir, from, 0) == 0 ? 0 : errno;
}

/* Gives it the first name of its pattern that is free. */
static enum exporter_rc name_it(const struct file *file, const struct exporter_profile *profile,
                                int dir, const char *from, struct err *err)
{
    char name[FILE_NAME_SIZE];

    for (unsigned number = 1; number <= SAME_NAME_MAX; number++) {
        if (!file_name_write(file->pattern, profile, number, name)) {
            err_set(err, "%s: the name of the file would be longer than 255 bytes", file->pattern);
            return EXPORTER_REFUSED;
        }
        errno = rename_without_replace(dir, from, name);
        if (errno == 0)
            return durable_sync(dir) ? EXPORTER_OK
                                     : set_directory_error(file, "cannot be synced", err);
        if (errno != EEXIST)
            return set_directory_error(file, "cannot take another file", err);
    }
    err_set(err, "%s: there are %d files of this name; put {start} into pattern", file->pattern,
            SAME_NAME_MAX);
    return EXPORTER_REFUSED;
}

static enum exporter_rc write_profile_file(struct file *file,
                                           const struct exporter_profile *profile, int dir,
                                           struct err *err)
{
    const struct durable_part part = {profile->bytes, profile->size};
    char aside[64], whole[64];
    enum exporter_rc rc;
    uint64_t id;

    if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
        return set_directory_error(file, "gets no random number", err);
    (void)snprintf(aside, sizeof(aside), ASIDE "%016llx.tmp", (unsigned long long)id);
    (void)snprintf(whole, sizeof(whole), ASIDE "%016llx.new", (unsigned long long)id);
    if (!durable_write(dir, aside, whole, &part, 1))
        return set_directory_error(file, "cannot be written to", err);
    rc = name_it(file, profile, dir, whole, err);
    if (rc == EXPORTER_OK)
        file->bytes += profile->size;
    else
        (void)unlinkat(dir, whole, 0);
    return rc;
}

/* In the order in which they go where there is no room. */
static int compare_found_files(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->ahead != y->ahead)
        return x->ahead ? -1 : 1;
    if (x->written_ns != y->written_ns)
        return x->written_ns < y->written_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void add_found_file(const struct file *file, int dir, const char *name, struct arena *names,
                           struct buf *list)
{
    struct found found;
    struct stat info;

    if (strncmp(name, ASIDE, sizeof(ASIDE) - 1) == 0)
        durable_remove_leftover(dir, name);
    if (regexec(&file->matcher, name, 0, NULL, 0) != 0 ||
        fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return;
    found.name = arena_strndup(names, name, strlen(name));
    found.written_ns = (int64_t)timespec_to_ns(info.st_mtim);
    found.ahead = found.written_ns > file->clock.real_ns + CLOCK_WATCH_AHEAD_NS;
    found.size = info.st_size > 0 ? (uint64_t)info.st_size : 0;
    if (found.name)
        buf_add(list, &found, sizeof(found));
}

/* Lists the directory; what there is no memory for is passed over, the next look sees it. */
static void list_directory(const struct file *file, int dir, struct arena *names, struct buf *list)
{
    DIR *stream = file_open_dir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const struct dirent *entry;

    while (stream && (entry = readdir(stream)))
        add_found_file(file, dir, entry->d_name, names, list);
    if (stream)
        (void)closedir(stream);
    if (list->size > 0)
        qsort(list->data, list->size / sizeof(struct found), sizeof(struct found),
              compare_found_files);
}

static bool is_file_expired(const struct file *file, const struct found *found, int64_t now_ns)
{
    return file->max_age_ns > 0 && clock_watch_is_steady(&file->clock) &&
           now_ns > found->written_ns && (uint64_t)(now_ns - found->written_ns) > file->max_age_ns;
}

/* Removes files as far as the limits want it; only those that the pattern makes. */
static void remove_old_files(struct file *file, int dir, int64_t now_ns)
{
    struct found *found;
    struct arena names;
    struct buf list;
    uint64_t bytes = 0;
    size_t i, count;

    arena_init(&names, LIST_MAX);
    buf_init(&list, LIST_MAX);
    list_directory(file, dir, &names, &list);
    found = (struct found *)(void *)list.data;
    count = list.size / sizeof(*found);
    for (i = 0; i < count; i++)
        if (!is_file_expired(file, &found[i], now_ns) || unlinkat(dir, found[i].name, 0) != 0)
            bytes += found[i].size;
        else
            found[i].size = 0;
    for (i = 0; i < count && file->max_size_bytes > 0 && bytes > file->max_size_bytes; i++)
        if (found[i].size > 0 && unlinkat(dir, found[i].name, 0) == 0)
            bytes -= found[i].size;
    file->bytes = bytes;
    file->looked_ns = now_ns;
    buf_finish(&list);
    arena_finish(&names);
}

/* A look costs a call a file: it is taken when it is needed, and once a minute. */
static void trim_if_due(struct file *file, int dir, int64_t now_ns)
{
    bool full = file->max_size_bytes > 0 && file->bytes > file->max_size_bytes;
    int64_t since = now_ns - file->looked_ns;

    if (file->max_size_bytes == 0 && file->max_age_ns == 0)
        return;
    if (full || file->looked_ns == 0 || since < 0 || since > LOOK_EVERY_NS)
        remove_old_files(file, dir, now_ns);
}

static enum exporter_rc file_write(void *self, const struct exporter_profile *profile,
                                   int64_t now_ns, struct exporter_answer *answer)
{
    struct file *file = self;
    enum exporter_rc rc;
    int dir;

    dir = folder_open(file->directory, file->folder_flags, &answer->err);
    if (dir < 0)
        return errno == ENOMEM ? EXPORTER_NOMEM : EXPORTER_RETRY;
    rc = write_profile_file(file, profile, dir, &answer->err);
    (void)clock_watch_look(&file->clock, now_ns,
                           file->since_boot_ns ? file->since_boot_ns() : now_ns);
    trim_if_due(file, dir, now_ns);
    (void)close(dir);
    return rc;
}

const struct exporter_ops file_ops = {
    .is_whole = file_is_whole,
    .open = file_open,
    .write = file_write,
    .close = file_close,
};
