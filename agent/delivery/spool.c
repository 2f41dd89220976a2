/* SPDX-License-Identifier: Apache-2.0 */
/* spool.c - the only file that touches a spool's directory; see spool.h. */
#include "agent/delivery/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/durable.h"
#include "base/file.h"
#include "base/folder.h"

enum {
    DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
    READ_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
    LOCK_TRIES = 10,
    LOCK_PAUSE_US = 50 * 1000,
    BLOCK_SIZE = 4096, /* what a file takes is a multiple of it */
    STAT_BLOCK = 512,
    NUMBER_DIGITS = 16
};

static const char lock_name[] = "spool.lock";
static const char lock_name_v1[] = "lock";
static const char bad_name[] = "bad";
static const char file_end[] = ".batch";

struct spool {
    char *path;  /* owned */
    int dir;     /* owned */
    int lock;    /* owned: the file that says whose it is; -1: not ours */
    int lock_v1; /* owned: the same of an older version, until it is removed; -1: none */
};

static enum spool_rc set_spool_error(const struct spool *spool, const char *what, struct err *err)
{
    int cause = errno;

    err_set(err, "%s: %s: %s", spool->path, what, strerror(cause));
    errno = cause;
    return SPOOL_FAILED;
}

/* The number in the lock file: who has it. For the message only. */
static long read_owner(int fd)
{
    char text[24] = "";

    return pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;
}

static void write_owner(int fd)
{
    char text[24];
    int size = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)size, 0) < 0)
        errno = 0; /* on a full disk the message of another agent lacks the number */
}

static enum spool_rc set_locked(const struct spool *spool, int fd, struct err *err)
{
    err_set(err,
            "%s: another agent uses this spool (process %ld): end it, or give this one "
            "another directory",
            spool->path, read_owner(fd));
    return SPOOL_LOCKED;
}

/* Opens the lock file, made if it is absent. -1 and errno. */
static int open_lock(const struct spool *spool)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(spool->dir, lock_name, flags | O_CREAT | O_EXCL, 0600);

    if (fd >= 0)
        durable_give(fd, spool->dir);
    else if (errno == EEXIST)
        fd = openat(spool->dir, lock_name, flags);
    return fd;
}

/* The lock file is written to, so it must be no other file by a second name. */
static enum spool_rc check_lock_file(const struct spool *spool, struct err *err)
{
    struct stat info;

    if (spool->lock < 0 || fstat(spool->lock, &info) != 0)
        return set_spool_error(spool, "cannot be locked", err);
    if (S_ISREG(info.st_mode) && info.st_nlink == 1)
        return SPOOL_OK;
    err_set(err, "%s/%s: is not a regular file, or has a second name (a hard link): remove it",
            spool->path, lock_name);
    errno = EPERM;
    return SPOOL_FAILED;
}

static enum spool_rc lock(struct spool *spool, struct err *err)
{
    spool->lock = open_lock(spool);
    if (check_lock_file(spool, err) != SPOOL_OK)
        return SPOOL_FAILED;
    /* One that has just been killed may have children that take a moment to end. */
    for (unsigned i = 0; i < LOCK_TRIES; i++) {
        if (flock(spool->lock, LOCK_EX | LOCK_NB) == 0) {
            write_owner(spool->lock);
            return SPOOL_OK;
        }
        if (errno != EWOULDBLOCK)
            return set_spool_error(spool, "cannot be locked", err);
        (void)usleep(LOCK_PAUSE_US);
    }
    return set_locked(spool, spool->lock, err);
}

/* Keeps agents of older versions out: the file that those lock becomes a directory. */
static enum spool_rc lock_out_v1(struct spool *spool, struct err *err)
{
    int fd = openat(spool->dir, lock_name_v1, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && errno == EISDIR)
        return SPOOL_OK;
    if (fd < 0 && errno != ENOENT)
        return set_spool_error(spool, "cannot be locked", err);
    spool->lock_v1 = fd; /* it stays locked: one that waits for it gets it never */
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
        return set_locked(spool, fd, err);
    if ((fd >= 0 && unlinkat(spool->dir, lock_name_v1, 0) != 0) ||
        !durable_make_folder(spool->dir, lock_name_v1))
        return set_spool_error(spool, "cannot be locked", err);
    return SPOOL_OK;
}

/* Who can write here can make us send what he likes. */
static enum spool_rc check_mode(const struct spool *spool, struct err *err)
{
    struct stat info;

    if (fstat(spool->dir, &info) != 0)
        return set_spool_error(spool, "cannot be read", err);
    if ((info.st_mode & 022) == 0)
        return SPOOL_OK;
    err_set(err, "%s: others may write into it: chmod 700 it, or take another directory",
            spool->path);
    errno = EPERM;
    return SPOOL_FAILED;
}

enum spool_rc spool_open(const char *path, bool own, struct spool **out, struct err *err)
{
    struct spool *spool = calloc(1, sizeof(*spool));
    enum spool_rc rc = SPOOL_NOMEM;

    if (!spool)
        return rc;
    *spool = (struct spool){.path = strdup(path), .dir = -1, .lock = -1, .lock_v1 = -1};
    if (!spool->path)
        goto fail;
    spool->dir = folder_open(path, own ? FOLDER_MAKE | FOLDER_OWN : 0, err);
    rc = spool->dir < 0 ? SPOOL_FAILED : check_mode(spool, err);
    if (rc == SPOOL_OK && own)
        rc = lock(spool, err);
    if (rc == SPOOL_OK && own)
        rc = lock_out_v1(spool, err);
    if (rc != SPOOL_OK)
        goto fail;
    *out = spool;
    return SPOOL_OK;

fail:
    spool_close(spool);
    return rc;
}

void spool_close(struct spool *spool)
{
    if (!spool)
        return;
    spool_unlock(spool);
    if (spool->dir >= 0)
        (void)close(spool->dir);
    free(spool->path);
    free(spool);
}

void spool_unlock(struct spool *spool)
{
    if (!spool || spool->lock < 0)
        return;
    (void)close(spool->lock);
    if (spool->lock_v1 >= 0)
        (void)close(spool->lock_v1);
    spool->lock = spool->lock_v1 = -1;
}

int spool_directory(const struct spool *spool)
{
    return spool->dir;
}

void spool_file_name(const struct spool_name *name, char out[SPOOL_FILE_NAME_SIZE])
{
    char whole[NUMBER_DIGITS + 2] = "";

    if (name->part_of > 0)
        (void)snprintf(whole, sizeof(whole), "+%016" PRIx64, name->part_of);
    (void)snprintf(out, SPOOL_FILE_NAME_SIZE, "%016" PRIx64 "%s-%s%s", name->number, whole,
                   name->exporter, file_end);
}

bool spool_file_name_read(const char *text, struct spool_name *out)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_.-";
    char again[SPOOL_FILE_NAME_SIZE];
    size_t size = strlen(text), start = NUMBER_DIGITS + 1, fixed = start + sizeof(file_end) - 1;
    struct spool_name got = {0};

    if (size > start && text[NUMBER_DIGITS] == '+') {
        got.part_of = strtoull(text + start, NULL, 16);
        start += NUMBER_DIGITS + 1;
        fixed += NUMBER_DIGITS + 1;
    }
    if (size <= fixed || size - fixed >= SPOOL_EXPORTER_SIZE)
        return false;
    got.number = strtoull(text, NULL, 16);
    memcpy(got.exporter, text + start, size - fixed);
    got.exporter[size - fixed] = '\0';
    spool_file_name(&got, again);
    /* The greatest numbers are left out, so that the next one never overflows. */
    if (strcmp(text, again) != 0 || got.number == 0 || got.number > INT64_MAX ||
        got.exporter[strspn(got.exporter, allowed)] != '\0')
        return false;
    *out = got;
    return true;
}

/* Gives: a stream over a directory of the spool; NULL and errno. */
static DIR *open_spool_stream(const struct spool *spool, const char *name)
{
    return file_open_dir(openat(spool->dir, name, DIR_FLAGS | O_NOFOLLOW));
}

static uint64_t rounded(uint64_t size)
{
    return (size + BLOCK_SIZE - 1) / BLOCK_SIZE * BLOCK_SIZE;
}

static bool append_spool_item(struct spool_list *list, const struct spool_item *item)
{
    if (!ARRAY_RESERVE(list->items, list->capacity, list->count + 1))
        return false;
    list->items[list->count++] = *item;
    return true;
}

/* True for ".0123456789abcdef.tmp", which a crash has left. */
static bool is_aside(const char *name)
{
    return name[0] == '.' && strspn(name + 1, "0123456789abcdef") == 16 &&
           strcmp(name + 17, ".tmp") == 0;
}

static enum spool_rc list_spool_file(struct spool *spool, const char *name, struct spool_list *out)
{
    struct spool_item item;
    struct stat info;

    if (spool->lock >= 0 && is_aside(name))
        durable_remove_leftover(spool->dir, name);
    if (!spool_file_name_read(name, &item.name) ||
        fstatat(spool->dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return SPOOL_OK;
    item.size = rounded((uint64_t)info.st_size);
    if (S_ISREG(info.st_mode) && info.st_size <= BATCH_SIZE_MAX)
        return append_spool_item(out, &item) ? SPOOL_OK : SPOOL_NOMEM;
    out->bad++;
    if (spool->lock >= 0)
        spool_set_aside(spool, name);
    return SPOOL_OK;
}

static int by_number(const void *a, const void *b)
{
    const struct spool_item *left = a, *right = b;

    if (left->name.number != right->name.number)
        return left->name.number < right->name.number ? -1 : 1;
    return strcmp(left->name.exporter, right->name.exporter);
}

static bool unlink_batch(const struct spool *spool, const struct spool_name *name)
{
    char text[SPOOL_FILE_NAME_SIZE];

    spool_file_name(name, text);
    return unlinkat(spool->dir, text, 0) == 0 || errno == ENOENT;
}

/* Leaves out parts of a batch that is there as a whole, too, and parts of these. */
static void drop_parts(struct spool *spool, struct spool_list *list)
{
    struct spool_item *items = list->items, whole;
    size_t kept = 0;

    for (size_t i = list->count; i-- > 0;) {
        whole = items[i];
        whole.name.number = whole.name.part_of;
        if (whole.name.number == 0 || !bsearch(&whole, items, i, sizeof(whole), by_number))
            continue;
        if (spool->lock >= 0)
            (void)unlink_batch(spool, &items[i].name); /* or the next run does */
        items[i].name.number = 0;
    }
    for (size_t i = 0; i < list->count; i++)
        if (items[i].name.number > 0)
            items[kept++] = items[i];
    list->count = kept;
}

enum spool_rc spool_list(struct spool *spool, struct spool_list *out, struct err *err)
{
    DIR *dir = open_spool_stream(spool, ".");
    enum spool_rc rc = SPOOL_OK;
    struct spool_list list = {0};
    const struct dirent *item;

    if (!dir)
        return set_spool_error(spool, "cannot be read", err);
    while (rc == SPOOL_OK && list.count < SPOOL_LIST_MAX && (errno = 0, item = readdir(dir)))
        rc = list_spool_file(spool, item->d_name, &list);
    if (rc == SPOOL_OK && list.count < SPOOL_LIST_MAX && errno != 0)
        rc = set_spool_error(spool, "cannot be read", err);
    (void)closedir(dir);
    if (rc != SPOOL_OK) {
        spool_list_finish(&list);
        return rc;
    }
    if (list.count > 0)
        qsort(list.items, list.count, sizeof(list.items[0]), by_number);
    drop_parts(spool, &list);
    *out = list;
    return SPOOL_OK;
}

void spool_list_finish(struct spool_list *list)
{
    free(list->items);
    *list = (struct spool_list){0};
}

enum spool_rc spool_write(struct spool *spool, const struct spool_name *name,
                          const struct batch *batch, uint64_t *out_size, struct err *err)
{
    const struct durable_part part = {batch->bytes, batch->size};
    char aside[SPOOL_FILE_NAME_SIZE], text[SPOOL_FILE_NAME_SIZE];

    (void)snprintf(aside, sizeof(aside), ".%016" PRIx64 ".tmp", name->number);
    spool_file_name(name, text);
    *out_size = rounded(batch->size);
    return durable_write(spool->dir, aside, text, &part, 1)
               ? SPOOL_OK
               : set_spool_error(spool, "cannot write a batch", err);
}

/* What an errno of opening or reading an entry says of it. */
static enum spool_rc judge(const struct spool *spool, struct err *err)
{
    switch (errno) {
    case ELOOP:
    case ENXIO:
    case EISDIR:
    case EIO: /* the disk has lost it */
        err_set(err, "%s", strerror(errno));
        return SPOOL_CORRUPT;
    case ENOENT:
        return SPOOL_GONE;
    default:
        return set_spool_error(spool, "cannot read a batch", err);
    }
}

/* Opens a file. Gives: *fd, and its size. */
static enum spool_rc open_batch(struct spool *spool, const struct spool_name *name, int *out,
                                size_t *size, struct err *err)
{
    char text[SPOOL_FILE_NAME_SIZE];
    struct stat info;
    int fd;

    spool_file_name(name, text);
    fd = openat(spool->dir, text, READ_FLAGS);
    if (fd < 0)
        return judge(spool, err);
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > BATCH_SIZE_MAX) {
        err_set(err, "is not of the size of a batch");
        (void)close(fd);
        return SPOOL_CORRUPT;
    }
    *size = (size_t)info.st_size;
    *out = fd;
    return SPOOL_OK;
}

static enum spool_rc read_batch_bytes(const struct spool *spool, int fd, unsigned char *bytes,
                                      size_t size, struct err *err)
{
    size_t got;

    if (!file_read(fd, bytes, size, &got))
        return judge(spool, err);
    return got == size ? SPOOL_OK : SPOOL_CORRUPT; /* it shrank */
}

static enum spool_rc of_batch_rc(enum batch_rc rc, struct err *err)
{
    static const enum spool_rc codes[] = {
        [BATCH_OK] = SPOOL_OK,
        [BATCH_CORRUPT] = SPOOL_CORRUPT,
        [BATCH_NEWER] = SPOOL_NEWER,
        [BATCH_NOMEM] = SPOOL_NOMEM,
    };

    if (rc != BATCH_OK)
        err_set(err, "%s", spool_rc_text(codes[rc]));
    return codes[rc];
}

enum spool_rc spool_read_head(struct spool *spool, const struct spool_name *name,
                              struct batch_head *out, struct err *err)
{
    unsigned char bytes[BATCH_HEAD_SIZE];
    enum spool_rc rc;
    size_t size;
    int fd;

    rc = open_batch(spool, name, &fd, &size, err);
    if (rc != SPOOL_OK)
        return rc;
    rc = size < sizeof(bytes) ? SPOOL_CORRUPT
                              : read_batch_bytes(spool, fd, bytes, sizeof(bytes), err);
    (void)close(fd);
    return rc == SPOOL_OK ? of_batch_rc(batch_read_head(bytes, size, out), err) : rc;
}

/* Reads all of an open file. */
static enum spool_rc load_batch(const struct spool *spool, int fd, size_t size, struct batch **out,
                                struct err *err)
{
    unsigned char *bytes = malloc(size > 0 ? size : 1);
    enum spool_rc rc = SPOOL_NOMEM;

    if (bytes)
        rc = read_batch_bytes(spool, fd, bytes, size, err);
    if (rc == SPOOL_OK)
        return of_batch_rc(batch_read(bytes, size, out), err);
    free(bytes);
    return rc;
}

enum spool_rc spool_take(struct spool *spool, const struct spool_name *name, bool lock,
                         struct spool_held *out, struct err *err)
{
    enum spool_rc rc;
    struct stat info;
    size_t size;

    rc = open_batch(spool, name, &out->fd, &size, err);
    if (rc != SPOOL_OK)
        return rc;
    if (lock && flock(out->fd, LOCK_EX | LOCK_NB) != 0)
        rc = SPOOL_BUSY;
    else if (fstat(out->fd, &info) != 0 || info.st_nlink == 0)
        rc = SPOOL_GONE;
    if (rc == SPOOL_OK)
        rc = load_batch(spool, out->fd, size, &out->batch, err);
    if (rc != SPOOL_OK)
        (void)close(out->fd);
    return rc;
}

void spool_let_go(struct spool_held *held)
{
    batch_unref(held->batch);
    held->batch = NULL;
    if (held->fd >= 0)
        (void)close(held->fd);
    held->fd = -1;
}

enum spool_rc spool_remove(struct spool *spool, const struct spool_name *name, struct err *err)
{
    return unlink_batch(spool, name) ? SPOOL_OK
                                     : set_spool_error(spool, "cannot remove a batch", err);
}

/* Removes the oldest in bad/ until there is room for one more. */
static void make_room_in_bad(struct spool *spool, int bad)
{
    char oldest[NAME_MAX + 1];
    const struct dirent *item;
    size_t count;
    DIR *dir;

    for (unsigned i = 0; i <= SPOOL_BAD_MAX; i++) {
        dir = open_spool_stream(spool, bad_name);
        oldest[0] = '\0';
        count = 0;
        while (dir && (item = readdir(dir))) {
            if (item->d_name[0] == '.')
                continue;
            count++;
            if (oldest[0] == '\0' || strcmp(item->d_name, oldest) < 0)
                (void)snprintf(oldest, sizeof(oldest), "%s", item->d_name);
        }
        if (dir)
            (void)closedir(dir);
        if (count < SPOOL_BAD_MAX)
            return;
        if (unlinkat(bad, oldest, 0) != 0)
            (void)unlinkat(bad, oldest, AT_REMOVEDIR);
    }
}

void spool_set_aside(struct spool *spool, const char *text)
{
    struct stat info;
    int bad;

    if (fstatat(spool->dir, text, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (info.st_blocks > SPOOL_BAD_BYTES / STAT_BLOCK) { /* it would hold the disk for ever */
        (void)unlinkat(spool->dir, text, 0);
        return;
    }
    if (!durable_make_folder(spool->dir, bad_name) && errno != EEXIST)
        return;
    bad = openat(spool->dir, bad_name, DIR_FLAGS | O_NOFOLLOW);
    if (bad < 0)
        return;
    make_room_in_bad(spool, bad);
    (void)renameat(spool->dir, text, bad, text);
    (void)close(bad);
}

enum spool_rc spool_sync(struct spool *spool, struct err *err)
{
    return durable_sync(spool->dir) ? SPOOL_OK
                                    : set_spool_error(spool, "cannot be made durable", err);
}

bool spool_free_bytes(const struct spool *spool, uint64_t *out)
{
    struct statvfs info;

    if (fstatvfs(spool->dir, &info) != 0)
        return false;
    *out = (uint64_t)info.f_bavail * info.f_frsize;
    return true;
}

const char *spool_rc_text(enum spool_rc rc)
{
    static const char *const texts[] = {
#define SPOOL_TEXT(name, text) text,
        SPOOL_OUTCOMES(SPOOL_TEXT)
#undef SPOOL_TEXT
    };

    return (size_t)rc < sizeof(texts) / sizeof(texts[0]) ? texts[rc] : "unknown";
}
