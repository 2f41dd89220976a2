/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sum.h - adds pprof files up to one profile, or sets two such sums against each other.
 *
 * Shape: report_sum_init, report_sum_add for each file, report_sum_finish.
 */
#ifndef AGENT_REPORT_SUM_H
#define AGENT_REPORT_SUM_H

#include <stdbool.h>

#include "base/buf.h"
#include "pprof/pprof.h"

struct report_sum {
    const char *wanted;    /* borrowed: the value that counts; NULL: cpu, or else what there is */
    struct pprof *profile; /* owned; NULL: no file had the wanted value yet */
    size_t max_bytes;      /* that the sum may take, and each file */
    int64_t pid;           /* only what has this label; 0: all */
    size_t type;           /* the place of that value in the profile */
    struct pprof_type chosen;
    size_t file_count;
    bool is_others;            /* a file belongs to another user than ours */
    bool is_private;           /* a file cannot be read by everyone */
    int64_t first_ns, last_ns; /* UTC: the earliest start, the latest end; 0: not known */
    int64_t duration_ns;       /* of all files together */
    int64_t period;            /* of the first file */
    struct buf other;          /* owned: what to say if no file has the wanted value */
    char names[2][128];        /* what `chosen` points to */
};

/* Makes an empty sum; allocates nothing. */
void report_sum_init(struct report_sum *sum, const char *wanted);

/*
 * Adds one file, and says what is wrong with it. The first one with the wanted value decides
 * which values there are. `may_go`: it may be gone since it was listed.
 */
MUST_CHECK bool report_sum_add(struct report_sum *sum, const char *path, bool may_go);

/*
 * Makes a profile of two values: that of `after`, and as "before" that of `before`.
 *
 * Gives:  *out, ended with pprof_free; untouched on failure.
 * Errors: those of pprof_merge.
 */
MUST_CHECK enum pprof_rc report_sum_difference(const struct report_sum *after,
                                               const struct report_sum *before, struct pprof **out);

/* Frees what it holds. */
void report_sum_finish(struct report_sum *sum);

#endif
