/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope.c - JSON for speedscope.app: a table of frames, and a profile for each value.
 *
 * Source:  src/lib/file-format-spec.ts of github.com/jlfwong/speedscope. Frames are functions,
 *          not lines, because speedscope adds up what is one frame. A weight of 0 or less has no
 *          place there.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "formats/sums.h"
#include "formats/writers.h"

/*
 * Frames of a stack: Left Heavy and Sandwich walk the tree of calls by recursion, and a browser has
 * no room for some 2,500. What is over that is left out of the middle.
 */
enum { DEPTH_MAX = 2000 };

static void add_frame_table(const struct pprof_stacks *stacks, struct buf *out)
{
    const struct pprof_stacks_function *function;

    for (size_t i = 1; i < stacks->function_count; i++) {
        function = &stacks->functions[i];
        json_html_member(out, i > 1 ? ",\n{\"name\":" : "\n{\"name\":", function->name);
        if (function->file[0]) {
            json_html_member(out, ",\"file\":", function->file);
        }
        if (function->start_line > 0)
            buf_add_fmt(out, ",\"line\":%" PRId32, function->start_line);
        buf_add_str(out, "}");
    }
}

/* speedscope's name for a unit. */
static const char *unit_of(const char *unit)
{
    static const char *const known[] = {"nanoseconds", "microseconds", "milliseconds", "seconds",
                                        "bytes"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i], unit) == 0)
            return known[i];
    return "none";
}

static void add_stack_indexes(const struct pprof_stacks *stacks, const struct pprof_stacks_row *row,
                              struct buf *out)
{
    buf_add_str(out, "[");
    for (size_t i = row->depth; i-- > 0;)
        buf_add_fmt(out, "%" PRIu32 "%s", stacks->lines[row->lines[i]].function - 1, i ? "," : "");
    buf_add_str(out, "]");
}

static void add_profile(const struct pprof_stacks *stacks, size_t type, struct buf *out)
{
    const char *between = "";
    int64_t total = 0;
    size_t i;

    json_html_member(out, "{\"type\":\"sampled\",\"name\":", stacks->types[type].type);
    buf_add_fmt(out, ",\"unit\":\"%s\",\"samples\":[", unit_of(stacks->types[type].unit));
    for (i = 0; i < stacks->row_count; i++) {
        if (stacks->rows[i].values[type] <= 0)
            continue;
        buf_add_str(out, between);
        add_stack_indexes(stacks, &stacks->rows[i], out);
        between = ",\n";
    }
    buf_add_str(out, "],\n\"weights\":[");
    for (i = 0, between = ""; i < stacks->row_count; i++) {
        if (stacks->rows[i].values[type] <= 0)
            continue;
        buf_add_fmt(out, "%s%" PRId64, between, stacks->rows[i].values[type]);
        sums_add(&total, stacks->rows[i].values[type]);
        between = ",";
    }
    buf_add_fmt(out, "],\"startValue\":0,\"endValue\":%" PRId64 "}", total);
}

static void add_speedscope_file(const struct format_view *view, const struct pprof_stacks *stacks,
                                struct buf *out)
{
    buf_add_str(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                     "\"name\":");
    json_html_string(out, view->title);
    json_html_member(out, ",\"exporter\":", view->made_by);
    buf_add_fmt(out, ",\"activeProfileIndex\":%zu,\n\"shared\":{\"frames\":[", view->type);
    add_frame_table(stacks, out);
    buf_add_str(out, "]},\n\"profiles\":[");
    for (size_t type = 0; type < stacks->type_count; type++) {
        buf_add_str(out, type ? ",\n" : "\n");
        add_profile(stacks, type, out);
    }
    buf_add_str(out, "]}\n");
}

enum pprof_rc write_speedscope(const struct format_view *view, struct buf *out)
{
    static const struct pprof_fit fit = {.depth_max = DEPTH_MAX};
    struct pprof *cut = NULL;
    struct pprof_stacks *stacks = NULL;
    enum pprof_rc rc = pprof_fit(view->profile, &fit, &cut);

    if (rc == PPROF_OK && cut)
        rc = pprof_stacks_new(cut, &stacks);
    if (rc == PPROF_OK) {
        add_speedscope_file(view, stacks ? stacks : view->stacks, out);
        rc = buf_failed(out) ? PPROF_FULL : PPROF_OK;
    }
    pprof_stacks_free(stacks);
    pprof_free(cut);
    return rc;
}
