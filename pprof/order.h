/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - sorts a profile into an order that depends only on its content.
 *
 * The numbers in a profile's tables depend on the order of its samples, but two agents with the
 * same samples must write the same bytes. So texts are sorted and renumbered, then functions by the
 * new numbers of their texts, locations by those of their functions, rows by those of their
 * locations and labels. Items that no written row uses are left out.
 *
 * Shape:   order_make, read the members, order_finish.
 * Memory:  some 60 bytes for each row and 4 for each frame of each stack, from an arena.
 */
#ifndef PPROF_ORDER_H
#define PPROF_ORDER_H

#include "pprof/profile.h"

/* A text that is not from the samples, e.g. a comment. */
struct order_text {
    const char *text; /* borrowed; NULL: none */
    uint32_t id;      /* result: index in `strings`; 0 if `text` is NULL */
};

/* A function or a location. */
struct order_item {
    union {
        uint32_t parts[3];            /* for the sort */
        struct function_key function; /* texts are indices in `strings` */
        struct location_key location; /* its function is an id */
    } as;
    uint32_t number; /* index in the profile's table */
};

struct order_row {
    const uint32_t *frames; /* location ids, leaf first */
    size_t depth;
    const struct label_key *labels; /* sorted; texts are indices in `strings` */
    size_t label_count;
    const int64_t *values; /* borrowed from the profile: all types */
    uint32_t number;       /* index in the profile's table */
};

/* Ids count from 1: functions[0] has id 1. strings[0] is "". */
struct order {
    struct arena arena; /* owned: memory of all below */
    char **strings;     /* texts of the profile (borrowed) or of the arena */
    size_t string_count;
    struct order_item *functions;
    size_t function_count;
    struct order_item *locations;
    size_t location_count;
    struct order_row *rows;
    size_t row_count;
    size_t depth_max; /* of the deepest stack */
};

/*
 * Sorts the rows that have a value other than 0 of a chosen type: bit n of `types` chooses type n.
 * Sets the `id` of each of the `others`.
 *
 * Gives:  *out, which the caller ends with order_finish, on failure too.
 * Errors: PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc order_make(const struct pprof *profile, uint32_t types,
                                    struct order_text *others, size_t other_count,
                                    struct order *out);

/* order_make for only the `count` rows whose indices in the profile's table are in `rows`. */
MUST_CHECK enum pprof_rc order_make_some(const struct pprof *profile, uint32_t types,
                                         const uint32_t *rows, size_t count,
                                         struct order_text *others, size_t other_count,
                                         struct order *out);

/*
 * Prefetches a row that follows row `at` soon. Call it before each row is read: sorted rows are
 * scattered in memory, and waiting for them took a twentieth of the encoding time.
 */
void order_fetch(const struct order *order, size_t at);

/* Frees the memory. */
void order_finish(struct order *order);

#endif
