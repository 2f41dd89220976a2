/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - prints a state in the text format of Prometheus, version 0.0.4.
 *
 * No label holds a pid, a path or a name of a process, so the number of series is bounded.
 */
#ifndef AGENT_SERVE_METRICS_H
#define AGENT_SERVE_METRICS_H

#include "agent/serve/state.h"

/* Appends all metrics. */
void metrics_text(const struct state *state, struct buf *out);

#endif
