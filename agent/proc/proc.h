/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/proc: knows what /proc says of other processes, and whether we may read their
 * memory. Does not know what a process is profiled for; it never reads memory of a process.
 *
 * proc.h - what /proc says of processes and threads, and of the CPU time they took.
 *
 * Threads: all functions may be called from any thread.
 * Source:  Documentation/filesystems/proc.rst and scheduler/sched-stats.rst of the kernel.
 */
#ifndef AGENT_PROC_PROC_H
#define AGENT_PROC_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/proc_stat.h"

enum { PROC_COMMAND_MAX = 4096 };

/* What tells a process from all others, before and after it. */
struct proc_id {
    pid_t pid;
    uint64_t start; /* clock ticks after boot */
};

static inline bool proc_id_equal(struct proc_id a, struct proc_id b)
{
    return a.pid == b.pid && a.start == b.start;
}

/* True if a process is below that one: its child, a child's child, ... */
MUST_CHECK bool proc_descends(pid_t pid, pid_t from);

/*
 * The children of a process that have not been waited for: up to `max` of them. `all`: those that
 * any of its threads has started; else those of its first thread, to which they go when the one
 * that has started them ends.
 *
 * Gives: how many; 0 also where the kernel does not tell (CONFIG_PROC_CHILDREN).
 * Cost:  3 us a thread.
 */
size_t proc_children(pid_t pid, bool all, pid_t *out, size_t max);

/*
 * True if a process has the very memory of that one, and not a copy: it is a child by vfork, until
 * it executes a program or ends. False also where the kernel does not tell.
 * Needs: the right to read both, and a kernel with kcmp(2).
 */
MUST_CHECK bool proc_has_memory_of(pid_t pid, pid_t other);

/* Puts blanks in place of the 0 bytes between arguments. */
void proc_join_arguments(char *text, size_t size);

/*
 * Reads a file of the process that is empty once its first thread has ended: through one that lives
 * then. As proc_file_read otherwise.
 */
enum proc_rc proc_file_of(pid_t pid, const char *name, char *out, size_t size, size_t *out_size);

/* The command line with a blank between arguments, cut at PROC_COMMAND_MAX; "" if none. */
void proc_command_line(pid_t pid, char out[PROC_COMMAND_MAX]);

/* The path of the executable; "" if it cannot be read. */
void proc_executable(pid_t pid, char out[PROC_COMMAND_MAX]);

/*
 * A number that is another one once the process runs another executable; 0: it is not to be had.
 * The file itself is not asked for anything: it may be on a file system that does not answer.
 * Cost: one system call.
 */
uint64_t proc_exe_mark(pid_t pid);

/* The real user of a process. */
MUST_CHECK enum proc_rc proc_user(pid_t pid, uid_t *out);

/*
 * The clock of the CPU time of a whole process, threads that have ended included; it can be read
 * until the process is reaped. False: it is gone.
 */
MUST_CHECK bool proc_clock(pid_t pid, clockid_t *out);

/* Reads it. False: the process is gone. Cost: one short system call. */
MUST_CHECK bool proc_clock_ns(clockid_t clock, uint64_t *out);

/* The clock ticks after boot now, as in struct proc_stat. */
uint64_t proc_ticks_now(void);

/* How long ago it is that something started, in clock ticks after boot; rounded up to a tick. */
uint64_t proc_age_ns(uint64_t start);

/* How long a thread has lived, to a hundredth of a second, rounded up. */
MUST_CHECK enum proc_rc proc_thread_age(pid_t pid, pid_t tid, uint64_t *out_ns);

/* The open file that the next two read; -1: there is none that tells of this very host. */
int proc_open_running(void);

/* How many threads of the host run or wait for a CPU, the caller among them. False: unknown. */
MUST_CHECK bool proc_running(int fd, unsigned long *out);

/*
 * How many threads there are, and the number that the newest process or thread has got, which is
 * mostly above all others; 0: not known. The namespace of the caller's pids is meant, and those in
 * it. Who is restored with the number that it had before is only counted.
 * Source: the kernel's fs/proc/loadavg.c; a pid is handed out in all namespaces above, too.
 */
struct proc_census {
    unsigned long threads;
    pid_t newest;
};

struct proc_census proc_census(int fd);

/* A number that is another one once a process has mapped more memory, or less. 0: it cannot be
 * read. */
uint64_t proc_mapped(pid_t pid);

/* True if a process has this number, and not just a thread of one; also if it cannot be told for
 * lack of descriptors. Cost: 0.4 us if not, else 1.
 * Needs: Linux 5.3, else none has. */
MUST_CHECK bool proc_is_process(pid_t pid);

#endif
