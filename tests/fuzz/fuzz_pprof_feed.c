/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_pprof_feed.c - whatever a broken sampler hands over, the profile stays one that can be
 * handed over, encoded and added to. */
#include <stdint.h>
#include <stdlib.h>

#include "pprof/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct pprof_type types[] = {{"samples", "count"}, {"cpu", "nanoseconds"}};
static const struct pprof_meta meta = {.duration_ns = 1, .period_type = {"cpu", "nanoseconds"}};

static void require(int holds)
{
    if (!holds)
        abort();
}

/* A profile with its overflow row; small, so that it is full now and then. */
static struct pprof *new_profile(uint32_t *overflow)
{
    struct pprof *profile;
    uint32_t stack;

    require(pprof_new(types, 2, 64 << 10, &profile) == PPROF_OK);
    require(pprof_stack(profile, NULL, 0, &stack) == PPROF_OK);
    require(pprof_row(profile, stack, NULL, 0, overflow) == PPROF_OK);
    return profile;
}

/* What was taken can be given, taken and encoded. */
static void pass_on(const struct pprof *from)
{
    struct pprof_delta_encoder encoder = {0};
    struct pprof_delta_decoder decoder = {0};
    struct buf piece, bytes;
    uint32_t overflow;
    struct pprof *into = new_profile(&overflow);
    bool more = true;

    buf_init(&piece, PPROF_PIECE_MAX + (1 << 20));
    buf_init(&bytes, 1 << 24);
    while (more) {
        buf_reset(&piece);
        require(pprof_give(&encoder, from, 1000, &piece, &more) == PPROF_OK);
        require(pprof_take(&decoder, into, overflow, piece.data, piece.size) == PPROF_OK);
    }
    require(pprof_encode(into, &meta, &bytes) == PPROF_OK);
    pprof_delta_encoder_finish(&encoder);
    pprof_delta_decoder_finish(&decoder);
    buf_finish(&piece);
    buf_finish(&bytes);
    pprof_free(into);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pprof_delta_decoder decoder = {0};
    uint32_t overflow;
    struct pprof *into = new_profile(&overflow);
    size_t half = size / 2;

    /* Two pieces, as the numbers of the first hold in the second. */
    if (pprof_take(&decoder, into, overflow, data, half) == PPROF_OK)
        (void)!pprof_take(&decoder, into, overflow, data + half, size - half);
    pass_on(into);
    pprof_delta_decoder_finish(&decoder);
    pprof_free(into);
    return 0;
}
