/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - a process and the program that it runs, from a check of it to the answer about it.
 *
 * A process's number may be another's by the time that it is read, and the process may have
 * executed a program of another user, whose memory is nobody's business who could read the first.
 *
 * Shape:   program_hold before the process is read; program_look after the last read of it, and
 *          before anything that was read is shown; program_release.
 * Threads: all functions may be called from any thread.
 * Trust:   the kernel alone says what is compared. The kernel changes it before a new program's
 *          memory can be read.
 */
#ifndef AGENT_PROC_PROGRAM_H
#define AGENT_PROC_PROGRAM_H

#include "agent/proc/proc.h"
#include "base/err.h"

struct program {
    struct proc_id id;
    uint64_t mark; /* proc_exec_mark */
};

/* One that is held. */
struct held_program {
    struct program program;
    int pidfd; /* owned; -1: the kernel has none, or it was not asked for one */
};

enum program_state {
    PROGRAM_SAME,
    PROGRAM_ANOTHER, /* the process has executed another program */
    PROGRAM_GONE     /* the process has ended, or nothing is known of it */
};

/* Finds what a process runs. Gives: false: it has ended, or /proc does not say. */
MUST_CHECK bool program_find(pid_t pid, struct program *out);

MUST_CHECK bool program_same(const struct program *one, const struct program *other);

/* The same as program_find, with a pidfd. If it fails, program_look gives PROGRAM_GONE. */
void program_hold(pid_t pid, struct held_program *out);

/* Whether the process still runs that program. Cost: two or three small files of /proc, which
 * never block. */
MUST_CHECK enum program_state program_look(const struct held_program *held);

/* What to tell a user of a process that is not PROGRAM_SAME: a sentence without its subject. */
const char *program_state_text(enum program_state state);

void program_release(struct held_program *held);

/* A program in a word, for the command line of a process of our own, and back. The pid is not in
 * it. program_parse gives false for text that is none. */
enum { PROGRAM_WORD_MAX = 48 };

void program_format(const struct program *program, char out[PROGRAM_WORD_MAX]);
MUST_CHECK bool program_parse(const char *word, struct program *out);

#endif
