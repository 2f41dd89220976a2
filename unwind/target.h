/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - what a struct cpy_target is made of; shared by all that take part in a sample. */
#ifndef UNWIND_TARGET_H
#define UNWIND_TARGET_H

#include "unwind/fast/cpu_pin.h"
#include "unwind/fast/memo.h"
#include "unwind/locate/find.h"
#include "unwind/objects/code.h"
#include "unwind/objects/names.h"
#include "unwind/read/tids.h"
#include "unwind/stack/thread_cache.h"
#include "unwind/stack/walk.h"
#include "unwind/tasks/asyncio.h"

/* The words of an interpreter that a sample needs. */
struct interp {
    cpy_addr addr, next, threads_head, threads_main, gil, gc_frame;
    cpy_addr holder;      /* the thread state that holds the GIL; 0: none */
    cpy_addr last_holder; /* the one that held it last, if it is known who */
    uint64_t switches;    /* times that the GIL went from one thread to another */
    bool counts;          /* last_holder and switches are known */
    size_t runner;        /* index of the thread that is last_holder, SIZE_MAX: none is */
    uint64_t generation;  /* of code objects; 0: the version does not tell */
    uint64_t id;
    int32_t collecting;
};

/* A thread as it was listed. */
struct listed {
    struct thread_words words;
    struct cached *cached; /* borrowed from t->keep */
    bool ran;              /* since the sample before, as far as one can know */
    uint32_t interp;       /* index of its interpreter */
    uint64_t inner_tid;    /* the kernel's id as the target sees it; 0: not known */
    uint32_t outer;        /* index + 1 of the state of the same kernel thread below it; 0: none */
    bool joined;           /* it is below another one: shown there */
};

/* Where a sample is put together. Nothing in it outlives the sample. */
struct cpy_scratch {
    struct walk_scratch *walk; /* owned */
    struct raw_stack *raw;     /* owned */
    cpy_addr *addrs;           /* owned: CPY_DEPTH_MAX code addresses */
    struct cpy_frame *frames;  /* owned: CPY_DEPTH_MAX: a stack of several parts */
    struct cached_stack stack; /* owned: where there is no room to keep one */
    struct bpf_reader
        *bpf_reader; /* owned: reads where the target runs; NULL: that is not possible */
};

struct cpy_target {
    pid_t pid;
    int proc_fd;              /* owned: /proc/PID; -1 for an image */
    struct mem *mem;          /* owned: what reads the process itself */
    struct prefetch prefetch; /* what all others read through, once it is found */
    struct found found;
    struct cpy_info info;
    struct cpy_stats stats;
    struct codes codes;
    struct names names;
    struct tids tids;
    struct cpu_pin cpu_pin;
    struct asyncio asyncio;
    uint64_t reads_end;          /* of mem->reads: where this sample has taken too long */
    unsigned seated;             /* samples that are still to be taken from the target's CPU */
    unsigned untorn;             /* samples that needed no seat, since */
    unsigned seated_next;        /* how many it will be when it tears again */
    pid_t runner;                /* the thread that held the GIL last; 0: not known */
    pid_t seen;                  /* a thread of which this sample has found out, */
    int seen_cpu;                /* that it is or was there; 0: of none */
    struct sched_idle_here here; /* the CPU that we woke up on for this sample */
    unsigned failed_bpf_reads;   /* times in a row that what ran could not be read there, */
    unsigned off_site;           /* and samples for which that is not tried, then */
    pid_t awake;                 /* the thread that was last seen to have run; 0: none was */
    struct cpy_scratch *scratch; /* owned, unless it borrows it */
    bool borrows;
    struct thread_cache thread_cache;
    struct prefetch_set common;   /* the words of the interpreters */
    struct prefetch_set tasks;    /* all that cpy_tasks reads */
    struct prefetch_set awaiters; /* all that cpy_running_tasks reads */
    struct memos tasks_made;      /* what was made of the one, */
    struct memos awaiters_made;   /* and of the other */
    bool awaiters_wanted;         /* after the last sample somebody asked for running tasks */
    bool awaiters_there;          /* `awaiters` was fetched with the last sample */
    struct prefetch_set *one_set; /* borrowed: instead of all of them; NULL: they are used */
    struct prefetch_set **sets;   /* owned: scratch, for all threads and `common` */
    size_t set_capacity;
    size_t *ran; /* owned: indices of the threads that ran */
    size_t ran_count, ran_capacity;
    bool gil_skips;         /* this sample reads only threads that ran */
    bool ready;             /* the next one may be like that */
    bool counted_late;      /* the counts in `interps` were read after the stacks */
    unsigned light_samples; /* in a row */
    size_t nameless;        /* threads of the last sample without a known name */
    uint64_t replaced;      /* codes.replaced + codes.evicted when the stacks were kept */
    struct interp *interps; /* owned: those of this sample */
    size_t interp_count, interp_capacity;
    struct listed *threads; /* owned: those of this sample */
    size_t thread_count, thread_capacity;
    uint64_t main_thread_id; /* pthread_t of the main thread; 0: threads_main tells */
    cpy_addr none;           /* the None object, once one was met */
    struct cpy_options options;
};

/* A target without memory or runtime, for cpy_open to fill. Ended with cpy_close. */
MUST_CHECK struct cpy_target *target_new(void);

/* How the target is read in a sample: what was predicted is there already. */
struct reader target_reader(struct cpy_target *target);

/* True if a thread's stack need not be asked for where all is read on site: its frames are so many
 * small pieces of memory that to follow them there takes less than to read all that may be some. */
bool target_follows(const struct cpy_target *target, pid_t tid);

/* True if it is found out whether threads are on a CPU. */
bool target_asks_cpu(const struct cpy_target *target);

/* Begins a sample; frees what the one before has lent. */
void target_begin(struct cpy_target *target);

/* Ends it. */
void target_end(struct cpy_target *target);

/* Forgets all stacks and tasks that were made, not what to read. */
void target_forget_made(struct cpy_target *target);

/* Finds out where tasks lie, if that is not known yet; `now`: also if it was tried lately. */
void target_look_for_asyncio(struct cpy_target *target, bool now);

/* Takes what was found as the target's. */
void target_choose_readers(struct cpy_target *target);

#endif
