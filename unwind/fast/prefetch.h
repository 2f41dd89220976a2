/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.h - predicts what a sample will read, and reads that with one system call.
 *
 * The folder unwind/fast/ knows how to take a sample with fewer reads and less disturbance of the
 * target: prediction, CPU pinning, BPF, scheduler counters, results that are used again. It knows
 * nothing of Python; without it samples would give the same, and take longer.
 *
 * A sample reads nearly the same memory as the one before. So the ranges that were read are
 * recorded in sets (one for each thread, one for all tasks). prefetch_fetch reads all ranges of the
 * given sets with one call (a few calls if there are very many). Until the next fetch, reads
 * through `struct prefetch` are served from these copies. What is missing there is read from the
 * target as without prediction, and added to the set.
 *
 * The kernel copies ranges in order, so each set is fetched in the order of enum mem_when: first
 * most of it, then the words that say where the stack begins (mem_read_state), then the second
 * reads (mem_read_again), which show that nothing has changed. Once a first read was not served, no
 * second read is served, because its copy would be older than that first read.
 *
 * Shape:   prefetch_init, prefetch_set_init; each sample: prefetch_fetch, set `now`, read through
 *          `mem`; prefetch_set_finish, prefetch_finish.
 * Source:  measured in tests/bench: a further range of a call costs a third of a call.
 */
#ifndef UNWIND_FAST_PREFETCH_H
#define UNWIND_FAST_PREFETCH_H

#include "unwind/fast/bpf_reader.h"
#include "unwind/read/mem.h"

struct prefetch_range {
    cpy_addr from;
    uint32_t size;   /* bytes to fetch */
    uint32_t at;     /* offset of the copy in the set's `bytes` */
    uint32_t have;   /* bytes of the copy; 0: not fetched */
    uint32_t used;   /* bytes from `from` on that were used in this window */
    uint64_t blocks; /* bit i: block i, of 2^shift bytes, was used in this window; the last bit
                        also stands for all blocks behind */
    uint8_t shift;
    enum mem_when when;
};

/*
 * Ranges that are fetched together.
 *
 * Cache: the addresses that a sample reads; their bytes are fetched in each sample
 * Key:   address
 * Ends:  when a window of fetches has not used a range, or it cannot be read; a wrong range costs
 *        time only
 * Test:  tests/unit/unwind/fast/test_prefetch.c: empties_only_the_set_whose_range_is_gone
 */
struct prefetch_set {
    struct prefetch_range *ranges; /* owned */
    uint32_t count;
    size_t capacity;
    uint32_t sorted;               /* ranges at the start that are in order, if by_address */
    uint32_t hints[MEM_AGAIN + 1]; /* index of the range that is likely read next, for each enum
                                      mem_when; without by_address only [0] */
    uint32_t fetches;              /* in this window */
    uint32_t window;               /* length of this window, in fetches */
    bool by_address;               /* ranges are sorted by address, and neighbours are joined */
    bool state_only;               /* the next fetch gets only MEM_STATE ranges */
    bool not_by_bpf;               /* not fetched by BPF reads, which hold up the target */
    bool followed;                 /* see prefetch_follow */
    bool changed;                  /* the ranges need a new layout of `bytes` */
    bool missed;                   /* a MEM_FIRST read since the fetch was not served */
    bool has_state;                /* the last MEM_STATE read was served */
    uint64_t bpf_count;            /* bpf_reader_count at the fetch, if the BPF program did it: then
                                      all copies are of one moment; else 0 */
    unsigned char *bytes;          /* owned: the copies */
    size_t room;                   /* bytes of `bytes` */
    uint32_t layout_count;         /* layouts and windows so far: until it changes, each offset in
                                      `bytes` belongs to the same address, and use of a range has
                                      to be noted only once */
};

struct prefetch {
    struct mem mem;                      /* reads through this are served from the copies */
    struct mem *const *inner;            /* borrowed: reads the target */
    struct prefetch_set *now;            /* borrowed: serves reads; NULL: all go to `inner` */
    struct prefetch_set *shared;         /* borrowed: serves mem_look while mem.shared is set */
    size_t bytes;                        /* of all sets' copies */
    struct mem_range *batch;             /* owned: scratch: the ranges of one call */
    struct bpf_reader *bpf_reader;       /* borrowed; NULL: not available */
    struct bpf_reader_thread bpf_thread; /* the thread that it interrupts */
    bool uses_bpf;                       /* the next fetch tries the BPF reader first */
    bool by_bpf;                         /* the BPF reader did the last fetch */
    bool off;                            /* nothing is fetched: each read goes to `inner` */
    uint64_t bpf_fetches;                /* fetches by the BPF reader so far */
    uint64_t misses;                     /* reads that were not served, so far */
};

/* Reads the target through *inner, which may change later. */
void prefetch_init(struct prefetch *prefetch, struct mem *const *inner);
void prefetch_finish(struct prefetch *prefetch);

void prefetch_set_init(struct prefetch_set *set, bool by_address);
void prefetch_set_finish(struct prefetch *prefetch, struct prefetch_set *set);

/*
 * Fetches all ranges of these sets: set by set, and within a set in the order of enum mem_when. A
 * set with a range that cannot be read is emptied; that is no error.
 */
void prefetch_fetch(struct prefetch *prefetch, struct prefetch_set *const *sets, size_t count);

/* Frees the copies; the ranges stay, and the next fetch copies them again. */
void prefetch_release(struct prefetch *prefetch, struct prefetch_set *set);

/*
 * Drops all ranges of the set but MEM_STATE ones: from now on BPF reads follow the stack instead.
 * For stacks in many small pieces of memory, which would be fetched with the memory between them.
 */
void prefetch_follow(struct prefetch_set *set);

/* Removes all ranges of a set. */
void prefetch_forget(struct prefetch_set *set);

#endif
