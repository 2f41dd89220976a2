/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - carries a profile that grows in one process into a profile of another, piece by
 * piece: each piece has only what came since the one before.
 *
 * Shape:   pprof_delta_encoder where the profile grows; pprof_give whenever it is to be handed
 * over; the bytes, in order, to pprof_take with a pprof_delta_decoder on the other side. After
 *          pprof_reset of the one profile: pprof_delta_encoder_reset and, before the first piece
 *          that is made then, pprof_delta_decoder_reset.
 * Threads: a giver and a taker belong to one thread at a time, as their profiles do.
 * Source:  our own; both sides are the same program. A piece is records of one byte that says
 *          the kind, and LEB128 numbers; things are numbered in the order in which they come.
 */
#ifndef PPROF_FEED_H
#define PPROF_FEED_H

#include "pprof/pprof.h"

enum {
    PPROF_PIECE_MAX = (1 << 20) + (256 << 10) /* bytes that a record can need beyond the size
                                                 that a piece was asked for */
};

/* What was given so far. All zero: nothing. */
struct pprof_delta_encoder {
    uint32_t texts, functions, locations, stacks, rows; /* how many of each */
    uint32_t next;                                      /* the row that is looked at next */
    bool binary;                                        /* the binary was given */
    int64_t *values;                                    /* owned: what was given of each row */
    size_t capacity;                                    /* rows that `values` has room for */
};

/* The numbers of the other side, as ours. */
struct pprof_numbers {
    uint32_t *ours; /* owned */
    size_t count, capacity;
};

/* What was taken so far. All zero: nothing. */
struct pprof_delta_decoder {
    struct pprof_numbers texts, functions, locations, stacks, rows;
    uint64_t overflow; /* rows' values that went to the overflow row, so far */
};

/*
 * Appends a piece: what `profile` has gained since the last one, about `size` bytes of it.
 *
 * Gives:  *more: there is more, for the next piece.
 * Errors: PPROF_NOMEM: out of memory, or of room in `out`, which needs PPROF_PIECE_MAX more
 *         than `size`; then the feed is broken.
 * Cost:   looks at each row once.
 */
MUST_CHECK enum pprof_rc pprof_give(struct pprof_delta_encoder *encoder,
                                    const struct pprof *profile, size_t size, struct buf *out,
                                    bool *more);

/* The profile has been reset: all is new. */
void pprof_delta_encoder_reset(struct pprof_delta_encoder *encoder);
void pprof_delta_encoder_finish(struct pprof_delta_encoder *encoder);

/*
 * Adds what a piece says to `into`, which must have the same types. What there is no room for
 * is added to the row `overflow`, and counted.
 *
 * Errors: PPROF_BAD (these are no bytes of pprof_give, or out of order: nothing more can be
 *         taken), PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc pprof_take(struct pprof_delta_decoder *decoder, struct pprof *into,
                                    uint32_t overflow, const void *bytes, size_t size);

/* From now on numbers mean something else: `into` was reset, or the other side's profile. */
void pprof_delta_decoder_reset(struct pprof_delta_decoder *decoder);
void pprof_delta_decoder_finish(struct pprof_delta_decoder *decoder);

#endif
