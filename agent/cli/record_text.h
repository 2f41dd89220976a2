/* SPDX-License-Identifier: Apache-2.0 */
/* record_text.h - the texts that `pystrobe record` prints while it records and at the end. */
#ifndef AGENT_CLI_RECORD_TEXT_H
#define AGENT_CLI_RECORD_TEXT_H

#include "agent/sampling/engine.h"
#include "agent/sampling/service.h"
#include "base/buf.h"
#include "pprof/timeline.h"

/* What the texts are made from. All pointers are borrowed and, except `warnings`, not NULL. */
struct record_text {
    const struct engine_stats *stats; /* counters of the engine, which takes the samples */
    const struct refused *refused;    /* the processes that could not be read */
    const struct buf *warnings;       /* one per line; may be NULL for record_text_progress */
    struct cpy_stats unwinder;        /* counters of the code that reads the stacks */
    uint64_t elapsed_ns;              /* since the recording began */
    double rate_hz;                   /* requested rate: samples of each process per second */
};

/*
 * Appends one line of progress, without a newline: elapsed seconds, number of samples, number of
 * processes being sampled, number of torn stacks (those that no try could read consistently), and
 * the hottest function with its share of the time.
 *
 * The hottest function is that of the first service in `services` that has samples: the function
 * with the most GIL time, without its callees. Without GIL time in the service, wall time is used.
 * `services` is the list of the engine; NULL if it is empty.
 */
void record_text_progress(const struct record_text *text, const struct service *services,
                          struct buf *out);

/*
 * Appends the lines of the summary: how many samples of how many processes were taken, what was
 * dropped and why; the rate reached; the CPU time of the sampled processes, with the share of each
 * class of cpu_class.h; the lines of record_text_refused; the warnings.
 */
void record_text_summary(const struct record_text *text, struct buf *out);

/*
 * Appends one line with the number of samples that did not fit into `timeline`: their sums are in
 * the profile, but not their times. Appends nothing if all fitted. `path`: the file to name.
 */
void record_text_timeline(const char *path, const struct pprof_timeline *timeline, struct buf *out);

/*
 * Appends a line with the reason for each of the first 8 processes that could not be read. When a
 * reason occurs for the first time, its line also says what to do about it. If there are more than
 * 8, a last line counts the others. Appends nothing if all could be read.
 */
void record_text_refused(const struct refused *refused, struct buf *out);

#endif
