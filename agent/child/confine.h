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
 * Has the kernel kill this process when the thread that started it ends, and drops all capabilities
 * that reading other processes does not need, and sets PR_SET_NO_NEW_PRIVS. Without CAP_SYS_PTRACE
 * no capability is dropped: then the kernel lets us read only targets that have none that we lack.
 *
 * Errors: false: `parent` has ended already, or the kernel refuses; `err` says which. Part may be
 *         done: end this process.
 */
MUST_CHECK bool confine(pid_t parent, struct err *err);

/*
 * As confine, for a process that reads stored profiles and no targets: keeps only
 * CAP_DAC_READ_SEARCH, and does not check whether the parent has ended. False: the kernel refuses.
 */
MUST_CHECK bool confine_to_files(void);

/* Closes all descriptors from `first_fd` on; before Linux 5.9, those below 65536. */
void confine_close_from(unsigned first_fd);

/* True if a child process may read for us. False: Yama (ptrace_scope 1 or more, and no
 * CAP_SYS_PTRACE) does not let it read what its parent has started. */
MUST_CHECK bool confine_may_help(void);

#endif
