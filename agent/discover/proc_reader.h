/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_reader.h - reads in a child process what may not return: command lines and environments,
 * for which the kernel waits for the process's mmap_lock; mounts, for which it may wait for a disk;
 * what a Python keeps in its memory, which may be mapped from such a file; and names of users, for
 * which a directory server is asked.
 *
 * The caller waits up to a deadline. A child that is blocked then is killed, and the next read
 * starts another. The processes of an owner (owner.h) who has blocked several are read ever more
 * rarely, and not at all while children that they block cannot be killed.
 *
 * Shape:   proc_reader_new; proc_reader_file and the others; proc_reader_free. In the child:
 *          proc_reader_serve.
 * Threads: one.
 * Source:  the kernel's fs/proc/base.c: cmdline and environ are read as memory of the process,
 *          maps under its mmap_lock; stat, statm, status, cgroup and exe take neither. mountinfo
 *          (fs/proc_namespace.c) takes namespace_sem for up to a page of text, and asks no server
 *          of FUSE or NFS; but Btrfs looks up names of subvolumes on its disk meanwhile
 *          (btrfs_show_options), and who makes many mounts holds up all who read them.
 */
#ifndef AGENT_DISCOVER_PROC_READER_H
#define AGENT_DISCOVER_PROC_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum proc_reader_rc {
    PROC_READER_OK,
    PROC_READER_FAILED,  /* it cannot be read, or there is none */
    PROC_READER_UNKNOWN, /* no answer in time, or not asked because of earlier ones */
};

enum proc_reader_file {
    PROC_READER_CMDLINE,
    PROC_READER_ENVIRON,
    PROC_READER_MOUNTINFO,
    /* What a Python keeps of the first two (cpy_read_arguments), whatever title it has given
     * itself: the arguments, an empty one, the environment. Costs some milliseconds; of 256
     * processes at once, and of two a second from then on: what is beyond is unknown, and may be
     * asked for again. */
    PROC_READER_PYTHON,
};

enum { PROC_READER_FILE_MAX = 256 << 10, PROC_READER_USER_MAX = 256 };

struct proc_reader;

/* Its child is `program` (CHILD_PROCESS_SELF, or a test) with the arguments "reader" and our pid,
 * started at the first read. Gives: a reader, ended with proc_reader_free; NULL: out of memory. */
MUST_CHECK struct proc_reader *proc_reader_new(const char *program);
void proc_reader_free(struct proc_reader *reader);

/*
 * All that follow: `reader` may be NULL, then it is read here, without a deadline.
 *
 * Cost: a message to the child and back, 20 us; up to 0.1 s if the process blocks it, up to 1 s if
 * a directory server does.
 */

/* Reads up to size - 1 bytes and puts a 0 behind; *out_size is 0 if it fails. */
MUST_CHECK enum proc_reader_rc proc_reader_file(struct proc_reader *reader, pid_t pid,
                                                enum proc_reader_file file, char *out, size_t size,
                                                size_t *out_size);

/* The name of a user. */
MUST_CHECK enum proc_reader_rc proc_reader_user_name(struct proc_reader *reader, uid_t uid,
                                                     char out[PROC_READER_USER_MAX]);

/* The number of a user of that name. */
MUST_CHECK enum proc_reader_rc proc_reader_user_id(struct proc_reader *reader, const char *name,
                                                   uid_t *out);

/* Calls `each` for at most 64 processes whose last read has blocked and that still run. */
void proc_reader_each_blocker(struct proc_reader *reader, void (*each)(void *ctx, pid_t pid),
                              void *ctx);

/* Answers reads that come on the channel of a child process until it is closed. */
void proc_reader_serve(void);

#endif
