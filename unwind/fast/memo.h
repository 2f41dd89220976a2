/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo.h - results of decoding, reused while the bytes that they were decoded from are the same.
 *
 * Decoding depends only on the bytes that it reads. So each read is recorded, with its offset in
 * the copies that were fetched beforehand (prefetch.h). If the copies of the next sample have the
 * same bytes at all these offsets, the result is the same, too.
 *
 * This also detects torn reads without a second read: if no part has changed from one sample to the
 * next, all parts had these bytes together at some time between the two.
 *
 * Shape:   memos_init; in each pass memos_begin, then for each item memo_find and, if that gives
 *          NULL, memo_record, reads through `mem`, memo_store or memo_discard; then memos_end;
 *          memos_finish.
 */
#ifndef UNWIND_FAST_MEMO_H
#define UNWIND_FAST_MEMO_H

#include "base/pointer_table.h"
#include "unwind/fast/prefetch.h"

enum {
    MEMO_BYTES_MAX = 16 << 20, /* of one struct memos; further items are decoded each time */
    MEMO_PIECES_MAX = 1 << 17  /* recorded reads of one item */
};

/*
 * Identity of an item: its address, and that of its owner.
 *
 * Cache: results of decoding
 * Key:   address of the item, and of its owner
 * Ends:  when one of the bytes that it was decoded from differs in this sample's copies, or it was
 *        not used for long
 * Test:  tests/unit/unwind/fast/test_memo.c: gives_what_a_target_gives_that_has_seen_nothing_before
 */
struct memo_key {
    cpy_addr addr, owner;
};

/* A read that the result depends on. */
struct memo_piece {
    cpy_addr from; /* address in the target */
    uint32_t size; /* bytes */
    uint32_t at;   /* offset in the copies, set->bytes */
};

struct memo {
    struct memo_key key;
    uint64_t pass;         /* the last pass that found or stored it */
    bool good;             /* the result may be reused */
    uint32_t layout_count; /* set->layout_count when the offsets were found */
    uint32_t piece_count;
    size_t result_size, room; /* bytes of the result; of `block` */
    unsigned char *block;     /* owned: the result, the pieces, their bytes */
    struct memo *next_spare;  /* in memos.spare */
};

struct memos {
    struct mem mem;            /* reads through this are recorded */
    struct prefetch *prefetch; /* borrowed: serves the reads */
    struct prefetch_set *set;  /* borrowed: the copies */
    struct memo **all;         /* owned; each owned; in the order in which they were first stored */
    size_t count, capacity;
    struct pointer_table by_key; /* by a hash of the key; only one memo for each hash */
    struct memo *spare;          /* owned: list of unused memos */
    size_t spare_count;
    size_t next;   /* index of the memo that is likely looked up next */
    size_t given;  /* memos found or stored in this pass */
    size_t bytes;  /* of all blocks */
    bool off;      /* set by the owner: nothing is recorded or found */
    uint64_t pass; /* number of the current pass */
    /* The item that is being decoded: */
    struct memo_piece *pieces; /* owned: scratch */
    size_t piece_count, piece_capacity;
    bool recording;    /* false also after a read that prevents storing */
    cpy_addr excluded; /* reads that begin in these bytes are not recorded: see memo_record */
    size_t excluded_size;
};

void memos_init(struct memos *memos, struct prefetch *prefetch, struct prefetch_set *set);

/* Frees all. *memos is as after memos_init then, but keeps `off`: it may be used again. */
void memos_finish(struct memos *memos);

/* Begin and end a pass over all items. memos_end may free results that the pass did not use. */
void memos_begin(struct memos *memos);
void memos_end(struct memos *memos);

/* Invalidates all results. Frees nothing: what memo_find has lent stays readable. */
void memos_forget(struct memos *memos);

/*
 * The result for an item, if all bytes that it depends on are the same in this sample's copies;
 * else NULL. prefetch->now must be `set` here and for memo_record; else there is no result.
 *
 * Lends: until memo_store of the same key or memos_end.
 * Cost:  compares all these bytes: some hundred for a task.
 */
void *memo_find(struct memos *memos, struct memo_key key);

/* Starts to record MEM_FIRST reads through `mem` (mem.h). Does not record `implied` reads, nor
 * reads that begin in the `size` bytes at `excluded`, which the caller compares itself. After a
 * `once` read memo_store gives NULL. */
void memo_record(struct memos *memos, cpy_addr excluded, size_t size);

/*
 * Stops recording; makes a result if reads were recorded, and all were served from the copies.
 *
 * Lends: `result_size` bytes, aligned to 8, as long as memo_find does. The caller fills them before
 *        the next memo_find. NULL: no result is made.
 */
void *memo_store(struct memos *memos, struct memo_key key, size_t result_size);

/* Stops recording without a result. */
void memo_discard(struct memos *memos);

#endif
