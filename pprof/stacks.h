/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.h - a profile as sorted arrays: equal profiles give equal arrays.
 *
 * Shape:   pprof_stacks_new, read the members, pprof_stacks_free. The profile must
 *          neither change nor end before that.
 * Threads: any number may read.
 */
#ifndef PPROF_STACKS_H
#define PPROF_STACKS_H

#include "pprof/pprof.h"

/* Texts are valid UTF-8, but not trusted: they may have any character, control characters too. */
struct pprof_stacks_function {
    const char *name;
    const char *file;
    int32_t start_line; /* 0: not known */
};

/* A place in a function. */
struct pprof_stacks_line {
    uint32_t function;
    int32_t line, column; /* 0: not known */
};

/* A row of the profile: a stack with labels, and its values. */
struct pprof_stacks_row {
    const uint32_t *lines; /* the stack, leaf first: indexes into pprof_stacks.lines */
    size_t depth;          /* may be 0 */
    const int64_t *values; /* type_count; not all of them 0 */
    const struct pprof_label *labels;
    size_t label_count;
    uint32_t number; /* of the row, as pprof_row gave it */
};

/* Functions and lines count from 1: index 0 of each of these arrays is an empty entry. */
struct pprof_stacks {
    const struct pprof_stacks_function *functions; /* by name, file, first line */
    size_t function_count;                         /* with the empty entry */
    const struct pprof_stacks_line *lines;         /* by function, line, column */
    size_t line_count;                             /* with the empty entry */
    const struct pprof_stacks_row *rows;           /* by stack from the root, then by labels */
    size_t row_count;
    const struct pprof_type *types;
    size_t type_count;
};

/*
 * Sorts a profile into arrays; leaves out rows whose values are all 0.
 *
 * Gives:  *out, which the caller ends with pprof_stacks_free; untouched on failure.
 * Errors: PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc pprof_stacks_new(const struct pprof *profile, struct pprof_stacks **out);

/* Frees it. NULL is fine. */
void pprof_stacks_free(struct pprof_stacks *stacks);

#endif
