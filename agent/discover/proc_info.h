/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_info.h - what /proc tells of one process, each thing read when it is first asked for.
 *
 * Only command line, environment and the like: never its memory. All of it is the process's
 * own to choose, but for the user, the executable and the cgroup.
 *
 * Shape:   facts_new once, facts_begin for each process, ask, facts_free.
 */
#ifndef AGENT_DISCOVER_PROC_INFO_H
#define AGENT_DISCOVER_PROC_INFO_H

#include "agent/proc/cgroup.h"
#include "agent/proc/proc.h"

/* More of an environment is not read. */
enum { FACTS_ENVIRONMENT_MAX = 256 << 10 };

struct facts;

/* Gives: facts, ended with facts_free; NULL: out of memory. */
MUST_CHECK struct facts *facts_new(void);
void facts_free(struct facts *facts);

/* Forgets the process before, and goes on with this one. */
void facts_begin(struct facts *facts, pid_t pid);

pid_t facts_pid(const struct facts *facts);

/* All that follow lend their text until facts_begin; "" where it cannot be read. */
const char *facts_exe(struct facts *facts);
const char *facts_command_line(struct facts *facts); /* arguments joined by blanks */
const char *facts_script(struct facts *facts);       /* as cmdline.h has it */
const struct cgroup *facts_cgroup(struct facts *facts);

/* False: it is gone. */
MUST_CHECK bool facts_user(struct facts *facts, uid_t *out);

/* The value of a variable in the environment that it began with; NULL: it has none. */
const char *facts_variable(struct facts *facts, const char *name);

#endif
