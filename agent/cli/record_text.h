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
 * Appends a line for a terminal, without a newline: time, samples, torn stacks, and the function of
 * the first service with samples that had most time with the GIL, or most wall time if none had it.
 * `services`: the engine's list; NULL: none.
 */
void record_text_progress(const struct record_text *text, const struct service *services,
                          struct buf *out);

/* Appends what was sampled, what was dropped and why, the CPU time and the share of each class
 * (cpu_class.h), which processes could not be read, and the warnings. */
void record_text_summary(const struct record_text *text, struct buf *out);

/* Appends a line for each of the first few processes that could not be read, with the reason, and
 * the remedy for each reason once; then how many more there are. */
void record_text_refused(const struct refused *refused, struct buf *out);

#endif
