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
 * Has the kernel end this process when the thread that started it ends, and gives up all
 * capabilities that reading other processes does not take, with any way to get new ones. (Without
 * CAP_SYS_PTRACE none is given up: each may be needed, to have no fewer than a target.)
 *
 * Gives: false: the parent has ended already, or the kernel refuses; `err` says which.
 */
MUST_CHECK bool confine(pid_t parent, struct err *err);

/*
 * For a process that reads files of ours and no targets: keeps only the capability to read any
 * file, and ends with the thread that has started it, too.
 */
MUST_CHECK bool confine_to_files(void);

/* Closes all descriptors from `first_fd` on. */
void confine_close_from(unsigned first_fd);

/* False: the kernel (Yama) and our rights let us read only our own descendants, so that a
 * child process could not read what its parent has started. */
MUST_CHECK bool confine_may_help(void);

#endif
