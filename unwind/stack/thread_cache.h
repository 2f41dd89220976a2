/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_cache.h - state of each thread that lasts from one sample to the next: the ranges to
 * prefetch, the scheduler counters, and its stack with names and lines.
 *
 * Shape:   thread_cache_init; for each list of all threads thread_cache_begin_list,
 *          thread_cache_get for each thread, thread_cache_end_list; thread_cache_finish.
 */
#ifndef UNWIND_STACK_THREAD_CACHE_H
#define UNWIND_STACK_THREAD_CACHE_H

#include "base/pointer_table.h"
#include "unwind/fast/prefetch.h"
#include "unwind/fast/sched_idle.h"
#include "unwind/objects/names.h"
#include "unwind/stack/walk.h"

enum { THREAD_CACHE_FRAMES_MAX = 1 << 18 }; /* frames of all threads of a target together */

/*
 * A resolved stack. The outermost frame is the last item of both arrays (index room - 1). So when
 * only inner frames change, the others need not be moved.
 *
 * Cache: frames with their names and lines
 * Key:   place from the outermost frame on, address of the code object, and instruction
 * Ends:  when the frame differs, or its code object is not the one that was decoded
 * Test:  tests/unit/unwind/test_resolve.c: does_not_reuse_a_frame_whose_code_object_was_replaced
 *        tests/unit/unwind/test_reused_addresses.c: names_functions_that_are_made_in_turn
 */
struct cached_stack {
    struct raw_frame *raw;    /* owned */
    struct cpy_frame *frames; /* owned */
    uint32_t room, depth;     /* items of the arrays; of these, items in use */
    bool cut;                 /* deeper than CPY_DEPTH_MAX: outer frames are missing */
    uint64_t stamp;           /* identifies its code objects, see resolve.c; 0: not known */
};

/*
 * Python's name of a thread in one interpreter: see thread_names.h.
 *
 * Cache: names of threads
 * Key:   as struct cached, which contains it
 * Ends:  as struct cached; read again when the thread has run and cpy_look_at_names was called
 * Test:  tests/unit/unwind/test_thread_names.c:
 *          gives_a_thread_no_name_of_another_that_had_its_state
 *        tests/unit/unwind/test_thread_names.c: sees_that_a_thread_has_renamed_itself
 */
struct thread_name {
    char *text;             /* owned; NULL: not known */
    bool looked;            /* names_read was called for it */
    bool ran;               /* the thread may have run since `text` was read or confirmed */
    bool changed;           /* `text` differs from what thread_names_get gave last */
    uint64_t round;         /* target_names.round of the last look */
    uint64_t whole_round;   /* the same of the last names_read */
    struct names_seen seen; /* result of the last names_read */
    uint64_t next;          /* if names_read failed: number of the sample of the next try */
    uint64_t wait;          /* likewise: samples between the last try and the next */
};

void thread_name_finish(struct thread_name *name);

/*
 * One thread state.
 *
 * Cache: what is known of threads
 * Key:   address of the PyThreadState; with it pthread_t and, from 3.11 on, the kernel's thread id
 * Ends:  when the state is not listed, or is listed with another pthread_t or thread id
 * Test:  tests/unit/unwind/test_gil_skip.c: knows_a_thread_whose_state_was_that_of_another
 *        tests/unit/unwind/stack/test_thread_cache.c: frees_what_was_not_listed_and_keeps_the_rest
 */
struct cached {
    cpy_addr state;               /* address of the PyThreadState */
    uint64_t thread_id;           /* pthread_t: another thread may get the same state */
    uint64_t native_id;           /* kernel's thread id, from 3.11 on; else 0 */
    uint64_t seen;                /* thread_cache.lists of the last list that had it */
    struct prefetch_set set;      /* what a sample reads of it */
    struct sched_idle sched_idle; /* scheduler counters: has it run since its stack was read? */
    struct cached_stack stack;    /* its last stack */
    struct cpy_thread out;        /* what the last sample gave of it */
    uint64_t counted_ns;          /* CPU time at the last cpu_account_add: see cpu_account.h */
    bool used_cpu;                /* it used CPU time between the last two cpu_account_add calls */
    bool asked;                   /* this full sample asked the kernel about it before the fetch */
    bool given;                   /* this GIL-skip sample has given it */
    bool whole;                   /* `out` is complete, and valid until the thread runs */
    cpy_addr frame;               /* its innermost frame when its stack was read */
    bool sleeps;                  /* this full sample found that it has not run since then */
    uint64_t inner_tid;           /* thread id in the target's pid namespace; 0: not known */
    uint64_t refuted_tid;         /* inner_tid that proved to be another thread's; 0: none */
    struct thread_name name;      /* in the interpreter of the state */
};

struct thread_cache {
    struct cached **all; /* owned; each owned */
    size_t count, capacity;
    struct pointer_table by_state; /* the same, by address of the PyThreadState */
    size_t frames;                 /* sum of cached_stack.room */
    uint64_t lists;                /* lists begun so far */
};

void thread_cache_init(struct thread_cache *thread_cache);
void thread_cache_finish(struct thread_cache *thread_cache, struct prefetch *prefetch);

/* The entry of a thread state, made if there is none; this list keeps it. NULL: no memory. */
struct cached *thread_cache_get(struct thread_cache *thread_cache, cpy_addr state);

/* Begin and end a list of all threads. The end frees entries without a thread_cache_get since. */
void thread_cache_begin_list(struct thread_cache *thread_cache);
void thread_cache_end_list(struct thread_cache *thread_cache, struct prefetch *prefetch);

/* Makes all stacks empty and not `whole`; the ranges to prefetch stay. */
void thread_cache_forget_stacks(struct thread_cache *thread_cache);

/* Makes room for `depth` frames; those in use stay. False: out of memory, or too many frames. */
bool thread_cache_reserve(struct thread_cache *thread_cache, struct cached_stack *stack,
                          uint32_t depth);

#endif
