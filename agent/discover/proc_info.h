/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_info.h - what /proc says of one process; each item is read when it is first asked for.
 *
 * Only command line, environment and the like; of its memory no more than those two, where a title
 * has overwritten what the kernel shows of them. A process can choose all of it but
 * its user, executable and cgroup; container and pod, too, if only its mounts tell them.
 *
 * Shape:   proc_info_new once, proc_info_begin for each process, the getters, proc_info_free.
 */
#ifndef AGENT_DISCOVER_PROC_INFO_H
#define AGENT_DISCOVER_PROC_INFO_H

#include "agent/discover/proc_reader.h"
#include "agent/proc/cgroup.h"
#include "agent/proc/cmdline.h"
#include "agent/proc/proc.h"

/* bytes of an environment that are read at most */
enum { PROC_INFO_ENVIRONMENT_MAX = PROC_READER_FILE_MAX };

struct proc_info;

/* Gives: a reader, ended with proc_info_free; NULL: out of memory. */
MUST_CHECK struct proc_info *proc_info_new(void);
void proc_info_free(struct proc_info *info);

/* From now on what may block is read by this reader, which the caller keeps; NULL: here. */
void proc_info_use_reader(struct proc_info *info, struct proc_reader *reader);

/* When one is named, this process and those above it are not looked at, and a part that has no
 * Python above it has no name: whoever names it knows one. 0: all are. */
void proc_info_stop_at(struct proc_info *info, pid_t pid);

/* Drops what was read of the process before; from now on the getters are about this one. */
void proc_info_begin(struct proc_info *info, pid_t pid);

/* True if something that was asked for is not known, because reading it blocks: it was given as if
 * there were none. */
MUST_CHECK bool proc_info_is_unknown(const struct proc_info *info);

/* It depends on something else that is not known. */
void proc_info_set_unknown(struct proc_info *info);

pid_t proc_info_pid(const struct proc_info *info);

/* All that follow lend their text until proc_info_begin; "" where it cannot be read. */
const char *proc_info_exe(struct proc_info *info);
const char *proc_info_command_line(struct proc_info *info);    /* arguments joined by blanks */
const struct cgroup *proc_info_cgroup(struct proc_info *info); /* and container, pod by mounts */

/*
 * What the process runs, as cmdline.h has it. Of a tool that does not say in its arguments what it
 * runs, that is its environment's word, or the folder that it runs in, if that says something
 * ("/", "/app" and a home do not). A part is called as the nearest Python above it; what remains of
 * kind CMDLINE_PART has none. Lends until proc_info_begin.
 *
 * Cost: of a part, two or three more reads for each process above it, up to that Python.
 */
const struct cmdline_program *proc_info_program(struct proc_info *info);

/* False: it is gone. */
MUST_CHECK bool proc_info_user(struct proc_info *info, uid_t *out);

/* True if the real user has that name. */
MUST_CHECK bool proc_info_user_is(struct proc_info *info, const char *name);

/* The name of the real user, its number if it has none or that is not known; "" if it is gone. */
const char *proc_info_user_name(struct proc_info *info);

/* The value of a variable in its initial environment; NULL: not set. */
const char *proc_info_variable(struct proc_info *info, const char *name);

#endif
