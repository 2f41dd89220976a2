/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_cache.h - what is kept of each thread from one sample to the next: what to read of it,
 * and its stack with names and lines.
 *
 * Shape: keep_init; for each list of all threads keep_begin_list, keep_of for each of them,
 *        keep_end_list; keep_finish.
 */
#ifndef UNWIND_STACK_THREAD_CACHE_H
#define UNWIND_STACK_THREAD_CACHE_H

#include "unwind/fast/prefetch.h"
#include "unwind/fast/sched_idle.h"
#include "unwind/stack/walk.h"

enum { KEPT_FRAMES_MAX = 1 << 18 }; /* of all threads of a target */

/*
 * A resolved stack. Both arrays end with the outermost frame, at `room`: while only the inner
 * end of a stack changes, the rest stays where it is.
 */
struct kept_stack {
    struct raw_frame *raw;    /* owned */
    struct cpy_frame *frames; /* owned */
    uint32_t room, depth;
    bool cut;
    uint64_t generation; /* of the code objects when it was resolved; 0: not known */
};

struct kept {
    cpy_addr state; /* of the thread; with the next two it tells threads apart */
    uint64_t thread_id, native_id;
    uint64_t seen; /* the list in which it was last */
    struct ahead_set set;
    struct slumber slumber;
    struct kept_stack stack;
    struct cpy_thread out; /* what was given last */
    bool whole;            /* `out` is all there, and good as long as the thread does not run */
    bool sleeps;           /* and it did not, as was found out before this sample of all threads */
    uint64_t inner_tid;    /* 3.6 to 3.10: as it was found out; 0: it was not */
    uint64_t names;        /* names->refreshes when its name was looked up */
};

struct keep {
    struct kept **all; /* owned; each owned */
    size_t count, capacity;
    struct kept **slots; /* owned: open addressing by state; NULL: empty */
    size_t slot_count;
    size_t frames; /* room of all stacks */
    uint64_t lists;
};

void keep_init(struct keep *keep);
void keep_finish(struct keep *keep, struct ahead *ahead);

/* What is kept of a thread state; new and empty for one that was not there. NULL: no memory. */
struct kept *keep_of(struct keep *keep, cpy_addr state);

/* Begins a list of all threads; ends it: what was not asked for since is freed. */
void keep_begin_list(struct keep *keep);
void keep_end_list(struct keep *keep, struct ahead *ahead);

/* Forgets all stacks, not what to read. */
void keep_forget_stacks(struct keep *keep);

/* Makes room for `depth` frames; what is there stays. False: there is none. */
bool keep_room(struct keep *keep, struct kept_stack *stack, uint32_t depth);

#endif
