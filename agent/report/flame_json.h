/* SPDX-License-Identifier: Apache-2.0 */
/* flame_json.h - writes a profile as JSON for the flame graph of the web page. */
#ifndef AGENT_REPORT_FLAME_JSON_H
#define AGENT_REPORT_FLAME_JSON_H

#include "formats/format.h"
#include "pprof/pprof.h"

/*
 * Appends the flame graph of view->profile to `out`: the members that format_flame_data writes,
 * with at most `nodes_max` nodes, then the member "labels": an array of arrays [KEY, TEXT], one for
 * each of the first 100 different text labels of the samples. The caller writes the braces of the
 * JSON object around these members.
 *
 * The caller sets all fields of `view` except stacks and made_by. This function overwrites these
 * two, so the caller must not use them afterwards.
 *
 * Errors: PPROF_NOMEM; PPROF_FULL: the flame graph does not fit into `out`. If the graph fits, but
 *         the labels do not: PPROF_OK, and buf_failed(out) is true. `out` may then hold a part.
 */
MUST_CHECK enum pprof_rc flame_json(struct format_view *view, size_t nodes_max, struct buf *out);

#endif
