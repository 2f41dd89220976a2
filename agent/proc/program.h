/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - checks that a pid still names the same process, and that the process has not executed
 * another program. Used before data that was read from a process is shown.
 *
 * A new program may run as another user. Its data must not be shown to a user who may read only the
 * old program.
 *
 * Shape:   program_hold before the first read of the process; program_look after the last read, but
 *          before the data is shown; program_release.
 * Threads: all functions may be called from any thread.
 * Trust:   start time and mark come from the kernel, not from the process. After an exec, the mark
 *          changes before the new program's memory can be read, with the exceptions that
 *          proc_exec_mark names.
 */
#ifndef AGENT_PROC_PROGRAM_H
#define AGENT_PROC_PROGRAM_H

#include "agent/proc/proc.h"
#include "base/err.h"

struct program {
    struct proc_id id; /* pid and start time */
    uint64_t mark;     /* changes with each exec: see proc_exec_mark in base/proc_stat.h */
};

/* Result of program_hold. A caller that has a struct program already may set the fields itself. */
struct held_program {
    struct program program; /* all 0: program_hold found no process */
    int pidfd;              /* owned; -1: none, and program_look relies on `program` alone */
};

enum program_state {
    PROGRAM_SAME,
    PROGRAM_ANOTHER, /* the process has executed another program */
    PROGRAM_GONE     /* the process has ended, or /proc does not say what it runs */
};

/* Finds what a process runs. Gives: false: it has ended, or /proc does not say. */
MUST_CHECK bool program_find(pid_t pid, struct program *out);

/* True if pid, start time and mark are equal. */
MUST_CHECK bool program_same(const struct program *one, const struct program *other);

/* Notes what a process runs, and opens a pidfd if the kernel can. If program_find fails,
 * program_look gives PROGRAM_GONE. The caller ends *out with program_release in both cases. */
void program_hold(pid_t pid, struct held_program *out);

/* Tells whether the process still runs that program. Cost: reads its stat file twice; if its first
 * thread has ended, also the stat files of other threads. Never blocks. */
MUST_CHECK enum program_state program_look(const struct held_program *held);

/* Static text for users, to put after "process PID": what has happened, such as "has ended". Must
 * not be called with PROGRAM_SAME. */
const char *program_state_text(enum program_state state);

/* Closes the pidfd. May be called twice. */
void program_release(struct held_program *held);

enum { PROGRAM_WORD_MAX = 48 }; /* bytes, with the final 0 byte */

/* Converts a program to a word and back, to pass it to another pystrobe process on its command
 * line. The word has start time and mark, not the pid; program_parse leaves out->id.pid as it is.
 * If `word` is no such word, program_parse gives false and leaves *out unchanged. */
void program_format(const struct program *program, char out[PROGRAM_WORD_MAX]);
MUST_CHECK bool program_parse(const char *word, struct program *out);

#endif
