/* SPDX-License-Identifier: Apache-2.0 */
/* flame_json.h - the data of a profile's flame graph, for the page, as the rest of an object. */
#ifndef AGENT_REPORT_FLAME_JSON_H
#define AGENT_REPORT_FLAME_JSON_H

#include "formats/format.h"
#include "pprof/pprof.h"

/* Appends what format_flame_data makes of the profile of `view`, whose stacks and maker are filled
 * in. Errors: those of both. */
MUST_CHECK enum pprof_rc flame_json(struct format_view *view, size_t nodes_max, struct buf *out);

#endif
