/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_info.h - what /proc tells of one process, each thing read when it is first asked for.
 *
 * Only command line, environment and the like: never its memory. All of it is the process's
 * own to choose, but for the user, the executable and the cgroup.
 *
 * Shape:   proc_info_new once, proc_info_begin for each process, ask, proc_info_free.
 */
#ifndef AGENT_DISCOVER_PROC_INFO_H
#define AGENT_DISCOVER_PROC_INFO_H

#include "agent/proc/cgroup.h"
#include "agent/proc/proc.h"

/* More of an environment is not read. */
enum { PROC_INFO_ENVIRONMENT_MAX = 256 << 10 };

struct proc_info;

/* Gives: facts, ended with proc_info_free; NULL: out of memory. */
MUST_CHECK struct proc_info *proc_info_new(void);
void proc_info_free(struct proc_info *info);

/* Forgets the process before, and goes on with this one. */
void proc_info_begin(struct proc_info *info, pid_t pid);

pid_t proc_info_pid(const struct proc_info *info);

/* All that follow lend their text until proc_info_begin; "" where it cannot be read. */
const char *proc_info_exe(struct proc_info *info);
const char *proc_info_command_line(struct proc_info *info); /* arguments joined by blanks */
const char *proc_info_script(struct proc_info *info);       /* as cmdline.h has it */
const struct cgroup *proc_info_cgroup(struct proc_info *info);

/* False: it is gone. */
MUST_CHECK bool proc_info_user(struct proc_info *info, uid_t *out);

/* The value of a variable in the environment that it began with; NULL: it has none. */
const char *proc_info_variable(struct proc_info *info, const char *name);

#endif
