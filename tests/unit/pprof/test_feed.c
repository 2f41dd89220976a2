/* SPDX-License-Identifier: Apache-2.0 */
/* test_feed.c - what is handed over piece by piece is what was gathered, and no lie gets in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/feed.h"
#include "pprof/profile.h"
#include "tests/unit/pprof/example.h"
#include "tests/unit/unit_test.h"

enum { BUDGET = 1 << 20, WHOLE = 1 << 16 };

struct pair {
    struct pprof *from, *into;
    struct pprof_delta_encoder encoder;
    struct pprof_delta_decoder decoder;
    struct buf piece;
    uint32_t overflow; /* a row of `into` */
};

static uint32_t made_up_row(struct pprof *p)
{
    uint32_t stack, row;

    assert_int_equal(pprof_stack(p, NULL, 0, &stack), PPROF_OK);
    assert_int_equal(pprof_row(p, stack, NULL, 0, &row), PPROF_OK);
    return row;
}

static void pair_init(struct pair *pair, size_t into_max)
{
    *pair = (struct pair){0};
    buf_init(&pair->piece, WHOLE + PPROF_PIECE_MAX);
    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &pair->from), PPROF_OK);
    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, into_max, &pair->into), PPROF_OK);
    pair->overflow = made_up_row(pair->into);
}

static void pair_finish(struct pair *pair)
{
    pprof_delta_encoder_finish(&pair->encoder);
    pprof_delta_decoder_finish(&pair->decoder);
    pprof_free(pair->from);
    pprof_free(pair->into);
    buf_finish(&pair->piece);
}

static enum pprof_rc take(struct pair *pair)
{
    return pprof_take(&pair->decoder, pair->into, pair->overflow, pair->piece.data,
                      pair->piece.size);
}

/* Hands over all that is new in pieces of `size`; gives how many it took. */
static size_t hand_over(struct pair *pair, size_t size)
{
    size_t pieces = 0;
    bool more = true;

    while (more) {
        buf_reset(&pair->piece);
        assert_int_equal(pprof_give(&pair->encoder, pair->from, size, &pair->piece, &more),
                         PPROF_OK);
        assert_int_equal(take(pair), PPROF_OK);
        pieces++;
        assert_true(pieces < 1000);
    }
    return pieces;
}

static void assert_same(struct pair *pair)
{
    struct buf a, b;

    buf_init(&a, BUDGET);
    buf_init(&b, BUDGET);
    assert_int_equal(pprof_encode(pair->from, &example_meta, &a), PPROF_OK);
    assert_int_equal(pprof_encode(pair->into, &example_meta, &b), PPROF_OK);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    buf_finish(&a);
    buf_finish(&b);
}

static void what_grew_since_is_handed_over(void **state)
{
    struct pair pair;
    size_t all;

    (void)state;
    pair_init(&pair, BUDGET);

    assert_int_equal(example_fill(pair.from, "01"), PPROF_OK);
    assert_int_equal(hand_over(&pair, WHOLE), 1);
    assert_same(&pair);
    all = pair.piece.size;
    assert_int_equal(example_fill(pair.from, "0120"), PPROF_OK);
    assert_int_equal(hand_over(&pair, WHOLE), 1);
    assert_same(&pair);
    assert_true(pair.piece.size < all);
    assert_int_equal(hand_over(&pair, WHOLE), 1);
    assert_int_equal(pair.piece.size, 0);

    pair_finish(&pair);
}

static void small_pieces_give_the_same(void **state)
{
    struct pair pair;

    (void)state;
    pair_init(&pair, BUDGET);

    assert_int_equal(example_fill(pair.from, "012"), PPROF_OK);
    assert_true(hand_over(&pair, 1) > 10);
    assert_same(&pair);
    assert_int_equal(example_fill(pair.from, "21"), PPROF_OK);
    assert_true(hand_over(&pair, 1) >= 2);
    assert_same(&pair);

    pair_finish(&pair);
}

static void after_a_reset_all_is_new(void **state)
{
    struct pair pair;

    (void)state;
    pair_init(&pair, BUDGET);
    assert_int_equal(example_fill(pair.from, "012"), PPROF_OK);
    (void)hand_over(&pair, WHOLE);

    pprof_reset(pair.from);
    pprof_reset(pair.into);
    pair.overflow = made_up_row(pair.into);
    pprof_delta_encoder_reset(&pair.encoder);
    pprof_delta_decoder_reset(&pair.decoder);
    assert_int_equal(example_fill(pair.from, "20"), PPROF_OK);
    (void)hand_over(&pair, WHOLE);

    assert_same(&pair);
    pair_finish(&pair);
}

static void two_feeds_add_up(void **state)
{
    struct pprof_delta_decoder second = {0};
    struct pair pair;

    (void)state;
    pair_init(&pair, BUDGET);
    assert_int_equal(example_fill(pair.from, "012"), PPROF_OK);
    (void)hand_over(&pair, WHOLE);

    assert_int_equal(
        pprof_take(&second, pair.into, pair.overflow, pair.piece.data, pair.piece.size), PPROF_OK);

    assert_int_equal(pprof_total(pair.into, 0), 2 * pprof_total(pair.from, 0));
    assert_int_equal(pprof_row_count(pair.into), EXAMPLE_ROWS + 1);
    pprof_delta_decoder_finish(&second);
    pair_finish(&pair);
}

static void sums_that_saturated_do_not_run_over(void **state)
{
    const int64_t most[EXAMPLE_TYPES] = {INT64_MAX, INT64_MAX, INT64_MIN};
    struct pair pair;

    (void)state;
    pair_init(&pair, BUDGET);
    pprof_add(pair.from, made_up_row(pair.from), most);
    (void)hand_over(&pair, WHOLE);
    pprof_add(pair.from, made_up_row(pair.from), most);
    (void)hand_over(&pair, WHOLE);

    assert_true(pprof_total(pair.into, 0) == INT64_MAX);
    assert_true(pprof_total(pair.into, 2) == INT64_MIN);
    pair_finish(&pair);
}

static void what_has_no_room_is_on_the_overflow_row(void **state)
{
    struct pair pair;
    char name[64];
    uint32_t function, location, stack, row, i;
    const int64_t one[EXAMPLE_TYPES] = {1, 1, 1};

    (void)state;
    pair_init(&pair, 64 << 10);
    for (i = 0; i < 500; i++) {
        (void)snprintf(name, sizeof(name), "function number %u", (unsigned)i);
        assert_int_equal(pprof_function(pair.from, name, "a.py", 1, &function), PPROF_OK);
        assert_int_equal(pprof_location(pair.from, function, 1, 0, &location), PPROF_OK);
        assert_int_equal(pprof_stack(pair.from, &location, 1, &stack), PPROF_OK);
        assert_int_equal(pprof_row(pair.from, stack, NULL, 0, &row), PPROF_OK);
        pprof_add(pair.from, row, one);
    }

    (void)hand_over(&pair, WHOLE);

    assert_true(pair.decoder.overflow > 0);
    assert_int_equal(pprof_total(pair.into, 0), 500);
    pair_finish(&pair);
}

static void a_long_name_of_the_binary_is_cut(void **state)
{
    char name[1999];
    struct pair pair;

    (void)state;
    memset(name, 'a', sizeof(name));
    pair_init(&pair, BUDGET);
    buf_add(&pair.piece, "\x07\xcf\x0f", 3); /* 1999 bytes */
    buf_add(&pair.piece, name, sizeof(name));
    buf_add(&pair.piece,
            "\x02"
            "0a",
            3);
    assert_int_equal(take(&pair), PPROF_OK);
    assert_int_equal(strlen(pair.into->binary), sizeof(pair.into->binary) - 1);
    assert_string_equal(pair.into->build_id, "0a");
    pair_finish(&pair);
}

static void lies_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } lies[] = {
        {"\x00", 1}, /* no such record */
        {"\x08", 1}, /* nor this one */
        {"\x01", 1}, /* no size */
        {"\x01\x05"
         "abc",
         5}, /* a text that goes on behind the end */
        {"\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
         "a",
         11},
        {"\x02\x00\x00\x00", 4}, /* a function without texts */
        {"\x01\x01"
         "f\x02\x00\x01\x00",
         7}, /* its file is not there */
        {"\x01\x01"
         "f\x02\x00\x00\xff\xff\xff\xff\x7f",
         11},                                        /* a line over 32 bits */
        {"\x03\x00\x00\x00", 4},                     /* a location without a function */
        {"\x04\x01\x00", 3},                         /* a stack without its location */
        {"\x04\xff\xff\x7f", 4},                     /* too deep */
        {"\x05\x00\x00", 3},                         /* a row without a stack */
        {"\x04\x00\x05\x00\x11", 5},                 /* more labels than there may be */
        {"\x04\x00\x05\x00\x01\x00\x00\x00\x00", 9}, /* a label without its text */
        {"\x06\x00\x02\x02\x02", 5},                 /* values of no row */
        {"\x04\x00\x05\x00\x00\x06\x00\x02\x02", 9}, /* too few values */
        {"\x07\x02"
         "a\x00",
         4}, /* a binary without a build id */
        {"\x07\x01"
         "a\x7f"
         "b",
         5}, /* a build id that goes on behind the end */
    };
    struct pair pair;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        pair_init(&pair, BUDGET);
        buf_add(&pair.piece, lies[i].bytes, lies[i].size);
        if (take(&pair) != PPROF_BAD)
            fail_msg("lie %zu was taken", i);
        pair_finish(&pair);
    }
}

static void nothing_is_a_good_piece(void **state)
{
    struct pair pair;

    (void)state;
    pair_init(&pair, BUDGET);
    assert_int_equal(take(&pair), PPROF_OK);
    pair_finish(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_grew_since_is_handed_over),
        cmocka_unit_test(small_pieces_give_the_same),
        cmocka_unit_test(after_a_reset_all_is_new),
        cmocka_unit_test(two_feeds_add_up),
        cmocka_unit_test(sums_that_saturated_do_not_run_over),
        cmocka_unit_test(what_has_no_room_is_on_the_overflow_row),
        cmocka_unit_test(a_long_name_of_the_binary_is_cut),
        cmocka_unit_test(lies_are_refused),
        cmocka_unit_test(nothing_is_a_good_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
