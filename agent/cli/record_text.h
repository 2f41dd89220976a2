/* SPDX-License-Identifier: Apache-2.0 */
/* record_text.h - what `pystrobe record` says of itself: while it records, and when it is over. */
#ifndef AGENT_CLI_RECORD_TEXT_H
#define AGENT_CLI_RECORD_TEXT_H

#include "agent/sampling/engine.h"
#include "agent/sampling/service.h"
#include "base/buf.h"
#include "pprof/timeline.h"

/* What is known of a recording. */
struct record_text {
    const struct engine_stats *stats; /* borrowed */
    const struct refused *refused;    /* borrowed */
    const struct buf *warnings;       /* borrowed: lines; not NULL for record_text_summary */
    struct cpy_stats unwinder;
    uint64_t elapsed_ns;
    double rate_hz; /* asked for */
};

/*
 * Appends a line for a terminal, without a newline: time, samples, torn stacks, and, of the first
 * service that has samples, the function that had most time with the GIL (if none had any: most
 * wall time). `services`: the engine's list; NULL: none.
 */
void record_text_progress(const struct record_text *text, const struct service *services,
                          struct buf *out);

/* Appends what was sampled, what was dropped and why, the CPU time and the share of each class
 * (cpu_class.h), which processes could not be read, and the warnings. */
void record_text_summary(const struct record_text *text, struct buf *out);

/* Appends a line that says which samples the time line of a file lacks; nothing if it has all. */
void record_text_timeline(const char *path, const struct pprof_timeline *timeline, struct buf *out);

/* Appends a line for each of the first few processes that could not be read, with the reason; the
 * remedy stands only where a reason is named first. Then how many more there are. */
void record_text_refused(const struct refused *refused, struct buf *out);

#endif
