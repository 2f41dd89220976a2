/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_info.h - what /proc says of one process; each item is read when it is first asked for.
 *
 * Only command line, environment and the like, never its memory. A process can choose all of it but
 * its user, executable and cgroup.
 *
 * Shape:   proc_info_new once, proc_info_begin for each process, the getters, proc_info_free.
 */
#ifndef AGENT_DISCOVER_PROC_INFO_H
#define AGENT_DISCOVER_PROC_INFO_H

#include "agent/proc/cgroup.h"
#include "agent/proc/proc.h"

/* bytes of an environment that are read at most */
enum { PROC_INFO_ENVIRONMENT_MAX = 256 << 10 };

struct proc_info;

/* Gives: a reader, ended with proc_info_free; NULL: out of memory. */
MUST_CHECK struct proc_info *proc_info_new(void);
void proc_info_free(struct proc_info *info);

/* Drops what was read of the process before; from now on the getters are about this one. */
void proc_info_begin(struct proc_info *info, pid_t pid);

pid_t proc_info_pid(const struct proc_info *info);

/* All that follow lend their text until proc_info_begin; "" where it cannot be read. */
const char *proc_info_exe(struct proc_info *info);
const char *proc_info_command_line(struct proc_info *info); /* arguments joined by blanks */
const char *proc_info_script(struct proc_info *info);       /* as cmdline.h has it */
const struct cgroup *proc_info_cgroup(struct proc_info *info);

/* False: it is gone. */
MUST_CHECK bool proc_info_user(struct proc_info *info, uid_t *out);

/* The value of a variable in its initial environment; NULL: not set. */
const char *proc_info_variable(struct proc_info *info, const char *name);

#endif
