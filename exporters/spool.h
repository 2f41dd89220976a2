/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - a directory of profiles that wait for their servers: one file each, whole or not there.
 *
 * Shape:   spool_open, spool_list what an earlier run left; spool_write an entry, spool_take it
 *          for a send, spool_let_go, spool_set_owed when an exporter has it; spool_close.
 * Threads: one may write (write, set_owed, set_aside, list); any may take. The caller keeps
 *          what it knows of the directory in its own memory.
 * Needs:   nothing of the clock: `put_ns` and ages are the caller's.
 *
 * An entry is named 0123456789abcdef-0003.profile: its number, which is greater than that of
 * any entry before it, and the exporters that still owe it, a bit for each in the order in which
 * its head names them. An exporter that has the profile is crossed out by a rename, the last
 * one by a removal: a crash leaves the file before or after it, and no payload is written twice.
 *
 * A file is, little-endian:
 *
 *   offset size
 *        0    8  89 50 53 50 4f 4f 4c 0a ("\x89PSPOOL\n")
 *        8    4  version: 1
 *       12    4  size of the head: this table and the strings
 *       16    8  size of the payload, which ends the file
 *       24    4  CRC-32 of the payload, as zlib has it
 *       28    4  CRC-32 of the head with these four bytes as 0
 *       32    8  start of the profile, in ns since 1970, UTC
 *       40    8  its end
 *       48    8  when it was put here
 *       56    4  its form: enum exporter_form
 *       60    2  count of exporters, 1 to 16
 *       62    2  count of labels, up to 256
 *       64       strings: the exporters' names, service, type, then name and value of each label
 *
 * A string is its size (4 bytes) and that many bytes, the last of them 0; size 0: there is none.
 * A program that meets a greater version sets the file aside and does not touch it.
 */
#ifndef EXPORTERS_SPOOL_H
#define EXPORTERS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "exporters/exporter.h"

/* Every outcome: enum name, metric label, text. */
#define SPOOL_OUTCOMES(X)                                         \
    X(OK, "ok", "done")                                           \
    X(CORRUPT, "corrupt", "is no whole profile")                  \
    X(NEWER, "newer", "was written by a newer pystrobe")          \
    X(GONE, "gone", "is there no more")                           \
    X(BUSY, "busy", "is being sent by somebody else")             \
    X(LOCKED, "locked", "belongs to another agent")               \
    X(TOO_LARGE, "too_large", "has no room in one file")          \
    X(FAILED, "failed", "the disk failed; errno and err say how") \
    X(NOMEM, "nomem", "out of memory")

enum spool_rc {
#define SPOOL_ENUM(name, label, text) SPOOL_##name,
    SPOOL_OUTCOMES(SPOOL_ENUM)
#undef SPOOL_ENUM
};

enum {
    SPOOL_VERSION = 1,
    SPOOL_OWERS_MAX = 16,
    SPOOL_LABELS_MAX = 256,
    SPOOL_HEAD_MAX = 64 * 1024,
    SPOOL_PAYLOAD_MAX = 64 << 20,
    SPOOL_LIST_MAX = 64 * 1024, /* entries of a directory that are looked at */
    SPOOL_BAD_MAX = 10,         /* files that are kept in bad/ */
    SPOOL_BAD_BYTES = 4 << 20,  /* that each of them may take on the disk */
    SPOOL_NAME_SIZE = 32
};

/* What stands before the payload. The strings are borrowed. */
struct spool_head {
    const char *owers[SPOOL_OWERS_MAX]; /* the exporters, by name */
    size_t ower_count;
    unsigned form;
    int64_t put_ns;                  /* UTC */
    struct exporter_profile profile; /* decoded: its labels are those below */
    struct label labels[SPOOL_LABELS_MAX];
};

struct spool_name {
    uint64_t order; /* 1 and up */
    uint16_t owed;  /* a bit for each of the head's owers; never 0 */
};

struct spool_item {
    struct spool_name name;
    uint64_t size; /* of the file */
};

/* The entries of a directory, the oldest first. */
struct spool_list {
    struct spool_item *items; /* owned */
    size_t count, capacity;
    size_t bad; /* what had an entry's name and was none: set aside */
};

/* An entry that is being sent. */
struct spool_held {
    int fd;               /* owned: it has the lock */
    unsigned char *bytes; /* owned: the file */
    size_t size;
    struct spool_head head; /* points into `bytes` */
};

struct spool; /* private */

/*
 * Appends the head of a file with head->profile in it, which the payload follows.
 *
 * Errors: SPOOL_TOO_LARGE, SPOOL_NOMEM.
 */
MUST_CHECK enum spool_rc spool_encode(const struct spool_head *head, struct buf *out);

/*
 * Reads a head from the first `size` bytes of a file of `file_size`. With all bytes at hand
 * (size == file_size) the payload is checked too, and is head->profile.bytes.
 *
 * Lends:  the strings, as long as `bytes` are there.
 * Errors: SPOOL_CORRUPT, SPOOL_NEWER; then *out means nothing.
 */
MUST_CHECK enum spool_rc spool_decode(const void *bytes, size_t size, uint64_t file_size,
                                      struct spool_head *out);

/* The file name of an entry. */
void spool_name_write(const struct spool_name *name, char out[SPOOL_NAME_SIZE]);

/* Reads one. False if it is none; then *out is untouched. */
bool spool_name_read(const char *text, struct spool_name *out);

/*
 * Opens a spool. `own`: it is made (0700) if absent, and locked against other agents until
 * spool_close; what a crash left half-written is removed by spool_list.
 *
 * Gives:  *out; untouched on failure.
 * Errors: SPOOL_LOCKED, SPOOL_FAILED, SPOOL_NOMEM; `err` says why, and what to do.
 */
MUST_CHECK enum spool_rc spool_open(const char *path, bool own, struct spool **out,
                                    struct err *err);

/* NULL is fine. */
void spool_close(struct spool *spool);

/* Lets another agent have it: from now on it is only read. NULL is fine. */
void spool_unlock(struct spool *spool);

/* Lists the entries, SPOOL_LIST_MAX at most. Gives: *out, ended with spool_list_finish. */
MUST_CHECK enum spool_rc spool_list(struct spool *spool, struct spool_list *out, struct err *err);
void spool_list_finish(struct spool_list *list);

/*
 * Writes head->profile durably: when it returns, a crash takes nothing away. What it takes on
 * the disk is in *out_size.
 *
 * Errors: SPOOL_TOO_LARGE, SPOOL_NOMEM, SPOOL_FAILED: nothing of it is there.
 */
MUST_CHECK enum spool_rc spool_write(struct spool *spool, const struct spool_name *name,
                                     const struct spool_head *head, uint64_t *out_size,
                                     struct err *err);

/*
 * Reads and checks an entry and locks it: shared, or `alone` against all others. *name is put
 * right if another process has crossed exporters out.
 *
 * Gives:  *out, ended with spool_let_go.
 * Errors: all but SPOOL_LOCKED and SPOOL_TOO_LARGE.
 */
MUST_CHECK enum spool_rc spool_take(struct spool *spool, struct spool_name *name, bool alone,
                                    struct spool_held *out, struct err *err);

/* The same for the head alone: without the payload, its CRC and a lock. */
MUST_CHECK enum spool_rc spool_look(struct spool *spool, const struct spool_name *name,
                                    struct spool_held *out, struct err *err);

void spool_let_go(struct spool_held *held);

/*
 * Crosses exporters out: of those in name->owed only `keep` remain; with none the entry is
 * removed. *name is what it is then. The caller makes it durable with spool_sync.
 *
 * Errors: SPOOL_GONE, SPOOL_FAILED.
 */
MUST_CHECK enum spool_rc spool_set_owed(struct spool *spool, struct spool_name *name, uint16_t keep,
                                        struct err *err);

/*
 * Moves an entry to bad/, where the last SPOOL_BAD_MAX are kept; one that takes more than
 * SPOOL_BAD_BYTES is removed.
 */
void spool_set_aside(struct spool *spool, const struct spool_name *name);

/* Makes renames and removals durable. */
MUST_CHECK enum spool_rc spool_sync(struct spool *spool, struct err *err);

/* The bytes that are free for us on the spool's disk. False: cannot be told. */
MUST_CHECK bool spool_free_bytes(const struct spool *spool, uint64_t *out);

/* The metric label of an outcome, e.g. "corrupt", and its sentence. Never NULL. */
const char *spool_rc_label(enum spool_rc rc);
const char *spool_rc_text(enum spool_rc rc);

#endif
