/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_filter.h - limits the system calls of a process that reads targets to those that this takes.
 *
 * A target that has corrupted its reader by what it let it read gets no further: the reader can
 * start no program, open no file to write and no socket, trace and write to no process, send no
 * signal, map no memory that is executable or shared, and change no rights.
 *
 * The rule: a call that is not listed in call_filter.c fails with ENOSYS, as on a kernel that does
 * not have it, because libc then makes an older one. A listed call with an argument that is not
 * allowed fails with EPERM. No call ends the process.
 *
 * Shape:   call_filter_install once all descriptors are there that are opened in no other way.
 * Threads: holds for the calling thread and what it starts.
 * Needs:   Linux with CONFIG_SECCOMP_FILTER. On x86-64 and aarch64 only.
 * Cost:    none that can be measured from Linux 5.11 on, which remembers the calls that are allowed
 *          whatever their arguments; before, up to a microsecond a call.
 */
#ifndef AGENT_CHILD_CALL_FILTER_H
#define AGENT_CHILD_CALL_FILTER_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Limits the calls of this thread, for good. Nothing changes where the kernel refuses filters, and
 * in builds that are instrumented (a sanitizer, coverage), which make calls of their own.
 *
 * `open_how`: what openat2 may be called with, and nothing else: a struct open_how in memory that
 * is not written, as a filter cannot look into it. (No mapping can be put in its place, nor become
 * writable.)
 *
 * Gives: false: there is no filter; errno says why, ENOTSUP in such a build.
 */
MUST_CHECK bool call_filter_install(const void *open_how);

/* True if the kernel takes such filters. */
bool call_filter_is_possible(void);

#endif
