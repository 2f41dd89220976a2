/* SPDX-License-Identifier: Apache-2.0 */
/* pprof.c - the profile as a pprof file again, as where several were added up. */
#include "formats/writers.h"

enum pprof_rc write_pprof(const struct format_view *view, struct buf *out)
{
    const struct pprof_meta meta = {
        .time_ns = view->time_ns,
        .duration_ns = view->duration_ns,
        .period = view->period,
        .period_type = view->stacks->types[view->type],
        .default_type = view->stacks->types[view->type].type,
        .comments = &view->made_by,
        .comment_count = 1,
    };

    return pprof_encode(view->profile, &meta, out);
}
