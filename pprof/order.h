/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - brings a profile into the one order that its content alone decides.
 *
 * The numbers in a profile's tables depend on what was seen first. Two agents that
 * saw the same thing shall write the same bytes, so before writing, texts are
 * sorted and numbered anew, then functions by the new numbers of their texts,
 * locations by those of their functions, rows by those of their locations. What no
 * written row needs is left out.
 *
 * Shape:   order_make, read the members, order_finish.
 * Memory:  some 60 bytes a row and 8 a frame of each stack, from an arena.
 */
#ifndef PPROF_ORDER_H
#define PPROF_ORDER_H

#include "pprof/profile.h"

/* A text that is not of the samples, e.g. a comment, and its place in the string table. */
struct order_text {
    const char *text; /* borrowed; NULL: none, and `id` will be 0 */
    uint32_t id;
};

struct order_item {
    union {
        uint32_t parts[3];
        struct function_key function; /* texts: places in `strings` */
        struct location_key location; /* function: an id */
    } as;
    uint32_t number; /* in the profile's table */
};

struct order_row {
    const uint32_t *frames; /* location ids, leaf first */
    size_t depth;
    const struct label_key *labels; /* texts: places in `strings` */
    size_t label_count;
    const int64_t *values; /* borrowed from the profile: all types */
    uint32_t number;       /* in the profile's table */
};

/* Ids count from 1: functions[0] has id 1. strings[0] is "". */
struct order {
    struct arena arena; /* owned: all that is below */
    char **strings;     /* the texts are the profile's or the arena's */
    size_t string_count;
    struct order_item *functions;
    size_t function_count;
    struct order_item *locations;
    size_t location_count;
    struct order_row *rows;
    size_t row_count;
    size_t depth_max;
};

/*
 * Puts the rows that have a value other than 0 of the chosen types (a bit each)
 * in order, and sets the id of each of the other texts.
 *
 * Gives:  *out, which the caller ends with order_finish, on failure too.
 * Errors: PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc order_make(const struct pprof *profile, uint32_t types,
                                    struct order_text *others, size_t other_count,
                                    struct order *out);

/* The same for some of the rows: `count` numbers of the profile's table. */
MUST_CHECK enum pprof_rc order_make_some(const struct pprof *profile, uint32_t types,
                                         const uint32_t *rows, size_t count,
                                         struct order_text *others, size_t other_count,
                                         struct order *out);

/*
 * To be called before row `at` is read: has those that come soon brought into the cache. Rows that
 * are in order lie all over the memory; waiting for them was a twentieth of the encoding.
 */
void order_fetch(const struct order *order, size_t at);

/* Frees what order_make made. */
void order_finish(struct order *order);

#endif
