/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c - keeps profiles in a directory, bounded by size, age and number.
 *
 * A profile is written aside, made durable, then renamed, so that whoever reads the
 * directory sees whole files only. What a crash left aside is taken away by the
 * next scan: a temporary is locked by the one that writes it, so one that nobody
 * has locked is left over. Several processes may share a directory; each keeps the
 * bounds for what it knows, and looks at the whole again now and then.
 *
 * Below the directory no symbolic link is followed, and nothing is ever removed
 * but files with names that only this file makes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/file.h"
#include "base/time_units.h"
#include "exporters/clock_watch.h"
#include "exporters/ops.h"
#include "exporters/store_index.h"
#include "exporters/store_name.h"

enum {
    FILES_MAX = 512 * 1024, /* 40 bytes of memory each */
    SCAN_EVERY = 256,       /* sends; others may write and remove here too */
    DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC
};

struct store {
    char *path;            /* owned */
    unsigned folder_flags; /* how `path` is opened */
    int root;              /* owned: the directory `path` */
    uint64_t max_size_bytes, max_age_ns;
    struct store_index index; /* owned */
    struct store_index ahead; /* owned: files that are dated in the future */
    struct clock_watch clock;
    int64_t (*since_boot_ns)(void); /* NULL: UTC is taken for that */
    bool doubt;                     /* the indexes may be wrong: scan before they are used */
    size_t shut;                    /* folders and files that are not ours to read or to remove, */
    bool shut_told;                 /* which was said */
    struct err shut_err;            /* the last of them, and why */
    unsigned sends;                 /* since the last scan */
};

/* Every failure of the disk may pass: it fills, is mounted read-only, is put right. */
static enum exporter_rc set_store_error(struct store *store, const char *what, struct err *err)
{
    int cause = errno;

    if (cause == ENOENT)
        store->doubt = true; /* somebody else removes things here */
    err_set(err, "%s: %s: %s", store->path, what, strerror(cause));
    return EXPORTER_RETRY;
}

/* What only its owner can mend must not keep other profiles from being stored. */
static void note_shut(struct store *store, const char *service)
{
    store->shut++;
    err_set(&store->shut_err, "%s: %s", service, strerror(EACCES));
}

/* Opened anew by each scan, as the directory may have been removed and made again. */
static bool open_root(struct store *store, struct err *err)
{
    int root = folder_open(store->path, store->folder_flags, err);

    if (root < 0)
        return false;
    if (store->root >= 0)
        (void)close(store->root);
    store->root = root;
    return true;
}

static int open_service(const struct store *store, const char *service)
{
    return openat(store->root, service, DIR_FLAGS | O_NOFOLLOW);
}

/* 0, or the errno why not. */
static int unlink_in(const struct store *store, const char *service, const char *name)
{
    int dir = open_service(store, service);
    int cause;

    if (dir < 0)
        return errno;
    cause = unlinkat(dir, name, 0) == 0 ? 0 : errno;
    (void)close(dir);
    return cause;
}

/* Removes a file of an index, and its directory if that is empty then. */
static enum exporter_rc remove_store_file(struct store *store, struct store_index *index,
                                          const struct store_entry *oldest, struct err *err)
{
    char service[STORE_SERVICE_SIZE], name[STORE_FILE_SIZE];

    (void)snprintf(service, sizeof(service), "%s", index->services[oldest->service].name);
    store_name_file(&oldest->file, false, name);
    errno = unlink_in(store, service, name);
    if (errno == ENOENT)
        store->doubt = true;
    else if (errno == EACCES)
        note_shut(store, service);
    else if (errno != 0)
        return set_store_error(store, "cannot remove an old profile", err);
    store_index_drop(index, oldest);
    (void)unlinkat(store->root, service, AT_REMOVEDIR); /* fails while there is anything in it */
    return EXPORTER_OK;
}

/*
 * Makes room: what is dated in the future goes first, then the oldest profile of the owner who has
 * most in the store. So nobody takes more from others than an equal share, and room that some leave
 * is there for all. There must be a file.
 */
static enum exporter_rc remove_for_room(struct store *store, struct err *err)
{
    struct store_index *index = store->ahead.count > 0 ? &store->ahead : &store->index;

    return remove_store_file(store, index, store_index_oldest_of_largest(index), err);
}

static enum exporter_rc remember(struct store *store, const char *service,
                                 const struct store_file *file, uint64_t size, struct err *err)
{
    const int64_t latest_ns = store->clock.real_ns + CLOCK_WATCH_AHEAD_NS;
    struct store_index *index =
        store->clock.real_ns != 0 && file->start_ms > latest_ns / (int64_t)NS_PER_MS
            ? &store->ahead
            : &store->index; /* it is not known at the first scan */
    struct store_entry entry = {.file = *file};

    entry.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    if (!store_index_service(index, service, &entry.service) || !store_index_add(index, &entry))
        return EXPORTER_NOMEM;
    return store->index.count + store->ahead.count > FILES_MAX ? remove_for_room(store, err)
                                                               : EXPORTER_OK;
}

static enum exporter_rc visit_file(struct store *store, DIR *dir, const char *service,
                                   const char *name, struct err *err)
{
    struct store_file file;
    struct stat info;

    if (store_name_read_file(name, true, &file))
        durable_remove_leftover(dirfd(dir), name);
    if (!store_name_read_file(name, false, &file) ||
        fstatat(dirfd(dir), name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return EXPORTER_OK;
    return remember(store, service, &file, (uint64_t)info.st_size, err);
}

static enum exporter_rc scan_service(struct store *store, const char *service, struct err *err)
{
    DIR *dir = file_open_dir(open_service(store, service));
    enum exporter_rc rc = EXPORTER_OK;
    const struct dirent *item;

    if (!dir && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return EXPORTER_OK; /* gone, or not made by us */
    if (!dir && errno == EACCES) {
        note_shut(store, service);
        return EXPORTER_OK;
    }
    if (!dir)
        return set_store_error(store, service, err);
    while (rc == EXPORTER_OK && (errno = 0, item = readdir(dir)))
        rc = visit_file(store, dir, service, item->d_name, err);
    if (rc == EXPORTER_OK && errno != 0)
        rc = set_store_error(store, service, err);
    (void)closedir(dir);
    return rc;
}

static enum exporter_rc scan_all(struct store *store, struct err *err)
{
    DIR *dir = file_open_dir(openat(store->root, ".", DIR_FLAGS));
    enum exporter_rc rc = EXPORTER_OK;
    const struct dirent *item;

    if (!dir)
        return set_store_error(store, "cannot be read", err);
    while (rc == EXPORTER_OK && (errno = 0, item = readdir(dir))) {
        if (store_name_is_service(item->d_name))
            rc = scan_service(store, item->d_name, err);
    }
    if (rc == EXPORTER_OK && errno != 0)
        rc = set_store_error(store, "cannot be read", err);
    (void)closedir(dir);
    return rc;
}

/* Makes the index what the directory is. */
static enum exporter_rc scan(struct store *store, struct err *err)
{
    enum exporter_rc rc;

    store->doubt = true;
    if (!open_root(store, err))
        return EXPORTER_RETRY;
    store_index_finish(&store->index);
    store_index_finish(&store->ahead);
    store->doubt = false;
    store->sends = 0;
    store->shut = 0;
    rc = scan_all(store, err);
    if (rc != EXPORTER_OK)
        store->doubt = true;
    return rc;
}

/* True if the path leads elsewhere by now: as when a disk was mounted there. */
static bool has_moved(const struct store *store)
{
    struct stat open_one, named;

    return store->root >= 0 && fstat(store->root, &open_one) == 0 &&
           stat(store->path, &named) == 0 &&
           (open_one.st_dev != named.st_dev || open_one.st_ino != named.st_ino);
}

static void store_close(void *self)
{
    struct store *store = self;

    if (!store)
        return;
    store_index_finish(&store->index);
    store_index_finish(&store->ahead);
    if (store->root >= 0)
        (void)close(store->root);
    free(store->path);
    free(store);
}

static enum exporter_rc store_open(const struct exporter_settings *settings, void **out,
                                   struct err *err)
{
    struct store *store = calloc(1, sizeof(*store));
    enum exporter_rc rc = EXPORTER_NOMEM;

    if (!store)
        return rc;
    *store = (struct store){.root = -1};
    store->folder_flags = ops_folder_flags(settings);
    store->max_size_bytes = settings->max_size_bytes;
    store->max_age_ns = settings->max_age_ns;
    store->since_boot_ns = settings->since_boot_ns;
    store->path = strdup(settings->path ? settings->path : "");
    if (!store->path)
        goto fail;
    rc = store->path[0] != '\0' ? scan(store, err) : EXPORTER_BAD_CONFIG;
    if (store->path[0] == '\0')
        err_set(err, "path: is not set");
    if (rc != EXPORTER_OK && !(rc == EXPORTER_RETRY && settings->may_wait))
        goto fail;
    *out = store;
    return EXPORTER_OK;

fail:
    store_close(store);
    return rc;
}

static bool is_oldest_file_expired(const struct store *store, int64_t now_ns)
{
    const struct store_entry *oldest = store_index_oldest(&store->index);
    uint64_t max_age_ms = store->max_age_ns / NS_PER_MS;
    int64_t now_ms = now_ns / (int64_t)NS_PER_MS;

    return oldest && store->max_age_ns > 0 && clock_watch_is_steady(&store->clock) &&
           now_ms > oldest->file.start_ms &&
           (uint64_t)(now_ms - oldest->file.start_ms) > max_age_ms;
}

static bool is_store_full_for(const struct store *store, size_t more)
{
    const uint64_t max = store->max_size_bytes, bytes = store->index.bytes + store->ahead.bytes;

    return store->index.count + store->ahead.count > 0 && max > 0 &&
           (bytes > max || more > max - bytes);
}

/* Removes what is too old, and what there is no room for beside `size` bytes. */
static enum exporter_rc trim(struct store *store, size_t size, int64_t now_ns, struct err *err)
{
    enum exporter_rc rc = EXPORTER_OK;

    while (rc == EXPORTER_OK && is_oldest_file_expired(store, now_ns))
        rc = remove_store_file(store, &store->index, store_index_oldest(&store->index), err);
    while (rc == EXPORTER_OK && is_store_full_for(store, size))
        rc = remove_for_room(store, err);
    return rc;
}

/* Gives: the open directory of a service, made if it is not there; -1 and errno. */
static int enter_service(const struct store *store, const char *service)
{
    if (durable_make_folder(store->root, service)) {
        if (!durable_sync(store->root))
            return -1;
    } else if (errno != EEXIST) {
        return -1;
    }
    return open_service(store, service);
}

static bool write_store_file(int dir, const struct store_file *file,
                             const struct exporter_profile *profile)
{
    const struct durable_part part = {profile->bytes, profile->size};
    char aside[STORE_FILE_SIZE], name[STORE_FILE_SIZE];

    store_name_file(file, true, aside);
    store_name_file(file, false, name);
    return durable_write(dir, aside, name, &part, 1);
}

static enum exporter_rc store_profile(struct store *store, const struct exporter_profile *profile,
                                      struct err *err)
{
    struct store_file file = {.start_ms = profile->start_ns / (int64_t)NS_PER_MS,
                              .owner = profile->owner};
    char service[STORE_SERVICE_SIZE];
    enum exporter_rc rc = EXPORTER_OK;
    int dir;

    if (getrandom(&file.id, sizeof(file.id), 0) != (ssize_t)sizeof(file.id))
        return set_store_error(store, "no random numbers", err);
    store_name_service(profile->service ? profile->service : "", service);
    dir = enter_service(store, service);
    if (dir < 0)
        return set_store_error(store, service, err);
    if (!write_store_file(dir, &file, profile))
        rc = set_store_error(store, "cannot write a profile", err);
    (void)close(dir);
    if (rc != EXPORTER_OK)
        return rc;
    if (remember(store, service, &file, profile->size, err) != EXPORTER_OK)
        store->doubt = true; /* it is kept all the same */
    return EXPORTER_OK;
}

static enum exporter_rc check_size(const struct store *store,
                                   const struct exporter_profile *profile, struct err *err)
{
    uint64_t max = store->max_size_bytes > 0 ? store->max_size_bytes : UINT32_MAX;

    if (profile->size <= max)
        return EXPORTER_OK;
    err_set(err, "%s: a profile of %zu bytes is more than max_size allows in all", store->path,
            profile->size);
    return EXPORTER_REFUSED;
}

/* Once: it stays so until somebody sees to it. */
static void tell_shut(struct store *store, struct err *note)
{
    if (store->shut == 0 || store->shut_told)
        return;
    err_set(note,
            "%s: %zu of its folders or files cannot be read or removed, and do not count (the "
            "last: %.64s): chown -R --reference=%s %s",
            store->path, store->shut, store->shut_err.text, store->path, store->path);
    store->shut_told = true;
}

static enum exporter_rc store_write(void *self, const struct exporter_profile *profile,
                                    int64_t now_ns, struct exporter_answer *answer)
{
    struct store *store = self;
    struct err *err = &answer->err;
    enum exporter_rc rc = check_size(store, profile, err);

    /* What is in the future is another. */
    store->doubt |= clock_watch_look(&store->clock, now_ns,
                                     store->since_boot_ns ? store->since_boot_ns() : now_ns);
    store->doubt |= has_moved(store);
    if (rc == EXPORTER_OK && (store->doubt || ++store->sends > SCAN_EVERY))
        rc = scan(store, err);
    if (rc == EXPORTER_OK)
        rc = trim(store, profile->size, now_ns, err);
    tell_shut(store, &answer->note);
    return rc == EXPORTER_OK ? store_profile(store, profile, err) : rc;
}

const struct exporter_ops store_ops = {
    .open = store_open,
    .write = store_write,
    .close = store_close,
};
