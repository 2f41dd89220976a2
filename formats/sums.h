/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h - own and total values of functions, or of other places, and of the calls between them.
 *
 * Shape:   sums_new, read the arrays, sums_free.
 * A total counts a stack once, however often the function, the place or the call is on it.
 */
#ifndef FORMATS_SUMS_H
#define FORMATS_SUMS_H

#include "pprof/stacks.h"

struct sum {
    int64_t own, total;
    int64_t seen; /* samples in which it was on the stack */
};

/* What a place called a function for. */
struct sums_call {
    uint32_t caller; /* a place */
    uint32_t callee; /* a function */
    struct sum sum;  /* own: while the callee itself ran */
};

struct sums {
    struct sum *functions;   /* owned: as many as the stacks have */
    struct sum *places;      /* owned */
    struct sums_call *calls; /* owned: by callee, then caller */
    size_t call_count;
};

/* What is told apart beside functions. Borrowed. */
struct sums_places {
    const uint32_t *of_line; /* the place of each line; NULL: its function */
    size_t count;            /* places */
    bool without_calls;      /* none are added up, which is most of the cost */
};

/*
 * Adds one value up. `places` NULL: there are none but the functions.
 *
 * Gives: *out, ended with sums_free. Errors: PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc sums_new(const struct pprof_stacks *stacks, size_t type,
                                  const struct sums_places *places, struct sums **out);

/* Frees it. NULL is fine. */
void sums_free(struct sums *sums);

/* Adds to a sum, which stays at the largest or smallest number if it does not fit. */
void sums_add(int64_t *sum, int64_t value);

#endif
