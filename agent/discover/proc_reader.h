/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_reader.h - reads data of processes that may block the reader, in a child with a deadline:
 *
 *   command line, environment   the kernel waits for the process's mmap_lock
 *   mounts                      the kernel may wait for a disk
 *   memory of a Python          may be mapped from a file on a disk that hangs
 *   names of users              a directory server may not answer
 *
 * A child that is blocked at the deadline is killed, and the next read starts another. An owner
 * (owner.h) whose processes have blocked several reads gets growing pauses (blamed_owners.h). No
 * process of it is read while several killed children are still blocked by its processes.
 *
 * Shape:   proc_reader_new; proc_reader_file and the others; proc_reader_free. In the child:
 *          proc_reader_serve.
 * Threads: one.
 * Source:  the kernel's fs/proc/base.c: cmdline and environ are read as memory of the process,
 *          maps under its mmap_lock; stat, statm, status, cgroup and exe take neither. mountinfo
 *          (fs/proc_namespace.c) takes namespace_sem for up to a page of text, and asks no server
 *          of FUSE or NFS; but Btrfs looks up names of subvolumes on its disk meanwhile
 *          (btrfs_show_options), and a process with many mounts delays all readers of them.
 */
#ifndef AGENT_DISCOVER_PROC_READER_H
#define AGENT_DISCOVER_PROC_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum proc_reader_rc {
    PROC_READER_OK,
    PROC_READER_FAILED,  /* it cannot be read, or does not exist */
    PROC_READER_UNKNOWN, /* no answer in time, no child, or not asked during a pause */
};

enum proc_reader_file {
    PROC_READER_CMDLINE,
    PROC_READER_ENVIRON,
    PROC_READER_MOUNTINFO,
    /* Arguments and environment from a Python's own memory (cpy_read_arguments), which no title
     * overwrites: the arguments, an empty string, the environment. Costs some milliseconds. At most
     * 256 at once and 2 a second on average; beyond that PROC_READER_UNKNOWN: ask again later. */
    PROC_READER_PYTHON,
};

/* Bytes: the most of a file; the most of a user's name, with the final 0 byte. */
enum { PROC_READER_FILE_MAX = 256 << 10, PROC_READER_USER_MAX = 256 };

struct proc_reader;

/* Gives: a reader, ended with proc_reader_free; NULL: out of memory. The first read starts its
 * child: `program` (borrowed; CHILD_PROCESS_SELF, or a test's) with "reader" and our pid. */
MUST_CHECK struct proc_reader *proc_reader_new(const char *program);
void proc_reader_free(struct proc_reader *reader);

/*
 * For the next three functions `reader` may be NULL: they then read here, without a deadline.
 *
 * Cost: a message to the child and back, 20 us; about 0.1 s if the process blocks the child, 1 s if
 *       a directory server does, up to 5 s if the child gets no CPU time.
 */

/* Reads up to size - 1 bytes and appends a 0 byte; on failure `out` is "" and *out_size is 0. */
MUST_CHECK enum proc_reader_rc proc_reader_file(struct proc_reader *reader, pid_t pid,
                                                enum proc_reader_file file, char *out, size_t size,
                                                size_t *out_size);

/* Finds the name of a user. */
MUST_CHECK enum proc_reader_rc proc_reader_user_name(struct proc_reader *reader, uid_t uid,
                                                     char out[PROC_READER_USER_MAX]);

/* Finds the number of the user with that name. */
MUST_CHECK enum proc_reader_rc proc_reader_user_id(struct proc_reader *reader, const char *name,
                                                   uid_t *out);

/* Calls `each` for the running processes that blocked their last read; at most 64 are kept. */
void proc_reader_each_blocker(struct proc_reader *reader, void (*each)(void *ctx, pid_t pid),
                              void *ctx);

/* In the child: answers requests on CHILD_PROCESS_CHANNEL_FD until the channel is closed. */
void proc_reader_serve(void);

#endif
