/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.c - the only file that touches a spool's directory; see spool.h.
 *
 * Whatever has an entry's name and is none (a link, a fifo, bytes that are no profile) goes to
 * bad/; names that are not an entry's are left alone. Below the directory no symbolic link is
 * followed. An entry is found again by its number when another process has renamed it.
 */
#include "exporters/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

enum {
    DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
    READ_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
    LOOK_SIZE = 4096, /* most heads are shorter */
    LOCK_TRIES = 10,
    LOCK_PAUSE_US = 50 * 1000,
    RENAMES_MAX = 8,   /* tries against another process that renames, too */
    BLOCK_SIZE = 4096, /* what a file takes is a multiple of it */
    STAT_BLOCK = 512,
    ITEM_MAX = SPOOL_HEAD_MAX + SPOOL_PAYLOAD_MAX
};

static const char lock_name[] = "lock";
static const char bad_name[] = "bad";

struct spool {
    char *path; /* owned */
    int dir;    /* owned */
    int lock;   /* owned: the file that says whose it is; -1: not ours */
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

static enum spool_rc lock(struct spool *spool, struct err *err)
{
    spool->lock = openat(spool->dir, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (spool->lock < 0)
        return set_spool_error(spool, "cannot be locked", err);
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
    err_set(err,
            "%s: another agent uses this spool (process %ld): end it, or give this one "
            "another directory",
            spool->path, read_owner(spool->lock));
    return SPOOL_LOCKED;
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
    *spool = (struct spool){.path = strdup(path), .dir = -1, .lock = -1};
    if (!spool->path)
        goto fail;
    if (own && !durable_make_path(path)) {
        rc = set_spool_error(spool, "cannot be made", err);
        goto fail;
    }
    spool->dir = open(path, DIR_FLAGS);
    rc = spool->dir < 0 ? set_spool_error(spool, "cannot be opened", err) : check_mode(spool, err);
    if (rc == SPOOL_OK && own)
        rc = lock(spool, err);
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
    spool->lock = -1;
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

static enum spool_rc list_spool_entry(struct spool *spool, const char *name, struct spool_list *out)
{
    struct spool_item item;
    struct stat info;

    if (spool->lock >= 0 && is_aside(name))
        durable_remove_leftover(spool->dir, name);
    if (!spool_name_read(name, &item.name) ||
        fstatat(spool->dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return SPOOL_OK;
    item.size = rounded((uint64_t)info.st_size);
    if (S_ISREG(info.st_mode) && info.st_size <= ITEM_MAX)
        return append_spool_item(out, &item) ? SPOOL_OK : SPOOL_NOMEM;
    out->bad++;
    if (spool->lock >= 0)
        spool_set_aside(spool, &item.name);
    return SPOOL_OK;
}

static int by_order(const void *a, const void *b)
{
    const struct spool_item *left = a, *right = b;

    if (left->name.order != right->name.order)
        return left->name.order < right->name.order ? -1 : 1;
    return left->name.owed < right->name.owed ? -1 : left->name.owed > right->name.owed;
}

enum spool_rc spool_list(struct spool *spool, struct spool_list *out, struct err *err)
{
    DIR *dir = file_open_dir(openat(spool->dir, ".", DIR_FLAGS));
    enum spool_rc rc = SPOOL_OK;
    struct spool_list list = {0};
    const struct dirent *item;

    if (!dir)
        return set_spool_error(spool, "cannot be read", err);
    while (rc == SPOOL_OK && list.count < SPOOL_LIST_MAX && (errno = 0, item = readdir(dir)))
        rc = list_spool_entry(spool, item->d_name, &list);
    if (rc == SPOOL_OK && list.count < SPOOL_LIST_MAX && errno != 0)
        rc = set_spool_error(spool, "cannot be read", err);
    (void)closedir(dir);
    if (rc != SPOOL_OK) {
        spool_list_finish(&list);
        return rc;
    }
    if (list.count > 0)
        qsort(list.items, list.count, sizeof(list.items[0]), by_order);
    *out = list;
    return SPOOL_OK;
}

void spool_list_finish(struct spool_list *list)
{
    free(list->items);
    *list = (struct spool_list){0};
}

enum spool_rc spool_write(struct spool *spool, const struct spool_name *name,
                          const struct spool_head *head, uint64_t *out_size, struct err *err)
{
    char aside[SPOOL_NAME_SIZE], text[SPOOL_NAME_SIZE];
    struct durable_part parts[2];
    enum spool_rc rc;
    struct buf bytes;

    buf_init(&bytes, SPOOL_HEAD_MAX);
    rc = spool_encode(head, &bytes);
    if (rc == SPOOL_OK) {
        (void)snprintf(aside, sizeof(aside), ".%016" PRIx64 ".tmp", name->order);
        spool_name_write(name, text);
        parts[0] = (struct durable_part){bytes.data, bytes.size};
        parts[1] = (struct durable_part){head->profile.bytes, head->profile.size};
        if (!durable_write(spool->dir, aside, text, parts, 2))
            rc = set_spool_error(spool, "cannot write a profile", err);
        *out_size = rounded(bytes.size + head->profile.size);
    } else {
        err_set(err, "%s: a profile %s", spool->path, spool_rc_text(rc));
    }
    buf_finish(&bytes);
    return rc;
}

/* Finds what an entry is called now. */
static enum spool_rc find_current_name(struct spool *spool, struct spool_name *name,
                                       struct err *err)
{
    DIR *dir = file_open_dir(openat(spool->dir, ".", DIR_FLAGS));
    enum spool_rc rc = SPOOL_GONE;
    const struct dirent *item;
    struct spool_name got;

    if (!dir)
        return set_spool_error(spool, "cannot be read", err);
    while (rc == SPOOL_GONE && (item = readdir(dir))) {
        if (spool_name_read(item->d_name, &got) && got.order == name->order) {
            name->owed = got.owed;
            rc = SPOOL_OK;
        }
    }
    (void)closedir(dir);
    return rc;
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
        return set_spool_error(spool, "cannot read a profile", err);
    }
}

/* Opens an entry by the name that it has. Gives: *fd, and its size. */
static enum spool_rc open_item(struct spool *spool, const struct spool_name *name, int *out,
                               size_t *size, struct err *err)
{
    char text[SPOOL_NAME_SIZE];
    struct stat info;
    int fd;

    spool_name_write(name, text);
    fd = openat(spool->dir, text, READ_FLAGS);
    if (fd < 0)
        return judge(spool, err);
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > ITEM_MAX) {
        err_set(err, "is no file of a profile's size");
        (void)close(fd);
        return SPOOL_CORRUPT;
    }
    *size = (size_t)info.st_size;
    *out = fd;
    return SPOOL_OK;
}

/* Reads the first `size` bytes of the file into held->bytes. */
static enum spool_rc read_bytes(const struct spool *spool, struct spool_held *held, size_t size,
                                struct err *err)
{
    size_t done;

    free(held->bytes);
    held->size = size;
    held->bytes = malloc(size > 0 ? size : 1);
    if (!held->bytes)
        return SPOOL_NOMEM;
    if (!file_read(held->fd, held->bytes, size, &done))
        return judge(spool, err);
    return done == size ? SPOOL_OK : SPOOL_CORRUPT; /* it shrank */
}

/* Reads and decodes the first `size` bytes. */
static enum spool_rc load_and_decode(const struct spool *spool, struct spool_held *held,
                                     size_t size, size_t file_size, struct err *err)
{
    enum spool_rc rc = read_bytes(spool, held, size, err);

    if (rc != SPOOL_OK)
        return rc;
    rc = spool_decode(held->bytes, held->size, file_size, &held->head);
    if (rc != SPOOL_OK)
        err_set(err, "%s", spool_rc_text(rc));
    return rc;
}

/* Keeps what was loaded well, if its name fits its head; else lets it go. */
static enum spool_rc check_loaded_entry(const struct spool_name *name, struct spool_held *held,
                                        enum spool_rc rc)
{
    if (rc == SPOOL_OK && (name->owed >> held->head.ower_count) != 0)
        rc = SPOOL_CORRUPT;
    if (rc != SPOOL_OK)
        spool_let_go(held);
    return rc;
}

/* Opens, whatever it is called by now, and locks. */
static enum spool_rc open_locked(struct spool *spool, struct spool_name *name, int how, int *out,
                                 size_t *size, struct err *err)
{
    struct stat info;
    enum spool_rc rc;

    for (unsigned i = 0; i < RENAMES_MAX; i++) {
        rc = open_item(spool, name, out, size, err);
        if (rc == SPOOL_GONE && find_current_name(spool, name, err) == SPOOL_OK)
            continue;
        if (rc != SPOOL_OK)
            return rc;
        if (flock(*out, how | LOCK_NB) != 0)
            rc = SPOOL_BUSY;
        else if (fstat(*out, &info) != 0 || info.st_nlink == 0)
            rc = SPOOL_GONE;
        if (rc != SPOOL_OK)
            (void)close(*out);
        return rc;
    }
    return SPOOL_GONE;
}

enum spool_rc spool_take(struct spool *spool, struct spool_name *name, bool alone,
                         struct spool_held *out, struct err *err)
{
    enum spool_rc rc;
    size_t size;

    out->bytes = NULL;
    rc = open_locked(spool, name, alone ? LOCK_EX : LOCK_SH, &out->fd, &size, err);
    if (rc != SPOOL_OK)
        return rc;
    return check_loaded_entry(name, out, load_and_decode(spool, out, size, size, err));
}

enum spool_rc spool_look(struct spool *spool, const struct spool_name *name, struct spool_held *out,
                         struct err *err)
{
    enum spool_rc rc;
    size_t size;

    out->bytes = NULL;
    rc = open_item(spool, name, &out->fd, &size, err);
    if (rc != SPOOL_OK)
        return rc;
    rc = load_and_decode(spool, out, size < LOOK_SIZE ? size : LOOK_SIZE, size, err);
    if (rc == SPOOL_CORRUPT && size > LOOK_SIZE) /* a long head, or none */
        rc = load_and_decode(spool, out, size < SPOOL_HEAD_MAX ? size : SPOOL_HEAD_MAX, size, err);
    return check_loaded_entry(name, out, rc);
}

void spool_let_go(struct spool_held *held)
{
    free(held->bytes);
    held->bytes = NULL;
    if (held->fd >= 0)
        (void)close(held->fd);
    held->fd = -1;
}

enum spool_rc spool_set_owed(struct spool *spool, struct spool_name *name, uint16_t keep,
                             struct err *err)
{
    char from[SPOOL_NAME_SIZE], to[SPOOL_NAME_SIZE];
    struct spool_name next;

    for (unsigned i = 0; i < RENAMES_MAX; i++) {
        next = (struct spool_name){name->order, name->owed & keep};
        if (next.owed == name->owed)
            return SPOOL_OK;
        spool_name_write(name, from);
        spool_name_write(&next, to);
        /* Of two processes that rename at once, one finds the old name gone and looks again. */
        if ((next.owed == 0 ? unlinkat(spool->dir, from, 0)
                            : renameat(spool->dir, from, spool->dir, to)) == 0) {
            *name = next;
            return SPOOL_OK;
        }
        if (errno != ENOENT)
            return set_spool_error(spool, "cannot cross out an exporter", err);
        if (find_current_name(spool, name, err) != SPOOL_OK)
            return SPOOL_GONE;
    }
    return SPOOL_GONE;
}

/* Removes the oldest in bad/ until there is room for one more. */
static void make_room_in_bad(struct spool *spool, int bad)
{
    char oldest[SPOOL_NAME_SIZE];
    const struct dirent *item;
    struct spool_name name;
    size_t count;
    DIR *dir;

    for (unsigned i = 0; i <= SPOOL_BAD_MAX; i++) {
        dir = file_open_dir(openat(spool->dir, bad_name, DIR_FLAGS | O_NOFOLLOW));
        oldest[0] = '\0';
        count = 0;
        while (dir && (item = readdir(dir))) {
            if (!spool_name_read(item->d_name, &name))
                continue;
            count++;
            if (oldest[0] == '\0' || strcmp(item->d_name, oldest) < 0)
                (void)snprintf(oldest, sizeof(oldest), "%.31s", item->d_name);
        }
        if (dir)
            (void)closedir(dir);
        if (count < SPOOL_BAD_MAX)
            return;
        if (unlinkat(bad, oldest, 0) != 0)
            (void)unlinkat(bad, oldest, AT_REMOVEDIR);
    }
}

void spool_set_aside(struct spool *spool, const struct spool_name *name)
{
    char text[SPOOL_NAME_SIZE];
    struct stat info;
    int bad;

    spool_name_write(name, text);
    if (fstatat(spool->dir, text, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (info.st_blocks > SPOOL_BAD_BYTES / STAT_BLOCK) { /* it would hold the disk for ever */
        (void)unlinkat(spool->dir, text, 0);
        return;
    }
    (void)mkdirat(spool->dir, bad_name, 0700);
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
