/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_reader.h - a child process that reads source files for us, with a time limit.
 *
 * A process that is dumped or recorded says which file its code is from, so it may name anything.
 * The child opens the file in that process's root and with its rights, so nothing is shown that the
 * process could not read. The file may lie on a file system that does not answer: then the child
 * hangs, and we go on without it.
 *
 * Shape:   source_owner_find before the process's memory is read, source_reader_of_owner, or
 *          source_reader_of_folder; source_reader_read for each file; source_reader_end.
 * Threads: a reader belongs to one thread.
 * Trust:   names may be anything; what is no regular file is never opened for reading. Links do not
 *          lead out of the root.
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

/* What decides which files a process can read. */
struct source_owner {
    struct program program;
    struct credentials credentials;
    char mounts[64], root[256]; /* links of /proc, to be compared only */
};

/*
 * Finds these. Do it before the process's memory is read: if the process executes a program of
 * another user later, names that it gave before are not read with that user's rights.
 *
 * Gives: false: they cannot be read.
 * Cost:  reads files of /proc that never block.
 */
MUST_CHECK bool source_owner_find(pid_t pid, struct source_owner *out);

/* True if both can read the same files, and see them at the same places. */
MUST_CHECK bool source_owner_same(const struct source_owner *one, const struct source_owner *other);

struct source_reader;

/*
 * Starts a reader of what a process can read. It reads nothing if the process runs another program
 * by then, because its directories may be others.
 *
 * Gives: the reader, ended with source_reader_end; NULL: no child can be started, or out of memory.
 */
MUST_CHECK struct source_reader *source_reader_of_owner(const struct source_owner *owner);

/* Files that are read with our own rights. All is borrowed for the call. */
struct source_folder {
    const char *root;    /* absolute names start here, and may begin with its path */
    const char *working; /* relative names start here, and may not lead out */
    bool python_only;    /* only files whose real name (of no link) is that of a Python source */
};

/* Starts a reader of these. Gives: as above. */
MUST_CHECK struct source_reader *source_reader_of_folder(const struct source_folder *folder);

/*
 * Appends a file's bytes.
 *
 * Gives: false: it cannot be read, is no regular file or too large, or `reader` has given up or is
 *        NULL; `out` may have a part.
 * Cost:  waits, at most SOURCE_WAIT_NS in all calls together; after that nothing is read.
 */
MUST_CHECK bool source_reader_read(struct source_reader *reader, const char *file, struct buf *out);

/* When the file that was read last (true) was changed: content, owner, mode or links; ns, UTC. */
int64_t source_reader_changed_ns(const struct source_reader *reader);

/* True if SOURCE_WAIT_NS were used up. NULL: false. */
bool source_reader_gave_up(const struct source_reader *reader);

/* Says on the standard error that source lines are missing, if `reader` has given up. */
void source_reader_explain(const struct source_reader *reader);

/* Ends it. NULL is fine. */
void source_reader_end(struct source_reader *reader);

#endif
