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

enum { REPORT_LABELS_MAX = 2 };

/* From when to when a file was recorded, UTC. */
struct report_span {
    int64_t begin_ns, end_ns;
};

struct report_sum {
    const char *wanted;    /* borrowed: the value that counts; NULL: cpu, or else what there is */
    struct pprof *profile; /* owned; NULL: no file had the wanted value yet */
    size_t max_bytes;      /* that the sum may take, and each file */
    struct pprof_label with[REPORT_LABELS_MAX]; /* borrowed: only what has these labels */
    size_t with_count;
    size_t type; /* the place of that value in the profile */
    struct pprof_type chosen;
    size_t file_count;
    bool is_others;            /* a file belongs to another user than ours */
    bool is_private;           /* a file cannot be read by everyone */
    int64_t first_ns, last_ns; /* UTC: the earliest start, the latest end; 0: not known */
    int64_t durations_ns;      /* of all files, added up; see report_sum_recorded */
    struct report_span *spans; /* owned: of the files whose start is known */
    size_t span_count, span_capacity;
    int64_t period;     /* of the first file */
    struct buf other;   /* owned: what to say if no file has the wanted value */
    char names[2][128]; /* what `chosen` points to */
};

/* Makes an empty sum; allocates nothing. */
void report_sum_init(struct report_sum *sum, const char *wanted);

/*
 * Adds one file, and says what is wrong with it. The first one with the wanted value decides
 * which values there are. `may_go`: it may be gone since it was listed.
 */
MUST_CHECK bool report_sum_add(struct report_sum *sum, const char *path, bool may_go);

/*
 * How much time the files cover, in nanoseconds: what several of them cover counts once, as of
 * processes that were recorded side by side, and gaps between them do not. 0: not known.
 *
 * Cost: sorts the times of the files.
 */
int64_t report_sum_recorded(struct report_sum *sum);

/*
 * Makes a profile of two values: that of `after`, and as "before" that of `before`, multiplied so
 * that it is of as much recorded time. Where a time is not known, it is as it is.
 *
 * Gives:  *out, ended with pprof_free; untouched on failure.
 * Errors: those of pprof_merge.
 */
MUST_CHECK enum pprof_rc report_sum_difference(struct report_sum *after, struct report_sum *before,
                                               struct pprof **out);

/* Appends how "before" of a difference is scaled; nothing if the times are equal to a hundredth. */
void report_sum_explain_scale(struct report_sum *after, struct report_sum *before, struct buf *out);

/* Frees what it holds. */
void report_sum_finish(struct report_sum *sum);

#endif
