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
    uint64_t stamp;           /* of its owner when it was resolved, see resolve.c; 0: not known */
};

/*
 * Python's name of a thread, as one interpreter has it: see thread_names.h.
 *
 * Cache: names of threads
 * Key:   as struct cached, which has it
 * Ends:  as struct cached; when the thread has run, and cpy_look_at_names was called since: then it
 *        is looked up by the pthread_t in the interpreter's threading module
 * Test:  tests/unit/unwind/test_thread_names.c:
 *          gives_a_thread_no_name_of_another_that_had_its_state
 *        tests/unit/unwind/test_thread_names.c: sees_that_a_thread_has_renamed_itself
 */
struct thread_name {
    char *text;             /* owned; NULL: not known */
    bool looked;            /* it was looked for */
    bool ran;               /* the thread may have run since then */
    bool changed;           /* it is another since thread_names_get gave it */
    uint64_t round;         /* names.round of the last look, */
    uint64_t whole_round;   /* and of the last that read the name from the interpreter on */
    struct names_seen seen; /* by that */
    uint64_t next;          /* not known: the sample in which it is looked for again, */
    uint64_t wait;          /* and the samples between that and the look before */
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
    struct sched_idle sched_idle; /* whether it has run since */
    struct cached_stack stack;    /* its last stack */
    struct cpy_thread out;        /* what the last sample gave of it */
    uint64_t counted_ns;          /* its CPU time when it was asked last: see cpu_account.h */
    bool used_cpu;                /* it had used some then, since the time before */
    bool asked;                   /* this full sample has asked it, before stacks were read */
    bool given;                   /* this sample has given it */
    bool whole;                   /* `out` is complete, and valid until the thread runs */
    cpy_addr frame;               /* its innermost frame when its stack was read */
    bool sleeps;                  /* it was found not to have run, before this full sample */
    uint64_t inner_tid;           /* 3.6 to 3.10: kernel's thread id; 0: not known */
    uint64_t refuted_tid;         /* an id that it has, but is another thread's; 0: none */
    struct thread_name name;      /* of the interpreter that the state is of */
};

struct thread_cache {
    struct cached **all; /* owned; each owned */
    size_t count, capacity;
    struct pointer_table by_state; /* the same */
    size_t frames;                 /* room of all stacks */
    uint64_t lists;                /* lists begun so far */
};

void thread_cache_init(struct thread_cache *thread_cache);
void thread_cache_finish(struct thread_cache *thread_cache, struct prefetch *prefetch);

/* The entry of a thread state; a new, empty one if there was none. NULL: no memory. */
struct cached *thread_cache_get(struct thread_cache *thread_cache, cpy_addr state);

/* Begins a list of all threads; ends it, and frees entries that were not looked up since. */
void thread_cache_begin_list(struct thread_cache *thread_cache);
void thread_cache_end_list(struct thread_cache *thread_cache, struct prefetch *prefetch);

/* Forgets all stacks, not the ranges to prefetch. */
void thread_cache_forget_stacks(struct thread_cache *thread_cache);

/* Makes room for `depth` frames; those in use stay. False: out of memory, or too many frames. */
bool thread_cache_reserve(struct thread_cache *thread_cache, struct cached_stack *stack,
                          uint32_t depth);

#endif
