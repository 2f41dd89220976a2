/* SPDX-License-Identifier: Apache-2.0 */
/* flame_json.c - see flame_json.h. */
#include "agent/report/flame_json.h"

#include "agent/host/version.h"
#include "pprof/stacks.h"

enum pprof_rc flame_json(struct format_view *view, size_t nodes_max, struct buf *out)
{
    struct pprof_stacks *stacks;
    enum pprof_rc rc = pprof_stacks_new(view->profile, &stacks);

    if (rc != PPROF_OK)
        return rc;
    view->stacks = stacks;
    view->made_by = version_agent;
    rc = format_flame_data(view, nodes_max, out);
    pprof_stacks_free(stacks);
    view->stacks = NULL;
    return rc;
}
