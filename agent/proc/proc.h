/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/proc: knows what /proc says of other processes, and whether we may read their
 * memory. Knows nothing of profiling, and never reads memory of a process.
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

enum { PROC_COMMAND_MAX = 4096 }; /* bytes of a command line or a path, with the final 0 byte */

/* Identifies a process, also if an earlier or a later process has the same pid. */
struct proc_id {
    pid_t pid;
    uint64_t start; /* clock ticks (10 ms) after boot: proc_stat.start */
};

/* True if both are the same process. */
static inline bool proc_id_equal(struct proc_id a, struct proc_id b)
{
    return a.pid == b.pid && a.start == b.start;
}

/* True if `pid` is a child of `ancestor`, or a child of a child, and so on. False if both are the
 * same, or if /proc cannot be read. Cost: reads one file per generation, 256 at most. */
MUST_CHECK bool proc_descends(pid_t pid, pid_t ancestor);

/*
 * Writes the pids of the children of `pid` to `out`, at most `max`. Zombies are among them.
 *
 * With `all_threads`, these are the children of all threads of the process. Otherwise they are the
 * children of the first thread alone. When another thread ends, the kernel makes its children
 * children of the first thread.
 *
 * Gives: how many pids were written; 0 also if the kernel lacks CONFIG_PROC_CHILDREN.
 * Cost:  3 us per thread that is asked.
 */
size_t proc_children(pid_t pid, bool all_threads, pid_t *out, size_t max);

/*
 * True if `pid` and `other` share one address space, as a child made by vfork does with its parent
 * until the child executes a program or ends. False also if the kernel does not tell.
 *
 * Needs: the right to read both processes, and a kernel with kcmp(2).
 */
MUST_CHECK bool proc_shares_memory(pid_t pid, pid_t other);

/* Replaces the 0 bytes between arguments by blanks, in place. `size` includes the 0 byte at the
 * end, which stays. */
void proc_join_arguments(char *text, size_t size);

/*
 * Reads the file /proc/PID/`name`. The kernel shows some of these files as empty when the first
 * thread of a process has ended; then this function reads the file through a thread that still
 * runs. Reads up to `size` - 1 bytes and puts a 0 behind them; *out_size (not NULL) is their
 * number. On failure *out_size is 0 and `out` is "".
 */
enum proc_rc proc_file_read_living(pid_t pid, const char *name, char *out, size_t size,
                                   size_t *out_size);

/* Writes the command line with blanks between the arguments, cut to PROC_COMMAND_MAX; "" if the
 * process has none or it cannot be read. May block: see command_line.h. */
void proc_command_line(pid_t pid, char out[PROC_COMMAND_MAX]);

/* Writes the path of the executable; "" if it cannot be read. */
void proc_executable(pid_t pid, char out[PROC_COMMAND_MAX]);

/*
 * Returns a hash of the path of the executable. The hash changes when the process executes another
 * file; 0 if the path cannot be read. Does not access the executable, whose file system may hang.
 *
 * Cost: one system call.
 */
uint64_t proc_exe_mark(pid_t pid);

/* Gives the real user id of a process; *out is untouched on failure. */
MUST_CHECK enum proc_rc proc_user(pid_t pid, uid_t *out);

/*
 * Gives the clock that counts the CPU time of a whole process, including threads that have ended.
 * The clock can be read until the process is reaped. False if the process is gone.
 */
MUST_CHECK bool proc_clock(pid_t pid, clockid_t *out);

/* Reads a clock of proc_clock: the CPU time of its process, in ns. False if the process is gone.
 * Cost: one short system call. */
MUST_CHECK bool proc_clock_ns(clockid_t clock, uint64_t *out);

/* The time now in clock ticks after boot, to be compared with proc_stat.start. */
uint64_t proc_ticks_now(void);

/* Converts a start time in clock ticks after boot (proc_stat.start) to the age in ns. The age may
 * be up to one tick (10 ms) too great. */
uint64_t proc_age_ns(uint64_t start_ticks);

/* Gives the age of a thread in ns, up to one tick (10 ms) too great; *out_ns is untouched on
 * failure. */
MUST_CHECK enum proc_rc proc_thread_age(pid_t pid, pid_t tid, uint64_t *out_ns);

/* Opens /proc/loadavg for proc_running and proc_census. The caller closes the descriptor. -1 if the
 * file cannot be opened, or if a container replaces it by a file of its own (lxcfs). */
int proc_open_loadavg(void);

/* Counts the threads of the host that run or wait for a CPU, including the calling thread. `fd` is
 * from proc_open_loadavg. False, with *out 0, if `fd` is -1 or cannot be read. */
MUST_CHECK bool proc_running(int fd, unsigned long *out);

/*
 * Two numbers that tell whether processes or threads have started since an earlier census. A start
 * changes both, with two exceptions: `threads` is the same again when as many threads have ended,
 * and `newest` stays when a process is restored from a checkpoint with the id that it had before.
 *
 * Source: the kernel's fs/proc/loadavg.c.
 */
struct proc_census {
    unsigned long threads; /* threads that exist on the host; 0: not known */
    /* The newest id of a process or thread, as the caller's pid namespace numbers it (those in
     * namespaces below it count, too); 0: not known. Ids grow up to kernel.pid_max, then start
     * again at low numbers. */
    pid_t newest;
};

/* Reads both numbers. `fd` is from proc_open_loadavg; -1 gives 0 and 0. */
struct proc_census proc_census(int fd);

/* Returns a number that changes when the total size of the process's mappings changes. The number
 * stays the same if a mapping replaces one of the same size. 0 if it cannot be read. */
uint64_t proc_memory_mark(pid_t pid);

/*
 * True if `pid` is the id of a process, that is, of its first thread. False if it is the id of
 * another thread, or of none. True also if the call fails for lack of descriptors or memory.
 *
 * Cost:  1 us if true, 0.4 us if false.
 * Needs: Linux 5.3. On older kernels the result is always false.
 */
MUST_CHECK bool proc_is_process(pid_t pid);

#endif
