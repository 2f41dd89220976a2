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

/* The sum of the profile files that `pystrobe report` has read. All pointers are borrowed. */
struct report {
    size_t file_count;
    int64_t first_ns, last_ns;    /* UTC, ns since 1970: earliest start, latest end; 0: not known */
    int64_t duration_ns;          /* time that at least one file covers; 0: not known */
    struct pprof_type type;       /* name and unit of the value to show, such as CPU time */
    int64_t total;                /* sum of all samples, in the unit of `type` */
    const struct pprof_top *tops; /* hottest first */
    size_t top_count;
    size_t top_max; /* most functions to write, in the table and in JSON; 0: none */
    bool bold;      /* report_table may use the terminal's escape sequences for bold text */
};

/* Appends a table of at most 100 columns. Replaces control characters, so that no text of a profile
 * can send commands to the terminal. Failure: buf_failed(out). */
void report_table(const struct report *report, struct buf *out);

/*
 * Appends a table of up to `top_max` functions, the largest change of the own value first.
 * `profile` has two values of type *type: index 0 is the value after, index 1 the value before.
 *
 * Errors: PPROF_NOMEM: no memory for the calculation. PPROF_FULL: `out` has reached its maximum, or
 *         could not grow for lack of memory.
 */
MUST_CHECK enum pprof_rc report_changes(const struct pprof *profile, const struct pprof_type *type,
                                        size_t top_max, struct buf *out);

/* Appends one JSON object and a newline. Failure: buf_failed(out). */
void report_json(const struct report *report, struct buf *out);

/* Appends a name as report_table shows it. Cuts a name of more than 34 code points to 33 and "…".
 * Writes '?' for each control or bidirectional control character, and each invalid UTF-8 byte. */
void report_text(const char *text, struct buf *out);

#endif
