/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/report: knows how stored profiles are read back, added up and compared. Does not
 * know how they were sampled and sent.
 *
 * report.h - the hottest functions as a table for people or as JSON for programs.
 */
#ifndef AGENT_REPORT_REPORT_H
#define AGENT_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "pprof/pprof.h"

/* What was gathered from the files. Strings and tops are borrowed. */
struct report {
    size_t file_count;
    int64_t first_ns, last_ns; /* UTC: the earliest start, the latest end; 0: not known */
    int64_t duration_ns;       /* that the files cover, as report_sum_recorded gives it */
    struct pprof_type type;
    int64_t total;                /* in the unit of `type` */
    const struct pprof_top *tops; /* hottest first */
    size_t top_count;
    size_t top_max; /* how many of them to show at most, in JSON too; 0: none */
    bool colour;    /* of the table */
};

/* Appends a table of at most 100 columns. No text of a profile can control the terminal. */
void report_table(const struct report *report, struct buf *out);

/*
 * Appends a table of the functions whose own value changed most. `profile` has two values, both of
 * `type`: value 0 (after the change) and value 1 (before it).
 *
 * Errors: PPROF_NOMEM; PPROF_FULL: `out` is full, or has no memory.
 */
MUST_CHECK enum pprof_rc report_changes(const struct pprof *profile, const struct pprof_type *type,
                                        size_t top_max, struct buf *out);

/* Appends one JSON object and a newline. */
void report_json(const struct report *report, struct buf *out);

/* Appends text of a profile as the table does: at most 34 characters, control characters as '?'. */
void report_text(const char *text, struct buf *out);

#endif
