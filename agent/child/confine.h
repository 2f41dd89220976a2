/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.h - drops the rights that a helper process of pystrobe does not need to do its work. The
 * work is to read targets (the processes that are profiled) or stored profiles.
 */
#ifndef AGENT_CHILD_CONFINE_H
#define AGENT_CHILD_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Confines the calling process, which reads targets:
 * - makes the kernel kill it when the thread that started it ends (PR_SET_PDEATHSIG);
 * - sets PR_SET_NO_NEW_PRIVS;
 * - drops all capabilities except CAP_SYS_PTRACE, CAP_SYS_NICE, CAP_DAC_READ_SEARCH and
 *   CAP_CHECKPOINT_RESTORE. Drops none if the process lacks CAP_SYS_PTRACE: the kernel then lets
 *   it read only targets that have no more capabilities than the process itself.
 *
 * `parent` is the pid of the process that started this one.
 *
 * Errors: false: `parent` has ended already, or the kernel refuses a step; `err` says which. Some
 *         steps may be done then: the caller has to exit.
 */
MUST_CHECK bool confine(pid_t parent, struct err *err);

/*
 * Confines the calling process, which reads stored profiles and no targets. Does the same as
 * confine, but always drops all capabilities except CAP_DAC_READ_SEARCH, and does not check whether
 * the parent has ended before the call.
 *
 * Errors: false: the kernel refuses a step. Some steps may be done then: the caller has to exit, or
 *         (if its user is not root) to execute its program again: execve drops capabilities.
 */
MUST_CHECK bool confine_to_files(void);

/* Closes all descriptors from `first_fd` on; before Linux 5.9, only those below 65536. */
void confine_close_from(unsigned first_fd);

/* True if Yama lets a helper process of ours read targets that it has not started: there is no
 * Yama, ptrace_scope is 0, or we have CAP_SYS_PTRACE. Ignores that ptrace_scope 3 forbids all
 * reading, even with CAP_SYS_PTRACE. */
MUST_CHECK bool confine_may_help(void);

#endif
