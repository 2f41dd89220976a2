/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.h - drops the privileges that a process which reads targets does not need.
 */
#ifndef AGENT_CHILD_CONFINE_H
#define AGENT_CHILD_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Ends this process with its parent, gives up all capabilities but those that reading other
 * processes takes (all of them may be that, without CAP_SYS_PTRACE), and any way to get new ones.
 *
 * Gives: false: the parent has ended already, or the kernel refuses; `err` says which.
 */
MUST_CHECK bool confine(pid_t parent, struct err *err);

/*
 * The same for a process that reads files of ours and no targets: of the capabilities only that
 * to read any file is left. It ends with the thread that has started it.
 */
MUST_CHECK bool confine_to_files(void);

/* Closes all descriptors from `first_fd` on. */
void confine_close_from(unsigned first_fd);

/* False: the kernel (Yama) and our rights let us read our own descendants alone, so that a
 * child process could not read what its parent has started. */
MUST_CHECK bool confine_may_help(void);

#endif
