/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonl.c - JSON lines: one that says what the profile is, then one for each stack and its
 * labels, the innermost frame first, with all values. Each line is whole by itself.
 */
#include <inttypes.h>

#include "base/json.h"
#include "formats/writers.h"

static void add_profile_object(const struct format_view *view, struct buf *out)
{
    json_html_member(out, "{\"profile\":", view->title);
    json_html_member(out, ",\"made_by\":", view->made_by);
    buf_add_fmt(out, ",\"start_unix_ns\":%" PRId64 ",\"duration_ns\":%" PRId64 ",\"units\":{",
                view->time_ns, view->duration_ns);
    for (size_t i = 0; i < view->stacks->type_count; i++) {
        json_html_member(out, i ? "," : "", view->stacks->types[i].type);
        json_html_member(out, ":", view->stacks->types[i].unit);
    }
    buf_add_str(out, "}}\n");
}

static void add_frame_object(const struct pprof_stacks *stacks, uint32_t number, struct buf *out)
{
    const struct pprof_stacks_line *line = &stacks->lines[number];
    const struct pprof_stacks_function *function = &stacks->functions[line->function];

    json_html_member(out, "{\"func\":", function->name);
    json_html_member(out, ",\"file\":", function->file);
    buf_add_fmt(out, ",\"line\":%" PRId32, line->line);
    if (line->column > 0)
        buf_add_fmt(out, ",\"column\":%" PRId32, line->column);
    buf_add_str(out, "}");
}

static void add_label_object(const struct pprof_label *label, struct buf *out)
{
    json_html_member(out, "{\"key\":", label->key);
    buf_add_str(out, ",\"value\":");
    if (label->str)
        json_html_string(out, label->str);
    else
        buf_add_fmt(out, "%" PRId64, label->num);
    if (label->num_unit) {
        json_html_member(out, ",\"unit\":", label->num_unit);
    }
    buf_add_str(out, "}");
}

static void add_stack_object(const struct pprof_stacks *stacks, const struct pprof_stacks_row *row,
                             struct buf *out)
{
    buf_add_str(out, "{\"values\":{");
    for (size_t i = 0; i < stacks->type_count; i++) {
        json_html_member(out, i ? "," : "", stacks->types[i].type);
        buf_add_fmt(out, ":%" PRId64, row->values[i]);
    }
    buf_add_str(out, "},\"labels\":[");
    for (size_t i = 0; i < row->label_count; i++) {
        buf_add_str(out, i ? "," : "");
        add_label_object(&row->labels[i], out);
    }
    buf_add_str(out, "],\"stack\":[");
    for (size_t i = 0; i < row->depth; i++) {
        buf_add_str(out, i ? "," : "");
        add_frame_object(stacks, row->lines[i], out);
    }
    buf_add_str(out, "]}\n");
}

enum pprof_rc write_jsonl(const struct format_view *view, struct buf *out)
{
    add_profile_object(view, out);
    for (size_t i = 0; i < view->stacks->row_count && !out->failed; i++) {
        add_stack_object(view->stacks, &view->stacks->rows[i], out);
        format_drain(view, out);
    }
    return buf_failed(out) ? PPROF_FULL : PPROF_OK;
}
