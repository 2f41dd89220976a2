/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sum.h - adds pprof files up to one profile, and computes the difference of two such sums.
 *
 * Shape: report_sum_init, report_sum_add for each file, report_sum_finish.
 */
#ifndef AGENT_REPORT_SUM_H
#define AGENT_REPORT_SUM_H

#include <stdbool.h>

#include "base/buf.h"
#include "pprof/pprof.h"

enum { REPORT_LABELS_MAX = 2 };

/* Time in which a file was recorded, UTC. */
struct report_span {
    int64_t begin_ns, end_ns;
};

struct report_sum {
    const char *wanted;    /* borrowed: name of the value; NULL: cpu, else wall, else the last */
    struct pprof *profile; /* owned; NULL: no file had the wanted value yet */
    size_t max_bytes;      /* most memory of the sum, and of each decoded file */
    struct pprof_label with[REPORT_LABELS_MAX]; /* borrowed: only samples with all these labels */
    size_t with_count;
    size_t type;               /* index of the wanted value in `profile` */
    struct pprof_type chosen;  /* name and unit of that value */
    size_t file_count;         /* files added */
    bool is_others;            /* a file belongs to another user than ours */
    bool is_private;           /* a file cannot be read by everyone */
    int64_t first_ns, last_ns; /* UTC: the earliest start, the latest end; 0: not known */
    int64_t durations_ns;      /* sum of the durations of all files, overlaps included */
    struct report_span *spans; /* owned: of the files whose start is known */
    size_t span_count, span_capacity;
    int64_t period;     /* of the first file */
    struct buf other;   /* owned: error message if no file has the wanted value; "": none */
    char names[2][128]; /* texts of `chosen` */
};

/* Makes an empty sum; allocates nothing. The caller may then set max_bytes, with, with_count. */
void report_sum_init(struct report_sum *sum, const char *wanted);

/*
 * Adds one file. The first one with the wanted value decides which values the sum has; a later one
 * without it is left out. `may_go`: a missing file is no error. False: the reason was printed.
 */
MUST_CHECK bool report_sum_add(struct report_sum *sum, const char *path, bool may_go);

/*
 * Gives the time that the files cover, in nanoseconds, without gaps. Time that several files cover
 * counts once. If no start is known: durations_ns. 0: not known.
 *
 * Cost: sorts the times of the files.
 */
int64_t report_sum_recorded(struct report_sum *sum);

/*
 * Makes a profile of two values: that of `after`, and "before", which is that of `before` scaled to
 * the recorded time of `after`. It is not scaled if one of the times is not known.
 *
 * Gives:  *out, ended with pprof_free; untouched on failure.
 * Errors: those of pprof_merge.
 */
MUST_CHECK enum pprof_rc report_sum_difference(struct report_sum *after, struct report_sum *before,
                                               struct pprof **out);

/* Appends for users how "before" of a difference is scaled; nothing if the factor is 1 +- 1 %. */
void report_sum_explain_scale(struct report_sum *after, struct report_sum *before, struct buf *out);

/* Frees the memory of the sum. */
void report_sum_finish(struct report_sum *sum);

#endif
