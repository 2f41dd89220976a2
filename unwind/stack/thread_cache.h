/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_cache.h - what is kept of each thread from one sample to the next: what to read of it,
 * and its stack with names and lines.
 *
 * Shape: thread_cache_init; for each list of all threads thread_cache_begin_list, thread_cache_get
 * for each of them, thread_cache_end_list; thread_cache_finish.
 */
#ifndef UNWIND_STACK_THREAD_CACHE_H
#define UNWIND_STACK_THREAD_CACHE_H

#include "unwind/fast/prefetch.h"
#include "unwind/fast/sched_idle.h"
#include "unwind/stack/walk.h"

enum { THREAD_CACHE_FRAMES_MAX = 1 << 18 }; /* of all threads of a target */

/*
 * A resolved stack. Both arrays end with the outermost frame, at `room`: while only the inner
 * end of a stack changes, the rest stays where it is.
 */
struct cached_stack {
    struct raw_frame *raw;    /* owned */
    struct cpy_frame *frames; /* owned */
    uint32_t room, depth;
    bool cut;
    uint64_t generation; /* of the code objects when it was resolved; 0: not known */
};

struct cached {
    cpy_addr state; /* of the thread; with the next two it tells threads apart */
    uint64_t thread_id, native_id;
    uint64_t seen; /* the list in which it was last */
    struct prefetch_set set;
    struct sched_idle sched_idle;
    struct cached_stack stack;
    struct cpy_thread out; /* what was given last */
    bool whole;            /* `out` is all there, and good as long as the thread does not run */
    bool sleeps;           /* and it did not, as was found out before this sample of all threads */
    uint64_t inner_tid;    /* 3.6 to 3.10: as it was found out; 0: it was not */
    uint64_t names;        /* names->refreshes when its name was looked up */
};

struct thread_cache {
    struct cached **all; /* owned; each owned */
    size_t count, capacity;
    struct cached **slots; /* owned: open addressing by state; NULL: empty */
    size_t slot_count;
    size_t frames; /* room of all stacks */
    uint64_t lists;
};

void thread_cache_init(struct thread_cache *thread_cache);
void thread_cache_finish(struct thread_cache *thread_cache, struct prefetch *prefetch);

/* What is kept of a thread state; new and empty for one that was not there. NULL: no memory. */
struct cached *thread_cache_get(struct thread_cache *thread_cache, cpy_addr state);

/* Begins a list of all threads; ends it: what was not asked for since is freed. */
void thread_cache_begin_list(struct thread_cache *thread_cache);
void thread_cache_end_list(struct thread_cache *thread_cache, struct prefetch *prefetch);

/* Forgets all stacks, not what to read. */
void thread_cache_forget_stacks(struct thread_cache *thread_cache);

/* Makes room for `depth` frames; what is there stays. False: there is none. */
bool thread_cache_reserve(struct thread_cache *thread_cache, struct cached_stack *stack,
                          uint32_t depth);

#endif
