/* SPDX-License-Identifier: Apache-2.0 */
/* memo.c - see memo.h. */
#include "unwind/fast/memo.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
    GAP_MAX = 16,  /* unused bytes between two pieces that become one: another compare costs more */
    AGE_MAX = 256, /* passes after which an unused result is freed */
    MEMOS_MAX = 1 << 17,
    SPARES_MAX = 64, /* unused structs for new results */
    BLOCK_STEP = 256
};

static void note_memo_piece(struct memos *memos, cpy_addr from, size_t size)
{
    if (size == 0 || (from >= memos->excluded && from - memos->excluded < memos->excluded_size))
        return;
    if (memos->piece_count == MEMO_PIECES_MAX ||
        !ARRAY_RESERVE(memos->pieces, memos->piece_capacity, memos->piece_count + 1)) {
        memos->recording = false;
        return;
    }
    memos->pieces[memos->piece_count++] = (struct memo_piece){.from = from, .size = (uint32_t)size};
}

static enum cpy_rc memos_read(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    struct memos *memos = (struct memos *)mem;
    struct mem *inner = &memos->prefetch->mem;
    const uint64_t misses = memos->prefetch->misses;
    bool recording;
    enum cpy_rc rc;

    memos->recording &= !mem->once;
    recording = memos->recording && mem->when == MEM_FIRST && !mem->implied;
    for (size_t i = 0; i < count && recording; i++)
        note_memo_piece(memos, ranges[i].from, ranges[i].size);
    inner->when = mem->when;
    inner->once = mem->once;
    rc = mem_read_ranges(inner, ranges, count);
    inner->when = MEM_FIRST;
    inner->once = false;
    if (recording && memos->prefetch->misses != misses)
        memos->recording = false; /* it was not in the copies */
    return rc;
}

static void memos_narrow(struct mem *mem, size_t size)
{
    struct memos *memos = (struct memos *)mem;

    if (memos->recording && memos->piece_count > 0)
        memos->pieces[memos->piece_count - 1].size = (uint32_t)size;
}

static void memos_close(struct mem *mem)
{
    (void)mem; /* it is part of something else */
}

void memos_init(struct memos *memos, struct prefetch *prefetch, struct prefetch_set *set)
{
    *memos = (struct memos){.prefetch = prefetch, .set = set};
    memos->mem.read = memos_read;
    memos->mem.narrow = memos_narrow;
    memos->mem.close = memos_close;
}

static void free_memo(struct memos *memos, struct memo *memo)
{
    memos->bytes -= memo->room;
    free(memo->block);
    free(memo);
}

static struct memo *take_spare(struct memos *memos)
{
    struct memo *memo = memos->spare;

    if (memo) {
        memos->spare = memo->next_spare;
        memos->spare_count--;
    }
    return memo;
}

static void put_away(struct memos *memos, struct memo *memo)
{
    if (memos->spare_count == SPARES_MAX) {
        free_memo(memos, memo);
        return;
    }
    memo->next_spare = memos->spare;
    memos->spare = memo;
    memos->spare_count++;
}

void memos_finish(struct memos *memos)
{
    const bool off = memos->off;

    while (memos->spare)
        free_memo(memos, take_spare(memos));
    for (size_t i = 0; i < memos->count; i++)
        free_memo(memos, memos->all[i]);
    free(memos->all);
    pointer_table_finish(&memos->by_key);
    free(memos->pieces);
    memos_init(memos, memos->prefetch, memos->set);
    memos->off = off;
}

/* The number of a key in the table. A target can make two keys that have the same number. */
static uint64_t memo_number(struct memo_key key)
{
    return key.addr + key.owner * UINT64_C(0x9e3779b97f4a7c15);
}

static bool has_memo_key(const struct memo *memo, struct memo_key key)
{
    return memo && memo->key.addr == key.addr && memo->key.owner == key.owner;
}

/* Things are looked up in nearly the same order in each pass. */
static struct memo *lookup_memo(struct memos *memos, struct memo_key key)
{
    struct memo *memo = memos->next < memos->count ? memos->all[memos->next] : NULL;

    if (has_memo_key(memo, key)) {
        memos->next++;
        return memo;
    }
    memo = pointer_table_find(&memos->by_key, memo_number(key));
    return has_memo_key(memo, key) ? memo : NULL;
}

/* NULL: no memory, too many, or another key has the number of this one. */
static struct memo *add_memo(struct memos *memos, struct memo_key key)
{
    struct memo *memo;

    if (memos->count == MEMOS_MAX || pointer_table_find(&memos->by_key, memo_number(key)) ||
        !ARRAY_RESERVE(memos->all, memos->capacity, memos->count + 1))
        return NULL;
    memo = memos->spare ? take_spare(memos) : calloc(1, sizeof(*memo));
    if (!memo)
        return NULL;
    if (!pointer_table_put(&memos->by_key, memo_number(key), memo)) {
        put_away(memos, memo);
        return NULL;
    }
    memo->key = key;
    memo->good = false;
    memos->all[memos->count++] = memo;
    return memo;
}

void memos_begin(struct memos *memos)
{
    memos->pass++;
    memos->next = memos->given = 0;
}

/* From time to time frees results that were not used for long; if memory is short, all that this
 * pass did not use. */
void memos_end(struct memos *memos)
{
    const bool is_short = memos->bytes > MEMO_BYTES_MAX / 2 && memos->count > 2 * memos->given;
    const uint64_t age = is_short ? 0 : AGE_MAX;
    size_t i, count = 0;

    if (!is_short && memos->pass % AGE_MAX != 0)
        return;
    for (i = 0; i < memos->count; i++) {
        if (memos->pass - memos->all[i]->pass <= age) {
            memos->all[count++] = memos->all[i];
        } else {
            pointer_table_remove(&memos->by_key, memo_number(memos->all[i]->key));
            put_away(memos, memos->all[i]);
        }
    }
    while (is_short && memos->spare)
        free_memo(memos, take_spare(memos));
    memos->count = count;
}

void memos_forget(struct memos *memos)
{
    for (size_t i = 0; i < memos->count; i++)
        memos->all[i]->good = false;
}

static struct memo_piece *pieces_of(const struct memo *memo)
{
    return (struct memo_piece *)(void *)(memo->block + memo->result_size);
}

/* True if these bytes are in the copies. What a BPF read has followed is served from elsewhere. */
static bool is_in_copies(const struct prefetch_set *set, const unsigned char *bytes, size_t size)
{
    const uintptr_t from = (uintptr_t)bytes, first = (uintptr_t)set->bytes;

    return from >= first && size <= set->room && from - first <= set->room - size;
}

/* Finds the offsets of the pieces in the copies. False: one is not there. */
static bool find_pieces(struct memos *memos, struct memo_piece *pieces, size_t count)
{
    const unsigned char *bytes;

    for (size_t i = 0; i < count; i++) {
        bytes = mem_look(&memos->prefetch->mem, pieces[i].from, pieces[i].size, pieces[i].size);
        if (!bytes || !is_in_copies(memos->set, bytes, pieces[i].size))
            return false;
        pieces[i].at = (uint32_t)(bytes - memos->set->bytes);
    }
    return true;
}

static bool are_memo_bytes_unchanged(const struct memos *memos, const struct memo *memo)
{
    const struct memo_piece *piece = pieces_of(memo), *end = piece + memo->piece_count;
    const unsigned char *then = (const unsigned char *)end;

    for (; piece < end; then += piece->size, piece++)
        if (memcmp(memos->set->bytes + piece->at, then, piece->size) != 0)
            return false;
    return true;
}

/* True if what is read now is of the set that results are compared with. */
static bool is_on(const struct memos *memos)
{
    return !memos->off && memos->prefetch->now == memos->set;
}

void *memo_find(struct memos *memos, struct memo_key key)
{
    struct memo *memo = is_on(memos) ? lookup_memo(memos, key) : NULL;

    if (!memo || !memo->good)
        return NULL;
    if (memo->layout_count != memos->set->layout_count) {
        memo->good = find_pieces(memos, pieces_of(memo), memo->piece_count);
        memo->layout_count = memos->set->layout_count;
    }
    memo->good = memo->good && are_memo_bytes_unchanged(memos, memo);
    if (!memo->good)
        return NULL;
    memos->given += memo->pass != memos->pass;
    memo->pass = memos->pass;
    return memo->block;
}

void memo_record(struct memos *memos, cpy_addr excluded, size_t size)
{
    memos->recording = is_on(memos);
    memos->piece_count = 0;
    memos->excluded = excluded;
    memos->excluded_size = size;
}

void memo_discard(struct memos *memos)
{
    memos->recording = false;
}

static int compare_piece_addresses(const void *a, const void *b)
{
    const struct memo_piece *left = a, *right = b;

    return (left->from > right->from) - (left->from < right->from);
}

/* Joins pieces that overlap or nearly touch; gives the bytes of all. */
static size_t merge_memo_pieces(struct memos *memos)
{
    struct memo_piece *pieces = memos->pieces;
    size_t i, joined = 0, bytes = 0;
    uint64_t distance;

    qsort(pieces, memos->piece_count, sizeof(*pieces), compare_piece_addresses);
    for (i = 0; i < memos->piece_count; i++) {
        if (joined > 0) {
            distance = pieces[i].from - pieces[joined - 1].from;
            if (distance <= (uint64_t)pieces[joined - 1].size + GAP_MAX) {
                if (distance + pieces[i].size > pieces[joined - 1].size)
                    pieces[joined - 1].size = (uint32_t)(distance + pieces[i].size);
                continue;
            }
        }
        pieces[joined++] = pieces[i];
    }
    memos->piece_count = joined;
    for (i = 0; i < joined; i++)
        bytes += pieces[i].size;
    return bytes;
}

/* Makes room for a block. */
static bool reserve_memo_block(struct memos *memos, struct memo *memo, size_t size)
{
    size_t room = (size + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP;
    unsigned char *wider;

    if (room <= memo->room)
        return true;
    if (room - memo->room > MEMO_BYTES_MAX - memos->bytes)
        return false;
    wider = malloc(room);
    if (!wider)
        return false;
    free(memo->block); /* ends what memo_find has lent: see memo.h */
    memo->block = wider;
    memos->bytes += room - memo->room;
    memo->room = room;
    return true;
}

/* Puts the pieces and their bytes behind the result. */
static void copy_pieces_to_memo(const struct memos *memos, struct memo *memo)
{
    struct memo_piece *pieces = pieces_of(memo);
    unsigned char *to;

    memo->piece_count = (uint32_t)memos->piece_count;
    memo->layout_count = memos->set->layout_count;
    to = (unsigned char *)(pieces + memo->piece_count);
    for (size_t i = 0; i < memo->piece_count; i++) {
        pieces[i] = memos->pieces[i];
        memcpy(to, memos->set->bytes + pieces[i].at, pieces[i].size);
        to += pieces[i].size;
    }
}

void *memo_store(struct memos *memos, struct memo_key key, size_t result_size)
{
    const bool recorded = memos->recording && memos->piece_count > 0;
    struct memo *memo;
    size_t bytes;

    memos->recording = false;
    if (!recorded)
        return NULL;
    result_size = (result_size + 7) & ~(size_t)7;
    bytes = merge_memo_pieces(memos);
    if (!find_pieces(memos, memos->pieces, memos->piece_count))
        return NULL;
    memo = lookup_memo(memos, key);
    memo = memo ? memo : add_memo(memos, key);
    if (!memo ||
        !reserve_memo_block(memos, memo,
                            result_size + memos->piece_count * sizeof(struct memo_piece) + bytes))
        return NULL;
    memo->result_size = result_size;
    copy_pieces_to_memo(memos, memo);
    memos->given += memo->pass != memos->pass;
    memo->pass = memos->pass;
    memo->good = true;
    return memo->block;
}
