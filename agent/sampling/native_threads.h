/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_threads.h - the CPU time of threads that run no Python: those of OpenBLAS, polars, gRPC
 * and the like.
 *
 * Shape: native_threads_begin; native_threads_note for each thread that runs Python no more;
 *        native_threads_look now and then, while the threads are there; native_threads_tell;
 *        native_threads_finish.
 */
#ifndef AGENT_SAMPLING_NATIVE_THREADS_H
#define AGENT_SAMPLING_NATIVE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of more threads nothing is told, and of threads with other names no name. */
enum { NATIVE_THREADS_MAX = 2048, NATIVE_NAMES_MAX = 32 };

struct native_thread {
    pid_t tid;
    uint64_t cpu_ns; /* that is counted or not to be counted */
};

/* What threads of a name have used, and nobody was told of. */
struct native_use {
    char name[64];
    uint64_t ns;
};

/*
 * Cache: CPU times of threads
 * Key:   the kernel's thread id
 * Ends:  with the look that does not find it; a number that went back is another thread's
 * Test:  tests/unit/sampling/test_native_threads.c: tells_what_threads_used_since_the_last_look
 */
struct native_threads {
    pid_t pid;
    struct native_thread *items; /* owned */
    size_t count, capacity;
    struct native_use *uses; /* owned; the first has no name */
    size_t use_count, use_capacity;
};

/* Begins to count: what the threads of a process have used so far does not. Cost: one schedstat
 * file a thread. */
void native_threads_begin(struct native_threads *threads, pid_t pid);

/* A thread ran Python until now, and has used so much. */
void native_threads_note(struct native_threads *threads, pid_t tid, uint64_t cpu_ns);

/* Notes what each thread that runs no Python has used since the last look. `is_python` says which
 * do. Cost: a schedstat file a thread, and for those that have run the file with their name. */
void native_threads_look(struct native_threads *threads, bool (*is_python)(void *ctx, pid_t tid),
                         void *ctx);

/* Tells what was noted since it was told last, by name (the kernel's: any bytes). */
void native_threads_tell(struct native_threads *threads,
                         void (*told)(void *ctx, const char *name, uint64_t ns), void *ctx);

void native_threads_finish(struct native_threads *threads);

#endif
