/* SPDX-License-Identifier: Apache-2.0 */
/* take.h - reads the threads of a process once, stopped meanwhile or not. */
#ifndef AGENT_DUMP_TAKE_H
#define AGENT_DUMP_TAKE_H

#include "agent/dump/snapshot.h"
#include "agent/proc/program.h"

enum { DUMP_WARNING_MAX = 512 };

struct dump_request {
    pid_t pid;
    bool pause; /* stop it meanwhile */
    struct cpy_options options;
};

/* Shape: dump_taken_init, dump_take, dump_taken_finish. */
struct dump_taken {
    struct snapshot snapshot;
    int64_t unix_ns;                /* when */
    char warning[DUMP_WARNING_MAX]; /* "" or what may be wrong with it */
};

void dump_taken_init(struct dump_taken *taken);
void dump_taken_finish(struct dump_taken *taken);

/* Reads the threads that are asked for. Gives the exit status; says what is wrong. */
MUST_CHECK int dump_take(const struct dump_request *request, struct cpy_target *target,
                         struct dump_taken *out);

/* Gives EXIT_OK if the process still runs that program. Otherwise it says that it does not, and
 * gives the exit status: what was read since is not to be shown. */
MUST_CHECK int dump_refuse_changed(const struct held_program *held);

#endif
