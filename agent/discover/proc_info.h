/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_info.h - command line, environment, user, cgroup and program of one process, mostly from
 * /proc. Each item is read when it is first asked for, and then kept.
 *
 * A process may have overwritten its command line and environment by a title. These two are then
 * read from the memory of its Python.
 *
 * Trust:   a process can fake all items except its user, executable and cgroup. It can fake its
 *          container and pod if these are found by its mounts.
 * Shape:   proc_info_new once, proc_info_begin for each process, the getters, proc_info_free.
 */
#ifndef AGENT_DISCOVER_PROC_INFO_H
#define AGENT_DISCOVER_PROC_INFO_H

#include "agent/discover/proc_reader.h"
#include "agent/proc/cgroup.h"
#include "agent/proc/cmdline.h"
#include "agent/proc/proc.h"

/* Most bytes of an environment that are read. */
enum { PROC_INFO_ENVIRONMENT_MAX = PROC_READER_FILE_MAX };

struct proc_info;

/* Gives: a struct for one process at a time, ended with proc_info_free; NULL: out of memory. */
MUST_CHECK struct proc_info *proc_info_new(void);
void proc_info_free(struct proc_info *info);

/* Makes the getters read files that may block through `reader` (borrowed). NULL: directly. */
void proc_info_use_reader(struct proc_info *info, struct proc_reader *reader);

/* Sets an ancestor at which proc_info_program stops: neither it nor its own ancestors give a name.
 * A part with no Python ancestor below it then stays without a name. 0: there is no limit. */
void proc_info_stop_at(struct proc_info *info, pid_t pid);

/* Starts with another process: drops all items that were read before. */
void proc_info_begin(struct proc_info *info, pid_t pid);

/* True if an item was not read because the read blocks; its getter gave "" or no value instead. */
MUST_CHECK bool proc_info_is_unknown(const struct proc_info *info);

/* Makes proc_info_is_unknown true: the caller could not read something else about the process. */
void proc_info_set_unknown(struct proc_info *info);

pid_t proc_info_pid(const struct proc_info *info);

/* The following functions lend their text until proc_info_begin; "": it cannot be read. */
const char *proc_info_exe(struct proc_info *info);             /* path */
const char *proc_info_command_line(struct proc_info *info);    /* arguments joined by blanks */
const struct cgroup *proc_info_cgroup(struct proc_info *info); /* container, pod also by mounts */

/*
 * The program that the process runs, in the struct of cmdline.h. If it is a tool and its arguments
 * do not name the application, an environment variable does, or the working directory (but not "/",
 * "/app" or a home). A part gets the name of its nearest Python ancestor. If there is none it stays
 * CMDLINE_PART. Lends until proc_info_begin.
 *
 * Cost: for a part, two or three more reads for each ancestor up to that Python.
 */
const struct cmdline_program *proc_info_program(struct proc_info *info);

/* The real user. False: the process is gone, or cannot be read. */
MUST_CHECK bool proc_info_user(struct proc_info *info, uid_t *out);

/* True if the real user has that name. */
MUST_CHECK bool proc_info_user_is(struct proc_info *info, const char *name);

/* The name of the real user; its number if the name cannot be found; "" if the user cannot be. */
const char *proc_info_user_name(struct proc_info *info);

/* The value of a variable in its initial environment; NULL: not set. */
const char *proc_info_variable(struct proc_info *info, const char *name);

#endif
