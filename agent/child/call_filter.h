/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_filter.h - seccomp filter that limits a process that reads targets to the system calls that
 * it needs.
 *
 * A target may take over its reader through the bytes that are read from it. The filter confines
 * such a reader: it cannot start a program, open a socket, open a file for writing, trace or write
 * to a process, signal another process, map executable or shared memory, or gain rights.
 *
 * A call that is not listed in call_filter.c fails with ENOSYS, because libc then falls back to an
 * older call. A listed call with a forbidden argument fails with EPERM. No call ends the process.
 *
 * Shape:   open the sockets and files for writing first, then call_filter_install.
 * Threads: holds for the calling thread and those that it starts later.
 * Needs:   Linux with CONFIG_SECCOMP_FILTER. On x86-64 and aarch64 only.
 * Cost:    not measurable from Linux 5.11 on, which caches the calls that are allowed with any
 *          arguments; before, up to a microsecond a call.
 */
#ifndef AGENT_CHILD_CALL_FILTER_H
#define AGENT_CHILD_CALL_FILTER_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Limits the calls of this thread, for good, and sets PR_SET_NO_NEW_PRIVS.
 *
 * `open_how`: the only struct open_how that openat2 may take. A filter sees its address and not its
 * bytes, so it must lie in read-only memory. No allowed call can replace or unprotect that memory.
 *
 * Errors: false: no filter is installed; errno says why. ENOTSUP: an instrumented build (sanitizer,
 *         coverage), whose runtime makes other calls.
 */
MUST_CHECK bool call_filter_install(const void *open_how);

/* True if the kernel supports seccomp. */
bool call_filter_is_possible(void);

#endif
