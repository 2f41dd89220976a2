/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.h - a profile as arrays that can be walked, in the one order that its content decides.
 *
 * Shape:   pprof_stacks_new, read the members, pprof_stacks_free. The profile must
 *          neither change nor end before that.
 * Threads: any number may read.
 */
#ifndef PPROF_STACKS_H
#define PPROF_STACKS_H

#include "pprof/pprof.h"

/* Texts are valid UTF-8, but may hold anything else: they come from whoever wrote the profile. */
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

/* What has the same stack and the same labels. */
struct pprof_stacks_row {
    const uint32_t *lines; /* leaf first */
    size_t depth;          /* may be 0 */
    const int64_t *values; /* type_count; not all of them 0 */
    const struct pprof_label *labels;
    size_t label_count;
    uint32_t number; /* in the profile, as pprof_row gave it */
};

/* Functions and lines are numbered from 1: the first of each array stands for none. */
struct pprof_stacks {
    const struct pprof_stacks_function *functions; /* by name, file, first line */
    size_t function_count;                         /* with the one that is none */
    const struct pprof_stacks_line *lines;         /* by function, line, column */
    size_t line_count;                             /* likewise */
    const struct pprof_stacks_row *rows;           /* by stack from the root on, then by labels */
    size_t row_count;
    const struct pprof_type *types;
    size_t type_count;
};

/*
 * Lays a profile out.
 *
 * Gives:  *out, which the caller ends with pprof_stacks_free; untouched on failure.
 * Errors: PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc pprof_stacks_new(const struct pprof *profile, struct pprof_stacks **out);

/* Frees it. NULL is fine. */
void pprof_stacks_free(struct pprof_stacks *stacks);

#endif
