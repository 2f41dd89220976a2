/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_reader.h - a child process that reads source files for us, with a time limit.
 *
 * A process that is dumped or recorded names the files of its code, so it may name any file. The
 * child opens the file in that process's root and with its rights, so nothing is shown that the
 * process could not read. If the file system does not answer, the child hangs, and the caller goes
 * on without it.
 *
 * Shape:   source_owner_find before the process's memory is read, source_reader_of_owner, or
 *          source_reader_of_folder; source_reader_read for each file; source_reader_end.
 * Threads: a reader belongs to one thread.
 * Trust:   names may be anything. Only regular files are opened for reading. Links do not lead out
 *          of the root.
 */
#ifndef AGENT_DUMP_SOURCE_READER_H
#define AGENT_DUMP_SOURCE_READER_H

#include <stdbool.h>

#include "agent/proc/credentials.h"
#include "agent/proc/program.h"
#include "base/buf.h"
#include "base/time_units.h"

enum { SOURCE_FILE_MAX = 8 << 20 }; /* bytes; a larger file is not read */

/* How long all reads of one reader may take together. */
#define SOURCE_WAIT_NS (5 * NS_PER_S)

/* A process, its rights and its view of the file system: they decide which files it can read. */
struct source_owner {
    struct program program;
    struct credentials credentials;
    char mounts[64], root[256]; /* texts of the links /proc/PID/ns/mnt and root, for comparison */
};

/*
 * Finds the owner of files that process `pid` names. Call it before the process's memory is read:
 * if the process later executes a program of another user, names that it gave before are not read
 * with that user's rights.
 *
 * Gives: false: they cannot be read.
 * Cost:  reads files of /proc that never block.
 */
MUST_CHECK bool source_owner_find(pid_t pid, struct source_owner *out);

/* True if both can read the same files, and see them at the same places. */
MUST_CHECK bool source_owner_same(const struct source_owner *one, const struct source_owner *other);

struct source_reader;

/*
 * Starts a reader of the files that a process can read. It reads nothing if the process has
 * executed another program since source_owner_find, or has other rights or directories.
 *
 * Gives: the reader, ended with source_reader_end; NULL: no child can be started, or out of memory.
 */
MUST_CHECK struct source_reader *source_reader_of_owner(const struct source_owner *owner);

/* Directories whose files are read with our own rights. All is borrowed for the call. */
struct source_folder {
    const char *root;    /* absolute names start here, and may begin with its path */
    const char *working; /* relative names start here, and may not lead out */
    bool python_only;    /* only .py, .pyw, .pyx and .pyi files, by the name after all links */
};

/* Starts a reader of files in these directories. Gives: as source_reader_of_owner. */
MUST_CHECK struct source_reader *source_reader_of_folder(const struct source_folder *folder);

/*
 * Appends a file's bytes.
 *
 * Gives: false: the file cannot be read, is not regular or is too large, or `reader` is NULL, has
 *        failed or has given up; `out` may have a part.
 * Cost:  waits, at most SOURCE_WAIT_NS in all calls together; after that nothing is read.
 */
MUST_CHECK bool source_reader_read(struct source_reader *reader, const char *file, struct buf *out);

/* Last change (st_ctim, UTC) of the file that source_reader_read has read last. Only valid if that
 * returned true. */
int64_t source_reader_changed_ns(const struct source_reader *reader);

/* True if SOURCE_WAIT_NS is used up: the reader has given up. NULL: false. */
bool source_reader_gave_up(const struct source_reader *reader);

/* Prints to stderr that source lines are missing, if `reader` has given up. */
void source_reader_explain(const struct source_reader *reader);

/* Kills the child and frees the reader. NULL is fine. */
void source_reader_end(struct source_reader *reader);

#endif
