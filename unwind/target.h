/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - struct cpy_target, which all parts of a sample share; private to the library and its
 * tests. */
#ifndef UNWIND_TARGET_H
#define UNWIND_TARGET_H

#include "unwind/cpu_account.h"
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
    cpy_addr addr, next, threads_head, threads_main, gil, gc_frame; /* 0: none */
    cpy_addr holder;      /* thread state that holds the GIL; 0: none */
    cpy_addr last_holder; /* thread state that held it last; valid if `counts` */
    uint64_t switches;    /* GIL hand-overs from one thread to another; valid if `counts` */
    bool counts;          /* the interpreter counts GIL switches: 3.12 and later, with a GIL */
    size_t runner;        /* index of last_holder in list.threads; SIZE_MAX: not listed */
    uint64_t generation;  /* count of code objects that died; 0: the version has no such count */
    uint64_t marker;      /* interp.marker of the layout; 0: not read */
    uint64_t id;          /* CPython's own number; 0: the main interpreter */
    int32_t collecting;   /* not 0: it collects garbage */
};

/* Words of the oldest interpreter that differ in another runtime: the marker is another, or one of
 * the counts, which only grow, is lower. */
struct runtime {
    uint64_t marker, generation, switches; /* as in struct interp */
};

/* A thread state of the last list. */
struct listed {
    struct thread_words words;
    struct cached *cached; /* borrowed from cache.threads */
    bool ran;              /* it may have run since the sample before, by the GIL's count */
    uint32_t interp;       /* index of its interpreter */
    uint64_t inner_tid;    /* thread id in the target's pid namespace; 0: not known */
    uint32_t outer; /* index + 1 of the next outer state of the same kernel thread; 0: none */
    bool joined;    /* it is such an outer state: given as part of the inner one */
};

/* Memory that is needed only during a sample; its contents are not used later. */
struct cpy_scratch {
    struct walk_scratch *walk;     /* owned */
    struct raw_stack *raw;         /* owned */
    cpy_addr *addrs;               /* owned: CPY_DEPTH_MAX code addresses */
    struct cpy_frame *frames;      /* owned: CPY_DEPTH_MAX frames: joined stack of several states */
    struct cached_stack stack;     /* owned: for a stack that the thread cache has no room for */
    struct bpf_reader *bpf_reader; /* owned; NULL: not requested, or not possible */
    struct sched_idle_files stat_files; /* open files; these outlive the sample */
};

/* The process, and the means to read it. */
struct target_process {
    pid_t pid;
    int proc_fd;          /* owned: /proc/PID; -1: a memory image */
    struct mem *mem;      /* owned */
    struct tids tids;     /* maps ids of its threads to our pid namespace */
    uint64_t reads_limit; /* value of mem->reads at which this sample fails */
};

/*
 * Results of decoding that later samples use again.
 *
 * Cache: the address of None (`none_object`)
 * Key:   address of the object, if its type is called NoneType
 * Ends:  never: it is a static variable of the interpreter
 * Test:  tests/unit/unwind/stack/test_free_threaded.c:
 *          tells_an_exception_by_the_place_of_this_build
 */
struct target_cache {
    struct codes codes;
    struct names names;
    struct thread_cache threads;
    uint64_t codes_replaced; /* codes.replaced + codes.evicted when the stacks were resolved */
    cpy_addr none_object;    /* address of None; 0: not met yet */
};

/* What is fetched beforehand. The sets of single threads are in cache.threads. */
struct target_sets {
    struct prefetch_set common;   /* words of the interpreters */
    struct prefetch_set contents; /* names and line tables of code objects, before 3.14 */
    struct prefetch_set names;    /* memory that names of threads are read from */
    struct prefetch_set *only;    /* borrowed: serves all reads instead of the others; NULL: none */
    struct prefetch_set **list;   /* owned: scratch: the sets of one prefetch_fetch */
    size_t capacity;              /* of `list` */
};

/*
 * Interpreters and threads, as the last full sample listed them.
 *
 * Cache: interpreters and threads, for GIL-skip samples
 * Key:   addresses of the states
 * Ends:  when an interpreter has another id, successor or list of threads, a thread another id, the
 *        runtime is another (struct runtime), or each 64 samples
 * Test:  tests/unit/unwind/test_gil_skip.c: knows_a_thread_whose_state_was_that_of_another
 *        tests/unit/unwind/test_gil_skip.c: finds_an_interpreter_that_came
 *        tests/unit/unwind/test_reused_addresses.c:
 *          names_functions_of_a_runtime_that_was_begun_again
 */
struct target_list {
    struct interp *interps; /* owned */
    size_t interp_count, interp_capacity;
    struct listed *threads; /* owned */
    size_t thread_count, thread_capacity;
    bool asks_all; /* this full sample asks the kernel about all threads: see cpu_account.h */
    struct runtime runtime;  /* the runtime of the interpreters */
    uint64_t main_thread_id; /* pthread_t of the main thread; 0: see interp.threads_main */
};

/* Samples that read only threads that ran: see gil_skip.h. */
struct target_gil_skip {
    bool active;       /* this sample is one */
    bool ready;        /* the next sample may be one */
    bool counted_late; /* the words of the interpreters were read after the stacks */
    unsigned samples;  /* GIL-skip samples so far: some of them read the head of the list */
    size_t *ran;       /* owned: indices of the threads that ran */
    size_t ran_count, ran_capacity;
};

/* When names of threads are read: see thread_names.h. */
struct target_names {
    bool due;       /* this round has yet to look at threads that have run */
    uint64_t round; /* calls of cpy_look_at_names so far */
    bool more;      /* some of these threads are left for the next sample */
    bool came;      /* the sample before had new threads */
    bool fetched;   /* sets.names was fetched with this sample */
    uint64_t next;  /* least thread_name.next of threads without a known name */
    size_t turn;    /* index of the thread that was looked at last in turn, whether it ran or not */
};

/* Asyncio tasks. */
struct target_tasks {
    struct asyncio asyncio;
    struct prefetch_set all;      /* what cpy_tasks reads */
    struct prefetch_set awaiters; /* what cpy_running_tasks reads */
    struct memos all_memos;       /* what cpy_tasks decoded */
    struct memos awaiter_memos;   /* what cpy_running_tasks decoded */
    bool awaiters_wanted;         /* cpy_running_tasks was called after the last sample */
    bool awaiters_fetched;        /* the last sample fetched `awaiters`, not used yet */
};

/* Periods, after a torn sample, in which samples are read from the target's CPU from the start. */
struct target_pinned {
    unsigned samples_left; /* of this period; 0: there is none now */
    unsigned samples_next; /* in samples, a quarter of the next period; 0: there was none yet */
    unsigned untorn;       /* samples outside of periods, counted if that was a long one */
};

/* Pause of reads by the BPF program, after several in a row have failed. */
struct target_bpf_pause {
    unsigned failed;       /* reads in a row that failed */
    unsigned samples_left; /* of the pause; 0: none */
};

/*
 * Which threads run, and where.
 *
 * Cache: which thread is likely to run, and where
 * Key:   the kernel's thread id
 * Ends:  when a sample finds another one; a wrong one costs time only
 * Test:  tests/unit/unwind/fast/test_bpf_reader.c: brings_nothing_of_a_thread_that_is_elsewhere
 */
struct target_running {
    pid_t gil_tid;               /* the thread that held the GIL last; 0: not known */
    bool gil_tid_slept;          /* it slept in the last sample, or in the one before */
    pid_t last_ran;              /* the thread whose CPU time was last seen to grow; 0: none */
    pid_t seen_tid;              /* the last thread whose CPU this sample found out; 0: none */
    int seen_cpu;                /* the CPU that seen_tid runs on, or ran on last */
    struct sched_idle_wake wake; /* when and where our thread woke up for this sample */
};

struct cpy_target {
    struct target_process process;
    struct found found;         /* the interpreter: runtime address, version, layout */
    struct cpy_info info;       /* the same for users of the library */
    struct cpy_options options; /* see cpy_set_options */
    struct cpy_stats stats;     /* counters since cpy_open */
    struct prefetch prefetch;   /* serves all reads once the interpreter is found */
    struct target_sets sets;
    struct target_cache cache;
    struct target_list list;
    struct target_gil_skip gil_skip;
    struct cpu_account cpu_account;
    struct target_names names;
    struct target_tasks tasks;
    struct cpu_pin cpu_pin; /* CPU affinity of the calling thread */
    struct target_pinned pinned;
    struct target_bpf_pause bpf_pause;
    struct target_running running;
    struct cpy_scratch *scratch; /* owned, unless scratch_borrowed */
    bool scratch_borrowed;
};

/* A target without memory or runtime, for cpy_open to fill. Ended with cpy_close. */
MUST_CHECK struct cpy_target *target_new(void);

/* The reader of a sample, which is served from prefetched copies where they are. */
struct reader target_reader(struct cpy_target *target);

/* True if the BPF program follows a thread's stack instead of copying ranges: before 3.11, because
 * frames are many small pieces of memory there. */
bool target_follows(const struct cpy_target *target, pid_t tid);

/* True if samples use this layer: it is not in cpy_options.plain. */
bool target_uses(const struct cpy_target *target, enum cpy_layer layer);

/* True if samples find out whether threads are on a CPU. */
bool target_asks_cpu(const struct cpy_target *target);

/* Begins a sample; frees what the sample before has lent. */
void target_begin(struct cpy_target *target);

/* Ends a sample. */
void target_end(struct cpy_target *target);

/* Searches for asyncio's table if it is not known; `now`: even if it was searched lately. */
void target_look_for_asyncio(struct cpy_target *target, bool now);

/* Sets what depends on `found`: info, the spans of its layout, and how BPF reads follow stacks. */
void target_choose_readers(struct cpy_target *target);

#endif
