/* SPDX-License-Identifier: Apache-2.0 */
/* take.h - reads the threads of a process once, with the process stopped or running. */
#ifndef AGENT_DUMP_TAKE_H
#define AGENT_DUMP_TAKE_H

#include "agent/dump/snapshot.h"
#include "agent/proc/program.h"

enum { DUMP_WARNING_MAX = 512 };

struct dump_request {
    pid_t pid;
    bool pause; /* stop the process during the read */
    struct cpy_options options;
};

/* Shape: dump_taken_init, dump_take, dump_taken_finish. */
struct dump_taken {
    struct snapshot snapshot;
    int64_t unix_ns;                /* when it was taken, UTC since 1970 */
    char warning[DUMP_WARNING_MAX]; /* "" or why the snapshot may be wrong, for users */
};

void dump_taken_init(struct dump_taken *taken);
void dump_taken_finish(struct dump_taken *taken);

/* Reads the threads that request->options select. Gives EXIT_OK; or the exit status, after an error
 * was printed to stderr. */
MUST_CHECK int dump_take(const struct dump_request *request, struct cpy_target *target,
                         struct dump_taken *out);

/* Gives EXIT_OK if the process still runs that program. Otherwise prints an error, and gives the
 * exit status; the caller must not show what it has read. */
MUST_CHECK int dump_refuse_changed(const struct held_program *held);

#endif
