/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - a directory of batches that wait for their servers: one file each, whole or not there.
 *
 * Shape:   spool_open, spool_list what an earlier run left; spool_write a batch, spool_take it for
 *          a send, spool_let_go, spool_remove when it was delivered; spool_close.
 * Threads: one may write (write, set_aside, list); any may take and remove.
 *
 * A file is named 0123456789abcdef-EXPORTER.batch: a number that is greater than that of any file
 * before it, and the exporter's name. It holds a batch as batch.h describes it. A part of a batch
 * that could not be sent whole has 0123456789abcdef+WHOLE-EXPORTER.batch, WHOLE being the number of
 * the file that has all of it: a crash may leave that one and parts, and then the parts go. Besides
 * there are:
 *
 *   spool.lock  locked by the agent that has the spool; its process id, for a message
 *   lock/       what an older pystrobe (spool_v1.h) would lock: as it is a directory, that one does
 *               not use the spool and touches nothing in it
 *   bad/        the last SPOOL_BAD_MAX files that were no batch
 *
 * Whatever has a batch's name and is none (a link, a fifo, other bytes) goes to bad/; files with
 * other names are left alone. Below the directory no symbolic link is followed.
 */
#ifndef AGENT_DELIVERY_SPOOL_H
#define AGENT_DELIVERY_SPOOL_H

#include "exporters/batch.h"

/* Every outcome: enum name, text. */
#define SPOOL_OUTCOMES(X)                                \
    X(OK, "done")                                        \
    X(CORRUPT, "is no whole batch")                      \
    X(NEWER, "was written by a newer pystrobe")          \
    X(GONE, "is there no more")                          \
    X(BUSY, "is being sent by somebody else")            \
    X(LOCKED, "belongs to another agent")                \
    X(FAILED, "cannot be read or written at the moment") \
    X(NOMEM, "out of memory")

enum spool_rc {
#define SPOOL_ENUM(name, text) SPOOL_##name,
    SPOOL_OUTCOMES(SPOOL_ENUM)
#undef SPOOL_ENUM
};

enum {
    SPOOL_LIST_MAX = 64 * 1024, /* files of a directory that are looked at */
    SPOOL_BAD_MAX = 10,         /* files that are kept in bad/ */
    SPOOL_BAD_BYTES = 4 << 20,  /* that each of them may take on the disk */
    SPOOL_EXPORTER_SIZE = 68,   /* settings allow for 64 letters, digits, "_", "." and "-" */
    SPOOL_FILE_NAME_SIZE = SPOOL_EXPORTER_SIZE + 41
};

struct spool_name {
    uint64_t number;  /* 1 and up */
    uint64_t part_of; /* the number of the file that has this and more; 0: none */
    char exporter[SPOOL_EXPORTER_SIZE];
};

struct spool_item {
    struct spool_name name;
    uint64_t size; /* that it takes on the disk */
};

/* The batches of a directory, the oldest first. */
struct spool_list {
    struct spool_item *items; /* owned */
    size_t count, capacity;
    size_t bad; /* what had a batch's name and was none: set aside */
};

/* A batch that was read. */
struct spool_held {
    int fd;              /* owned: the file, with the lock if there is one */
    struct batch *batch; /* owned */
};

struct spool; /* private */

/*
 * Opens a spool. `own`: it is made (0700) if absent, must belong to us or to root, and is locked
 * against other agents until spool_close. Links of other users are not followed: base/folder.h.
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

/* The directory, for spool_v1.h. Lends it until spool_close. */
int spool_directory(const struct spool *spool);

/*
 * Lists the batches, SPOOL_LIST_MAX at most. A part of one that is there is left out, and removed
 * if the spool is our own. Gives: *out, ended with spool_list_finish.
 */
MUST_CHECK enum spool_rc spool_list(struct spool *spool, struct spool_list *out, struct err *err);
void spool_list_finish(struct spool_list *list);

/* Reads what stands in front of a batch. Errors: CORRUPT, NEWER, GONE, FAILED. */
MUST_CHECK enum spool_rc spool_read_head(struct spool *spool, const struct spool_name *name,
                                         struct batch_head *out, struct err *err);

/*
 * Writes a batch durably: when it returns, a crash takes nothing away. What it takes on the disk
 * is in *out_size.
 *
 * Errors: SPOOL_FAILED: nothing of it is there.
 */
MUST_CHECK enum spool_rc spool_write(struct spool *spool, const struct spool_name *name,
                                     const struct batch *batch, uint64_t *out_size,
                                     struct err *err);

/*
 * Reads and checks a batch; `lock`: and locks it against all others who send or remove it.
 *
 * Gives:  *out, ended with spool_let_go.
 * Errors: CORRUPT, NEWER, GONE, BUSY, FAILED, NOMEM.
 */
MUST_CHECK enum spool_rc spool_take(struct spool *spool, const struct spool_name *name, bool lock,
                                    struct spool_held *out, struct err *err);
void spool_let_go(struct spool_held *held);

/* Removes a file. spool_sync makes that durable. Errors: SPOOL_FAILED. */
MUST_CHECK enum spool_rc spool_remove(struct spool *spool, const struct spool_name *name,
                                      struct err *err);

/* Moves a file to bad/; one that takes more than SPOOL_BAD_BYTES is removed. */
void spool_set_aside(struct spool *spool, const char *file_name);

/* Makes removals durable. */
MUST_CHECK enum spool_rc spool_sync(struct spool *spool, struct err *err);

/* The bytes that are free for us on the spool's disk. False: cannot be told. */
MUST_CHECK bool spool_free_bytes(const struct spool *spool, uint64_t *out);

/* The file name of a batch. */
void spool_file_name(const struct spool_name *name, char out[SPOOL_FILE_NAME_SIZE]);

/* Reads one. False if it is none; then *out is untouched. */
bool spool_file_name_read(const char *text, struct spool_name *out);

/* The sentence of an outcome. Never NULL. */
const char *spool_rc_text(enum spool_rc rc);

#endif
