/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.h - predicts what a sample will read, and reads it with one system call beforehand.
 *
 * A sample reads nearly what the one before has read. So the ranges that were read are
 * kept, in sets (those of one thread, or of all tasks); prefetch_fetch reads all ranges of the
 * sets that are wanted with one call (a few where there are very many). Until then whoever
 * reads through `struct prefetch` is served from these copies, and what is missing there is
 * read as it would be without, and joins the set.
 *
 * The kernel copies ranges in order, so the order is chosen: first all else, then what says
 * where to begin (mem_read_state), then what is read again to see that nothing has moved
 * (mem_read_again; it is not served if anything was missing, since that was read later).
 *
 * Shape:   prefetch_init, prefetch_set_init; each sample: prefetch_fetch, `now` set, reads through
 *          `mem`; prefetch_set_finish.
 * Source:  measured in tests/bench: a further range of a call costs a third of a call.
 */
#ifndef UNWIND_FAST_PREFETCH_H
#define UNWIND_FAST_PREFETCH_H

#include "unwind/fast/bpf_reader.h"
#include "unwind/read/mem.h"

struct prefetch_range {
    cpy_addr from;
    uint32_t size;     /* to be fetched */
    uint32_t at, have; /* place and size of what was fetched; have 0: nothing */
    uint32_t used;     /* the most that was used of it in this window */
    uint64_t blocks;   /* a bit for each block of 2^shift bytes that was used; the last one: and */
    uint8_t shift;     /* all behind it */
    enum mem_when when;
};

/* Ranges that are fetched together. */
struct prefetch_set {
    struct prefetch_range *ranges; /* owned */
    uint32_t count, capacity;
    uint32_t sorted; /* how many are in order, if by_address */
    uint32_t
        hints[MEM_AGAIN + 1]; /* the range that is likely asked for next; if not by_address, [0] */
    uint32_t fetches;         /* in this window, */
    uint32_t window;          /* which is so long */
    bool by_address;          /* by address, and those that are near each other are one */
    bool state_only;          /* only what says where to begin is fetched this time */
    bool followed;            /* where all is read on site, the stack is not asked for */
    bool changed;             /* the ranges are others than those that were laid out */
    bool missed;              /* something was read that was not fetched */
    bool has_state;           /* what says where to begin was served */
    uint64_t
        stood; /* all was fetched on site, at one moment: bpf_reader_count then; 0: it was not */
    unsigned char *bytes; /* owned: the copies */
    size_t room;
    uint32_t laid; /* counts layouts and windows: while it is the same, each place in `bytes` is of
                      the same address, and what was used once in it need not be looked up again */
};

struct prefetch {
    struct mem mem;                /* what is read through this is served */
    struct mem *const *inner;      /* borrowed: what it is read from */
    struct prefetch_set *now;      /* borrowed: what reads are served from; NULL: nothing */
    size_t bytes;                  /* of all sets' copies */
    struct mem_range *plan;        /* owned: scratch for a call */
    struct bpf_reader *bpf_reader; /* borrowed: can read where `place` says; NULL: nobody can */
    struct bpf_reader_place place;
    bool uses_bpf;   /* it is to do so if it can */
    bool stood;      /* it did: all that was fetched last is of one moment in that thread */
    uint64_t stands; /* times that it did, so far */
    uint64_t misses; /* reads that were not served */
};

/* `inner` is looked up at each read. */
void prefetch_init(struct prefetch *prefetch, struct mem *const *inner);
void prefetch_finish(struct prefetch *prefetch);

void prefetch_set_init(struct prefetch_set *set, bool by_address);
void prefetch_set_finish(struct prefetch *prefetch, struct prefetch_set *set);

/*
 * Reads all ranges of these sets, set by set, and of each those that are read again last.
 * A set with a range that cannot be read is emptied; that is no error.
 */
void prefetch_fetch(struct prefetch *prefetch, struct prefetch_set *const *sets, size_t count);

/* Frees the copies; what to fetch is kept. */
void prefetch_release(struct prefetch *prefetch, struct prefetch_set *set);

/*
 * From now on what is read on site of the stack is not fetched beside that. For stacks in many
 * small pieces of memory, which are near each other, and so would be fetched with all between them.
 */
void prefetch_follow(struct prefetch_set *set);

/* Empties a set. */
void prefetch_forget(struct prefetch_set *set);

#endif
