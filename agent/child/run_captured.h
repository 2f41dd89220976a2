/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_captured.h - runs this program with another subcommand and captures its output.
 *
 * A process that reads the memory of a target may hang in that read; one of its own can be killed.
 */
#ifndef AGENT_CHILD_RUN_CAPTURED_H
#define AGENT_CHILD_RUN_CAPTURED_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct run_captured_command {
    const char *program; /* borrowed, a path: RUN_CAPTURED_SELF, but in tests */
    char *const *argv;   /* borrowed */
    bool errors;         /* capture its standard error, too */
};

#define RUN_CAPTURED_SELF "/proc/self/exe"

/* When to kill it. */
struct run_captured_limits {
    uint64_t deadline_ns; /* monotonic */
    atomic_bool *stop;    /* borrowed: as soon as it is true */
};

/*
 * Runs a command and appends its output to `out`. Kills it at its limits, and when `out` is full.
 *
 * Gives: false: it could not be started, was killed, or failed.
 */
MUST_CHECK bool run_captured(const struct run_captured_command *command,
                             const struct run_captured_limits *limits, struct buf *out);

/* The CPU time of all commands that have ended, so far. From any thread. */
uint64_t run_captured_cpu_ns(void);

/* Running commands that are recorded; further ones are not. */
enum { RUN_CAPTURED_RUNNING_MAX = 16 };

/* Gives how many commands run now, and their processes. From any thread. */
size_t run_captured_count(pid_t out[RUN_CAPTURED_RUNNING_MAX]);

#endif
