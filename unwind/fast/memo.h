/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo.h - keeps what was made of bytes of the target, and gives it again while they are the same.
 *
 * Decoding is a function of the bytes that it reads. So what it reads is noted, with where it lies
 * in the copies that were fetched beforehand (prefetch.h); if the next sample's copies have the
 * same bytes in these places, what was made of them is given again without another look.
 *
 * This also verifies it: whatever was whole in the sample before, and is in each part the same now,
 * was there all the time between (as what is read twice within one sample is taken to be), so
 * nothing needs to be read a second time to know that it belongs together.
 *
 * Shape:   memos_init; memos_begin; for each thing memo_find, and if that has nothing memo_listen,
 *          reads through `mem`, memo_keep; memos_end; memos_finish.
 */
#ifndef UNWIND_FAST_MEMO_H
#define UNWIND_FAST_MEMO_H

#include "unwind/fast/prefetch.h"

enum {
    MEMO_BYTES_MAX = 16 << 20, /* of all things of one kind; what is more is decoded each time */
    MEMO_PIECES_MAX = 1 << 17  /* that are noted of one thing */
};

/* What a thing is: its address, and whose it is. */
struct memo_key {
    cpy_addr addr, owner;
};

struct memo_piece {
    cpy_addr from;
    uint32_t size;
    uint32_t at; /* in the copies */
};

struct memo {
    struct memo_key key;
    uint64_t pass; /* in which it was given last */
    bool good;
    uint32_t laid; /* set->laid when the places were found */
    uint32_t piece_count;
    size_t made_size, room; /* bytes: of what was made; of `block` */
    unsigned char *block;   /* owned: what was made, the pieces, their bytes */
    struct memo *next_spare;
};

struct memos {
    struct mem mem;            /* what is read through this is noted */
    struct prefetch *prefetch; /* borrowed: what it is read from */
    struct prefetch_set *set;  /* borrowed: the copies */
    struct memo **all;         /* owned; each owned */
    size_t count, capacity;
    struct memo **slots; /* owned: open addressing by key; NULL: empty */
    size_t slot_count;
    struct memo *spare; /* owned: a list of those that are of nothing now */
    size_t spare_count;
    size_t next;  /* which is likely asked for next */
    size_t given; /* in this pass */
    size_t bytes; /* of all blocks */
    uint64_t pass;
    /* Of the thing that is being decoded. */
    struct memo_piece *pieces; /* owned: scratch */
    size_t piece_count, piece_capacity;
    bool listens;
    cpy_addr apart; /* reads in these bytes are not noted: they are compared otherwise */
    size_t apart_size;
};

void memos_init(struct memos *memos, struct prefetch *prefetch, struct prefetch_set *set);
void memos_finish(struct memos *memos);

/* Begins a pass over all things; ends it: what was not given in it may be freed. */
void memos_begin(struct memos *memos);
void memos_end(struct memos *memos);

/* Forgets all. */
void memos_forget(struct memos *memos);

/*
 * What was made of a thing, if all that it was made of is the same in the copies of this sample.
 *
 * Lends: until the same thing is kept again, and at least until memos_end. NULL: there is nothing.
 * Cost:  compares the bytes, some hundred a task.
 */
void *memo_find(struct memos *memos, struct memo_key key);

/* Notes from now on what is read through `mem` as MEM_FIRST, but for `size` bytes at `apart`. */
void memo_listen(struct memos *memos, cpy_addr apart, size_t size);

/*
 * Ends that; keeps what was made, if all that was read was in the copies.
 *
 * Lends: `made_size` bytes, aligned to 8, to be filled with it; NULL: it cannot be kept.
 */
void *memo_keep(struct memos *memos, struct memo_key key, size_t made_size);

/* Ends that without anything to keep. */
void memo_drop(struct memos *memos);

#endif
