/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tids.h - the kernel's ids of threads, as we see them.
 *
 * A process in a PID namespace of its own sees other ids than we do: the NSpid line of
 * /proc/PID/task/TID/status has them all, outermost first.
 *
 * Before 3.11 the interpreter has only the pthread_t. That is the address of the C
 * library's record of the thread, which has the id at some offset: of glibc and musl it is
 * known; elsewhere the main thread's record tells the offset for all threads, if that is the
 * process's first thread. In a program that embeds Python it need not be.
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

/* Looks whether the process at `proc_fd` (its /proc directory) is in another namespace. On failure
 * its threads' ids are not known. */
enum proc_rc tids_init(struct tids *tids, int proc_fd);
void tids_finish(struct tids *tids);

/*
 * The target's id of the thread with this pthread_t; 0: not known. `main_thread_id` is
 * the pthread_t of the main thread; `known` is what this thread had in the sample before:
 * that it is still so is not looked up again.
 */
uint64_t tids_of_pthread(struct tids *tids, struct mem *mem, uint64_t thread_id,
                         uint64_t main_thread_id, uint64_t known);

/*
 * The target's id of a thread which says that it has that `native` one. That is so, unless the
 * process is the child of a fork by C code that did not tell Python: there the thread which has
 * forked, the process's first, still has the id of its parent's. `known`: see tids_of_pthread.
 * Cost: one system call where nothing is known.
 */
uint64_t tids_of_native(struct tids *tids, struct mem *mem, uint64_t thread_id, uint64_t native,
                        uint64_t known);

/* Our id of the thread that the target calls `inner`; 0: not known. */
pid_t tids_outer(struct tids *tids, uint64_t inner);

#endif
