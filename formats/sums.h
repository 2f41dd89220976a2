/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h - own and total values of functions, of places (such as lines), and of calls.
 *
 * Shape:   sums_new, read the arrays, sums_free.
 * Totals:  count a stack once, even if the function, place or call is on it several times.
 */
#ifndef FORMATS_SUMS_H
#define FORMATS_SUMS_H

#include "pprof/stacks.h"

struct sum {
    int64_t own, total; /* values of the stacks that end in it, and of all stacks with it */
    int64_t seen;       /* samples with it; if no type counts samples: stacks with it */
};

/* The calls of a function from one place. */
struct sums_call {
    uint32_t caller; /* a place */
    uint32_t callee; /* a function */
    struct sum sum;  /* own: of stacks that end in the callee */
};

struct sums {
    struct sum *functions;   /* owned: by number, as in the stacks */
    struct sum *places;      /* owned: by number of the place */
    struct sums_call *calls; /* owned: sorted by callee, then caller */
    size_t call_count;
};

/* Defines the places: any grouping of the lines. Borrowed. */
struct sums_places {
    const uint32_t *of_line; /* place of each line; NULL: its function */
    size_t count;            /* number of places */
    bool without_calls;      /* leaves `calls` empty, which saves most of the cost */
};

/*
 * Adds up the values of one type. `places` NULL: each function is a place.
 *
 * Gives: *out, ended with sums_free. Errors: PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc sums_new(const struct pprof_stacks *stacks, size_t type,
                                  const struct sums_places *places, struct sums **out);

/* Frees it. NULL is fine. */
void sums_free(struct sums *sums);

/* Adds to *sum; stops at INT64_MAX or INT64_MIN instead of overflowing. */
void sums_add(int64_t *sum, int64_t value);

#endif
