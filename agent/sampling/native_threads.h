/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_threads.h - the CPU time of threads that run no Python: those of OpenBLAS, polars, gRPC
 * and the like.
 *
 * Shape: native_threads_begin; native_threads_note for each thread that has stopped running Python;
 *        native_threads_look now and then, because ended threads tell nothing;
 *        native_threads_tell; native_threads_finish.
 */
#ifndef AGENT_SAMPLING_NATIVE_THREADS_H
#define AGENT_SAMPLING_NATIVE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Threads beyond the first limit are ignored; names beyond the second are counted as "". */
enum { NATIVE_THREADS_MAX = 2048, NATIVE_NAMES_MAX = 32 };

struct native_thread {
    pid_t tid;
    uint64_t cpu_ns; /* its CPU time at the last look, or at native_threads_note */
};

/* CPU time of the threads of one name since the last native_threads_tell. */
struct native_use {
    char name[64]; /* the kernel's; "": not known, or one of too many */
    uint64_t ns;
};

/*
 * Cache: CPU times of threads
 * Key:   the kernel's thread id
 * Ends:  with the look that does not find it; if the CPU time is lower, it is another thread
 * Test:  tests/unit/sampling/test_native_threads.c: tells_what_threads_used_since_the_last_look
 */
struct native_threads {
    pid_t pid;
    struct native_thread *items; /* owned */
    size_t count, capacity;
    struct native_use *uses; /* owned; the name of the first is "" */
    size_t use_count, use_capacity;
};

/* Begins to count. CPU time that the threads have used so far does not count. Cost: one schedstat
 * file a thread. */
void native_threads_begin(struct native_threads *threads, pid_t pid);

/* A thread ran Python until now: its CPU time so far, `cpu_ns`, does not count. */
void native_threads_note(struct native_threads *threads, pid_t tid, uint64_t cpu_ns);

/* Adds the CPU time of each thread since the last look to `uses`, except of threads for which
 * `is_python` is true. Cost: a schedstat file a thread; one more file for threads that have run. */
void native_threads_look(struct native_threads *threads, bool (*is_python)(void *ctx, pid_t tid),
                         void *ctx);

/* Calls `told` for each name in `uses` with CPU time, and empties `uses`. `name`: any bytes. */
void native_threads_tell(struct native_threads *threads,
                         void (*told)(void *ctx, const char *name, uint64_t ns), void *ctx);

void native_threads_finish(struct native_threads *threads);

#endif
