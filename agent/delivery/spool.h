/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - a directory that keeps batches of profiles until they are delivered, one file per
 * batch. A file is written atomically: after a crash it is complete or absent.
 *
 * Shape:   spool_open. spool_list finds the batches of an earlier run, spool_write stores a new
 *          batch. To deliver a batch, the caller calls spool_take, sends the batch, calls
 *          spool_remove if the server has taken it, and spool_let_go. At the end spool_close.
 * Threads: spool_write, spool_list and spool_unlock must all be called from the same thread:
 *          spool_list may remove a temporary file that another thread's spool_write has just made.
 *          spool_close may be called when no thread uses the spool any more. All other functions
 *          may be called from any thread.
 *
 * A file is named NUMBER-EXPORTER.batch. NUMBER has 16 hex digits; the caller chooses it greater
 * than those of all existing files. EXPORTER is the exporter that has to deliver the batch. batch.h
 * describes the content.
 *
 * If a batch could not be sent as a whole, parts of it are written as batches of their own, named
 * NUMBER+WHOLE-EXPORTER.batch. NUMBER is the number of the part, WHOLE the number of the whole
 * batch. A crash may leave both the whole batch and its parts; spool_list then removes the parts.
 *
 * The directory also contains:
 *
 *   spool.lock  the lock file: locked by the agent that owns the spool; contains the pid of this
 *               agent, for error messages
 *
 *   lock/       an empty directory, which keeps older versions of pystrobe (spool_v1.h) out: they
 *               lock a file of this name, and fail because it is a directory
 *
 *   bad/        the newest SPOOL_BAD_MAX files that cannot be sent: no regular file, damaged
 *               content, or written by a newer version of pystrobe
 *
 * Files with other names are left alone. Below the directory no symbolic link is followed.
 */
#ifndef AGENT_DELIVERY_SPOOL_H
#define AGENT_DELIVERY_SPOOL_H

#include "exporters/batch.h"

/* Every outcome: enum name, text. Most texts complete a sentence about a batch or the spool. */
#define SPOOL_OUTCOMES(X)                                \
    X(OK, "done")                                        \
    X(CORRUPT, "is not a complete batch")                \
    X(NEWER, "was written by a newer pystrobe")          \
    X(GONE, "no longer exists")                          \
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
    SPOOL_LIST_MAX = 64 * 1024, /* batches that one spool_list returns at most */
    SPOOL_BAD_MAX = 10,         /* files that bad/ keeps */
    SPOOL_BAD_BYTES = 4 << 20,  /* most space on disk of one file in bad/ */
    SPOOL_EXPORTER_SIZE = 68,   /* bytes for an exporter's name with a final 0 byte; the settings
                                   allow for 64 letters, digits, "_", "." and "-" */
    /* Bytes for a file name with a final 0 byte: two numbers, "+", "-" and ".batch" take 40. */
    SPOOL_FILE_NAME_SIZE = SPOOL_EXPORTER_SIZE + 41
};

/* What the name of a batch's file says. */
struct spool_name {
    uint64_t number;  /* 1 to INT64_MAX */
    uint64_t part_of; /* number of the file with the whole batch; 0: the batch is not a part */
    char exporter[SPOOL_EXPORTER_SIZE]; /* ends with a 0 byte */
};

struct spool_item {
    struct spool_name name;
    uint64_t size; /* length of the file in bytes, rounded up to 4096 */
};

/* The batches of a spool, the oldest first. */
struct spool_list {
    struct spool_item *items; /* owned */
    size_t count, capacity;
    size_t bad; /* entries with the name of a batch that are no regular file, or are larger than
                   BATCH_SIZE_MAX; if the spool is our own, spool_list has moved them to bad/ */
};

/* A batch that spool_take has read. */
struct spool_held {
    int fd;              /* owned: the open file, locked if spool_take was called with `lock`; -1:
                            no file, because the batch was in memory */
    struct batch *batch; /* owned: one reference */
};

struct spool; /* private */

/*
 * Opens the spool in directory `path`. A symbolic link in `path` is followed only if it belongs to
 * us or to root. A directory that the group or others may write to is refused.
 *
 * With `own`, the spool is our own: the directory is made (mode 0700) if absent, must belong to us
 * or to root, and is locked against other agents until spool_close or spool_unlock. Waits for this
 * lock for 0.5 s at most. Without `own`, the directory must exist; batches may be listed, read and
 * removed while an agent owns the spool.
 *
 * Gives:  *out; untouched on failure.
 * Errors: SPOOL_LOCKED (only with `own`) and SPOOL_FAILED: `err` gives the reason. SPOOL_NOMEM.
 */
MUST_CHECK enum spool_rc spool_open(const char *path, bool own, struct spool **out,
                                    struct err *err);

/* Unlocks and frees the spool; its files stay. NULL is allowed. */
void spool_close(struct spool *spool);

/* Unlocks our own spool, so that another agent can open it. From then on `spool` behaves as if
 * opened without `own`. NULL is allowed. */
void spool_unlock(struct spool *spool);

/* Lends the file descriptor of the directory until spool_close. For spool_v1.h. */
int spool_directory(const struct spool *spool);

/*
 * Lists up to SPOOL_LIST_MAX batches, without reading the files. If there are more, it lists an
 * arbitrary selection, and does not report that. Does not list a part of a batch that is listed as
 * a whole. If the spool is our own, also removes such parts and the unfinished files that a crash
 * has left, and moves the entries that out->bad counts to bad/.
 *
 * Gives:  *out, which the caller ends with spool_list_finish; untouched on failure.
 * Errors: SPOOL_FAILED, SPOOL_NOMEM.
 */
MUST_CHECK enum spool_rc spool_list(struct spool *spool, struct spool_list *out, struct err *err);

/* Frees the items, not the struct. */
void spool_list_finish(struct spool_list *list);

/* Reads only the header of a batch. *out owns nothing. Errors: SPOOL_CORRUPT, SPOOL_NEWER,
 * SPOOL_GONE, SPOOL_FAILED. */
MUST_CHECK enum spool_rc spool_read_head(struct spool *spool, const struct spool_name *name,
                                         struct batch_head *out, struct err *err);

/*
 * Writes a batch to a file and waits until the file is safe on disk. Replaces a file of that name.
 * Call it only if the spool is our own; that is not checked.
 *
 * Gives:  *out_size, the length of the file in bytes, rounded up to 4096.
 * Errors: SPOOL_FAILED. An older file of that name is then either unchanged or removed.
 */
MUST_CHECK enum spool_rc spool_write(struct spool *spool, const struct spool_name *name,
                                     const struct batch *batch, uint64_t *out_size,
                                     struct err *err);

/*
 * Reads and checks a batch. With `lock`, also locks its file, so that no other spool_take with
 * `lock` gets the batch, in this or another process.
 *
 * Gives:  *out, which the caller ends with spool_let_go. On failure, *out has no valid content.
 * Errors: SPOOL_CORRUPT and SPOOL_NEWER: the caller should call spool_set_aside. SPOOL_BUSY: the
 *         file is locked. SPOOL_GONE, SPOOL_FAILED, SPOOL_NOMEM.
 */
MUST_CHECK enum spool_rc spool_take(struct spool *spool, const struct spool_name *name, bool lock,
                                    struct spool_held *out, struct err *err);

/* Drops the reference to the batch, and unlocks and closes its file. The file stays. */
void spool_let_go(struct spool_held *held);

/* Removes the file of a batch, locked or not. It is no error if the file is gone already. A crash
 * before the next spool_sync may bring the file back. Errors: SPOOL_FAILED. */
MUST_CHECK enum spool_rc spool_remove(struct spool *spool, const struct spool_name *name,
                                      struct err *err);

/* Moves a file to bad/, or removes it if it takes more than SPOOL_BAD_BYTES on disk. If bad/ is
 * full, removes its oldest file first. If the move fails, the file stays where it is. Works without
 * `own`, too. */
void spool_set_aside(struct spool *spool, const char *file_name);

/* Waits until all removals are safe on disk. Errors: SPOOL_FAILED. */
MUST_CHECK enum spool_rc spool_sync(struct spool *spool, struct err *err);

/* Gives the free bytes that our user may use on the spool's file system. False if not known; *out
 * is untouched then. */
MUST_CHECK bool spool_free_bytes(const struct spool *spool, uint64_t *out);

/* Writes the file name of a batch. */
void spool_file_name(const struct spool_name *name, char out[SPOOL_FILE_NAME_SIZE]);

/* Parses a file name. False if it is not the name of a batch; *out is untouched then. */
bool spool_file_name_read(const char *text, struct spool_name *out);

/* The text of an outcome, for errors without a text in `err`. Static, never NULL. */
const char *spool_rc_text(enum spool_rc rc);

#endif
