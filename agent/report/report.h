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
    int64_t duration_ns;       /* of all files together */
    struct pprof_type type;
    int64_t total;
    const struct pprof_top *tops; /* hottest first */
    size_t top_count;
    size_t top_max; /* how many of them to show */
    bool colour;
};

/* Appends a table of at most 100 columns. Text from profiles cannot drive the terminal. */
void report_table(const struct report *report, struct buf *out);

/*
 * Appends a table of the functions whose own value changed most. Value 0 of `profile` is that
 * after, value 1 that before; both are of `type`.
 *
 * Errors: PPROF_NOMEM, PPROF_FULL.
 */
MUST_CHECK enum pprof_rc report_changes(const struct pprof *profile, const struct pprof_type *type,
                                        size_t top_max, struct buf *out);

/* Appends one JSON object and a newline. */
void report_json(const struct report *report, struct buf *out);

/* Appends a text from a profile as the table has it: cut, and nothing a terminal obeys. */
void report_text(const char *text, struct buf *out);

#endif
