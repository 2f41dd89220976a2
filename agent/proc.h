/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.h - what /proc says of processes and threads, and of the CPU time they took.
 *
 * Threads: all functions may be called from any thread.
 * Source:  Documentation/filesystems/proc.rst and scheduler/sched-stats.rst of the kernel.
 */
#ifndef AGENT_PROC_H
#define AGENT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { PROC_COMMAND_MAX = 4096 };

/* What tells a process from all others, before and after it. */
struct proc_id {
    pid_t pid;
    uint64_t start; /* clock ticks after boot */
};

struct proc_stat {
    pid_t parent;
    uint64_t start; /* clock ticks after boot */
    size_t threads; /* how many it has */
    char state;     /* 'R' runs or could, 'S' sleeps, 'Z' zombie, ... */
    char name[64];  /* the kernel's name of it: at most 15 bytes */
};

/* Reads /proc/PID/stat. False: it is gone. */
MUST_CHECK bool proc_read_stat(pid_t pid, struct proc_stat *out);

/* The command line with a blank between arguments, cut at PROC_COMMAND_MAX; "" if none. */
void proc_command_line(pid_t pid, char out[PROC_COMMAND_MAX]);

/* The path of the executable; "" if it cannot be read. */
void proc_executable(pid_t pid, char out[PROC_COMMAND_MAX]);

/* A number that is another one once the process runs another executable; 0: it is not to be
 * had. Cost: one system call. */
uint64_t proc_exe_mark(pid_t pid);

/* A number that is another one after each exec, also of the same executable; 0: it is gone.
 * Without the right to read the process it knows the kernel's name of it only. */
uint64_t proc_exec_mark(pid_t pid);

/* The real user of a process. False: it is gone. */
MUST_CHECK bool proc_user(pid_t pid, uid_t *out);

/* CPU time of the whole process since it began, threads that have ended included. */
MUST_CHECK bool proc_cpu_ns(pid_t pid, uint64_t *out);

/* The open file of a thread that is read at each sample. */
struct proc_thread {
    int schedstat_fd;
};

/* Opens a thread's file. False: it is gone. */
MUST_CHECK bool proc_thread_open(pid_t pid, pid_t tid, struct proc_thread *out);
void proc_thread_close(struct proc_thread *thread);

/* CPU time of a thread since it began. False: it is gone. Cost: one system call. */
MUST_CHECK bool proc_thread_cpu_ns(const struct proc_thread *thread, uint64_t *out);

/* The kernel's letter for what a thread does, as in struct proc_stat. False: it is gone. */
MUST_CHECK bool proc_thread_state(pid_t pid, pid_t tid, char *out);

/*
 * Why a process may not be read, and the cure, for people.
 */
void proc_explain_denied(pid_t pid, char *out, size_t size);

#endif
