/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tids.h - the kernel's ids of the target's threads, in our pid namespace.
 *
 * A process in a PID namespace of its own sees other ids than we do: the NSpid line of
 * /proc/PID/task/TID/status has them all, outermost first.
 *
 * Before 3.11 the interpreter has only the pthread_t. That is the address of the C
 * library's record of the thread, which has the id at some offset. The offset is known for
 * glibc and musl. Elsewhere it is found in the main thread's record, if that thread is the
 * process's first; in a program that embeds Python it need not be.
 */
#ifndef UNWIND_READ_TIDS_H
#define UNWIND_READ_TIDS_H

#include "unwind/read/mem.h"

/*
 * Cache: our thread ids of a process in another PID namespace
 * Key:   thread id in that namespace
 * Ends:  when an id is looked up that is not known; not when another thread has got the same inner
 *        id
 * Test:  tests/unit/unwind/read/test_tids.c: finds_threads_in_a_namespace_below_ours
 */
struct tid_pair {
    pid_t inner, outer;
};

struct tids {
    int proc_fd;            /* borrowed; -1: the ids are taken as they are */
    bool nested;            /* the target is in a PID namespace below ours */
    struct tid_pair *pairs; /* owned */
    size_t count, capacity;
    pid_t inner_pid; /* the process's own id of itself */
    uint32_t tid_at; /* offset of the id from the pthread_t; 0: not found yet */
    uint32_t misses; /* searches for it that failed */
};

/* Finds out whether the process at `proc_fd` (its /proc directory) is in another namespace. -1: it
 * is not. On failure its threads' ids are not known. */
enum proc_rc tids_init(struct tids *tids, int proc_fd);
void tids_finish(struct tids *tids);

/*
 * The id, in the target's namespace, of the thread with this pthread_t; 0: not known.
 * `main_thread_id` is the pthread_t of the main thread, 0: not known. `known` is the result
 * for this thread in the sample before, 0: none: it saves a look at /proc if it is the same.
 */
uint64_t tids_of_pthread(struct tids *tids, struct mem *mem, uint64_t thread_id,
                         uint64_t main_thread_id, uint64_t known);

/*
 * The same for a thread whose PyThreadState has the id `native`. That id is right, unless C code
 * has forked the process without telling Python: then the first thread of the child still has the
 * id that it had in the parent. Gives `known` if that is not 0. Cost: else one system call.
 */
uint64_t tids_of_native(struct tids *tids, struct mem *mem, uint64_t thread_id, uint64_t native,
                        uint64_t known);

/* The id in our pid namespace of the thread with id `inner` in the target's; 0: not known. */
pid_t tids_outer(struct tids *tids, uint64_t inner);

#endif
