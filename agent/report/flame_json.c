/* SPDX-License-Identifier: Apache-2.0 */
/* flame_json.c - see flame_json.h. */
#include "agent/report/flame_json.h"

#include "agent/host/version.h"
#include "base/json.h"
#include "pprof/stacks.h"

enum { LABELS_MAX = 100 };

/* Different labels, in the order that they were met. */
struct seen_labels {
    struct pprof_label labels[LABELS_MAX]; /* borrowed */
    size_t count;
};

/* Texts alone: there may be any number of numbers. One text of a profile is one pointer. */
static void note_label(struct seen_labels *seen, const struct pprof_label *label)
{
    size_t i = 0;

    while (i < seen->count &&
           (seen->labels[i].key != label->key || seen->labels[i].str != label->str))
        i++;
    if (label->str && i == seen->count && i < LABELS_MAX)
        seen->labels[seen->count++] = *label;
}

/* Appends the labels that rows have. */
static void add_seen_labels(const struct pprof_stacks *stacks, struct buf *out)
{
    struct seen_labels seen = {.count = 0};

    for (size_t row = 0; row < stacks->row_count; row++)
        for (size_t i = 0; i < stacks->rows[row].label_count; i++)
            note_label(&seen, &stacks->rows[row].labels[i]);
    buf_add_str(out, ",\n\"labels\":[");
    for (size_t i = 0; i < seen.count; i++) {
        json_html_member(out, i ? ",[" : "[", seen.labels[i].key);
        json_html_member(out, ",", seen.labels[i].str);
        buf_add_str(out, "]");
    }
    buf_add_str(out, "]");
}

enum pprof_rc flame_json(struct format_view *view, size_t nodes_max, struct buf *out)
{
    struct pprof_stacks *stacks;
    enum pprof_rc rc = pprof_stacks_new(view->profile, &stacks);

    if (rc != PPROF_OK)
        return rc;
    view->stacks = stacks;
    view->made_by = version_agent;
    rc = format_flame_data(view, nodes_max, out);
    if (rc == PPROF_OK)
        add_seen_labels(stacks, out);
    pprof_stacks_free(stacks);
    view->stacks = NULL;
    return rc;
}
