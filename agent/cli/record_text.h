/* SPDX-License-Identifier: Apache-2.0 */
/* record_text.h - what `pystrobe record` says of itself: while it records, and when it is over. */
#ifndef AGENT_CLI_RECORD_TEXT_H
#define AGENT_CLI_RECORD_TEXT_H

#include "agent/sampling/engine.h"
#include "agent/sampling/service.h"
#include "base/buf.h"

/* What is known of a recording. */
struct record_text {
    const struct engine_stats *stats; /* borrowed */
    const struct refused *refused;    /* borrowed */
    const struct buf *warnings;       /* borrowed: lines */
    struct cpy_stats unwinder;
    uint64_t elapsed_ns;
    double rate_hz; /* asked for */
};

/*
 * Appends a line for a terminal, without its end: time, samples, torn stacks, and the function
 * that had most time with the GIL, or most wall time where none had it. `services` is the engine's
 * list.
 */
void record_text_progress(const struct record_text *text, const struct service *services,
                          struct buf *out);

/* Appends what was sampled, what was dropped and why, how the CPU time divides by classes, which
 * processes are not in it, and what is to be known of the others. */
void record_text_summary(const struct record_text *text, struct buf *out);

/* Appends a line for each of the first few processes that could not be read, with the reason, and
 * the remedy for each reason once; then how many more there are. */
void record_text_refused(const struct refused *refused, struct buf *out);

#endif
