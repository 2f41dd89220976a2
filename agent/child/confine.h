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
 * - makes the kernel kill the calling process when the thread that started it ends;
 * - sets PR_SET_NO_NEW_PRIVS;
 * - drops all capabilities that reading targets does not need. If the process lacks
 *   CAP_SYS_PTRACE, it keeps all its capabilities, because the kernel then lets it read a target
 *   only if it has each capability that the target has.
 *
 * `parent` is the pid of the process that started the calling one.
 *
 * Errors: false: `parent` has ended already, or the kernel refuses a step; `err` says which. Some
 *         steps may be done then: the caller has to exit.
 */
MUST_CHECK bool confine(pid_t parent, struct err *err);

/*
 * Confines the calling process, which reads stored profiles and no targets. Unlike confine, it
 * always drops all capabilities except CAP_DAC_READ_SEARCH, and does not notice that the parent has
 * ended before the call.
 *
 * Errors: false: the kernel refuses a step. Some steps may be done then, so the caller may not go
 * on as before: it has to exit, or to execute another program.
 */
MUST_CHECK bool confine_to_files(void);

/* Closes all descriptors from `first_fd` on; before Linux 5.9, only those below 65536. */
void confine_close_from(unsigned first_fd);

/* True if a child of ours can read the memory of another child of ours. False if Yama forbids that:
 * ptrace_scope is 1 or more, and we lack CAP_SYS_PTRACE. */
MUST_CHECK bool confine_may_help(void);

#endif
