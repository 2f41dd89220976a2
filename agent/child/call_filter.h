/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_filter.h - limits a process that reads targets to the system calls that it needs.
 *
 * If a target takes over its reader by the bytes that are read of it, it gets no further: the
 * reader can start no program, open no socket and no file for writing, trace and write to no
 * process, send no signal, map no memory that is executable or shared, and gain no rights.
 *
 * A call that is not listed in call_filter.c fails with ENOSYS, as on a kernel that does not have
 * it, because libc then makes an older one. A listed call with an argument that is not allowed
 * fails with EPERM. No call ends the process.
 *
 * Shape:   call_filter_install once all descriptors are open that it forbids to open.
 * Threads: holds for the calling thread and those that it starts.
 * Needs:   Linux with CONFIG_SECCOMP_FILTER. On x86-64 and aarch64 only.
 * Cost:    none that can be measured from Linux 5.11 on, which remembers the calls that are allowed
 *          with any arguments; before, up to a microsecond a call.
 */
#ifndef AGENT_CHILD_CALL_FILTER_H
#define AGENT_CHILD_CALL_FILTER_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Limits the calls of this thread, for good, and sets PR_SET_NO_NEW_PRIVS.
 *
 * `open_how`: the only struct open_how that openat2 takes. A filter compares its address and not
 * its bytes, so it must lie in read-only memory. (No call can replace that or make it writable.)
 *
 * Errors: false: there is no filter; errno says why, ENOTSUP in builds that are instrumented (a
 *         sanitizer, coverage), which make calls of their own.
 */
MUST_CHECK bool call_filter_install(const void *open_how);

/* True if the kernel takes such filters. */
bool call_filter_is_possible(void);

#endif
