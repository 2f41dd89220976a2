/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tids.h - turns the thread ids that a process in a PID namespace of its own sees into ours.
 *
 * Source: the NSpid line of /proc/PID/task/TID/status, outermost id first.
 */
#ifndef UNWIND_TIDS_H
#define UNWIND_TIDS_H

#include "unwind/cpy.h"

struct tid_pair {
    pid_t inner, outer;
};

struct tids {
    int proc_fd;            /* borrowed; -1: the ids are taken as they are */
    bool nested;            /* the target is in a PID namespace below ours */
    struct tid_pair *pairs; /* owned */
    size_t count, capacity;
};

/* Looks whether the process at `proc_fd` (its /proc directory) is in another namespace. */
void tids_init(struct tids *tids, int proc_fd);
void tids_finish(struct tids *tids);

/* Our id of the thread that the target calls `inner`; 0: not known. */
pid_t tids_outer(struct tids *tids, uint64_t inner);

#endif
