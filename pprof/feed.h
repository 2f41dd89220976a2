/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - copies a growing profile to another process, change by change.
 *
 * Shape:   sender: pprof_give with a pprof_delta_encoder makes a piece. Receiver: pprof_take with a
 *          pprof_delta_decoder takes the pieces in order. After pprof_reset of the sender's profile
 *          call pprof_delta_encoder_reset and, before the next piece, pprof_delta_decoder_reset.
 * Threads: an encoder and a decoder belong to one thread at a time, as their profiles do.
 * Source:  a format of this program alone: a piece is records as in feed_record.h. Texts, functions
 *          and so on are numbered in the order in which they are sent.
 */
#ifndef PPROF_FEED_H
#define PPROF_FEED_H

#include "pprof/pprof.h"

enum {
    PPROF_PIECE_MAX = (1 << 20) + (256 << 10) /* bytes that a record can need beyond the size
                                                 that a piece was asked for */
};

/* State of the sender. All zero: nothing was sent. */
struct pprof_delta_encoder {
    uint32_t texts, functions, locations, stacks, rows; /* how many of each were sent */
    uint32_t next;                                      /* row whose values are looked at next */
    bool binary;                                        /* the binary was sent */
    int64_t *values;                                    /* owned: values of each row, as sent */
    size_t capacity;                                    /* rows that `values` has room for */
};

/* Maps numbers of the sender to those of the receiver's profile. */
struct pprof_numbers {
    uint32_t *ours; /* owned: index is the sender's number; UINT32_MAX: there was no room */
    size_t count, capacity;
};

/* State of the receiver. All zero: nothing was received. */
struct pprof_delta_decoder {
    struct pprof_numbers texts, functions, locations, stacks, rows;
    uint64_t overflow; /* how often values went to the overflow row; reset does not clear it */
};

/*
 * Appends a piece of about `size` bytes: changes of `profile` since the piece before.
 *
 * Gives:  *more: some changes did not fit; call again for the next piece.
 * Errors: PPROF_NOMEM: out of memory, or no room in `out`, which needs `size` + PPROF_PIECE_MAX.
 *         The receiver's profile cannot be completed then.
 * Cost:   looks at each row once for each series of pieces.
 */
MUST_CHECK enum pprof_rc pprof_give(struct pprof_delta_encoder *encoder,
                                    const struct pprof *profile, size_t size, struct buf *out,
                                    bool *more);

/* Starts over: the next piece sends all. For after pprof_reset of the profile. */
void pprof_delta_encoder_reset(struct pprof_delta_encoder *encoder);
/* Frees the memory. */
void pprof_delta_encoder_finish(struct pprof_delta_encoder *encoder);

/*
 * Adds the changes of a piece to `into`, which must have the same types. Values of rows that `into`
 * has no room for go to its row `overflow`, and are counted.
 *
 * Errors: PPROF_BAD: no piece of pprof_give, or out of order; PPROF_NOMEM. After either no more
 *         pieces can be taken.
 */
MUST_CHECK enum pprof_rc pprof_take(struct pprof_delta_decoder *decoder, struct pprof *into,
                                    uint32_t overflow, const void *bytes, size_t size);

/* Forgets all numbers: for after a reset of `into` or of the sender's profile. */
void pprof_delta_decoder_reset(struct pprof_delta_decoder *decoder);
/* Frees the memory. */
void pprof_delta_decoder_finish(struct pprof_delta_decoder *decoder);

#endif
