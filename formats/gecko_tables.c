/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gecko_tables.c - see gecko_tables.h. The columns are those of version 61, whose source gecko.c
 * names.
 */
#include "formats/gecko_tables.h"

#include <inttypes.h>

#include "base/json.h"
#include "formats/text.h"

static void add_node_frame(struct buf *out, const void *tree, size_t i)
{
    buf_add_fmt(out, "%" PRIu32, ((const struct tree *)tree)->nodes[i].what - 1);
}

static void add_node_prefix(struct buf *out, const void *tree, size_t i)
{
    uint32_t parent = ((const struct tree *)tree)->nodes[i].parent;

    if (parent)
        buf_add_fmt(out, "%" PRIu32, parent - 1);
    else
        buf_add_str(out, "null");
}

static void add_frame_function(struct buf *out, const void *stacks, size_t i)
{
    buf_add_fmt(out, "%" PRIu32, ((const struct pprof_stacks *)stacks)->lines[i].function - 1);
}

static void add_frame_line(struct buf *out, const void *stacks, size_t i)
{
    json_count(out, "", ((const struct pprof_stacks *)stacks)->lines[i].line);
}

static void add_frame_column(struct buf *out, const void *stacks, size_t i)
{
    json_count(out, "", ((const struct pprof_stacks *)stacks)->lines[i].column);
}

/* The place in the categories below: behind "Other" they are as in enum text_kind. */
static void add_frame_category(struct buf *out, const void *of, size_t i)
{
    const struct pprof_stacks *stacks = of;

    buf_add_fmt(out, "%d",
                1 + (int)text_kind_of(stacks->functions[stacks->lines[i].function].file));
}

/* Function i has the texts 2i and 2i + 1: its name and its file; so has source i. */
static void add_function_name(struct buf *out, const void *of, size_t i)
{
    (void)of;
    buf_add_fmt(out, "%zu", 2 * (i - 1));
}

static void add_function_file(struct buf *out, const void *of, size_t i)
{
    (void)of;
    buf_add_fmt(out, "%zu", 2 * (i - 1) + 1);
}

static void add_function_source(struct buf *out, const void *of, size_t i)
{
    const struct pprof_stacks *stacks = of;

    if (stacks->functions[i].file[0])
        buf_add_fmt(out, "%zu", i - 1);
    else
        buf_add_str(out, "null");
}

static void add_function_line(struct buf *out, const void *stacks, size_t i)
{
    json_count(out, "", ((const struct pprof_stacks *)stacks)->functions[i].start_line);
}

static void add_function_texts(struct buf *out, const void *of, size_t i)
{
    const struct pprof_stacks *stacks = of;

    json_html_string(out, stacks->functions[i].name);
    json_html_member(out, ",", stacks->functions[i].file);
}

/* A column of one of the tables that all threads share. */
struct column {
    const char *table; /* NULL: as the one before */
    const char *name;
    enum { OF_NODES, OF_LINES, OF_FUNCTIONS, OF_NOTHING } of;
    void (*add)(struct buf *out, const void *of, size_t i);
    const char *all; /* without `add`: the value in all rows */
};

static const struct column texts = {NULL, "stringArray", OF_FUNCTIONS, add_function_texts, NULL};

static const struct column columns[] = {
    {"stackTable", "frame", OF_NODES, add_node_frame, NULL},
    {NULL, "prefix", OF_NODES, add_node_prefix, NULL},
    {"frameTable", "address", OF_LINES, NULL, "-1"},
    {NULL, "inlineDepth", OF_LINES, NULL, "0"},
    {NULL, "category", OF_LINES, add_frame_category, NULL},
    {NULL, "subcategory", OF_LINES, NULL, "0"},
    {NULL, "func", OF_LINES, add_frame_function, NULL},
    {NULL, "nativeSymbol", OF_LINES, NULL, "null"},
    {NULL, "innerWindowID", OF_LINES, NULL, "null"},
    {NULL, "line", OF_LINES, add_frame_line, NULL},
    {NULL, "column", OF_LINES, add_frame_column, NULL},
    {"funcTable", "name", OF_FUNCTIONS, add_function_name, NULL},
    {NULL, "isJS", OF_FUNCTIONS, NULL, "false"},
    {NULL, "relevantForJS", OF_FUNCTIONS, NULL, "false"},
    {NULL, "resource", OF_FUNCTIONS, NULL, "-1"},
    {NULL, "source", OF_FUNCTIONS, add_function_source, NULL},
    {NULL, "lineNumber", OF_FUNCTIONS, add_function_line, NULL},
    {NULL, "columnNumber", OF_FUNCTIONS, NULL, "null"},
    {"resourceTable", "lib", OF_NOTHING, NULL, "null"},
    {NULL, "name", OF_NOTHING, NULL, "null"},
    {NULL, "host", OF_NOTHING, NULL, "null"},
    {NULL, "type", OF_NOTHING, NULL, "null"},
    {"nativeSymbols", "libIndex", OF_NOTHING, NULL, "null"},
    {NULL, "address", OF_NOTHING, NULL, "null"},
    {NULL, "name", OF_NOTHING, NULL, "null"},
    {NULL, "functionSize", OF_NOTHING, NULL, "null"},
    {"sources", "id", OF_FUNCTIONS, NULL, "null"},
    {NULL, "filename", OF_FUNCTIONS, add_function_file, NULL},
    {NULL, "startLine", OF_FUNCTIONS, NULL, "1"},
    {NULL, "startColumn", OF_FUNCTIONS, NULL, "1"},
    {NULL, "sourceMapURL", OF_FUNCTIONS, NULL, "null"},
};

/* A column: the values of what is numbered from 1 to below `count`. */
static void add_table_column(struct buf *out, const struct column *column, const void *of,
                             size_t count)
{
    buf_add_fmt(out, "\"%s\":[", column->name);
    for (size_t i = 1; i < count; i++) {
        buf_add_str(out, i > 1 ? "," : "");
        if (column->add)
            column->add(out, of, i);
        else
            buf_add_str(out, column->all);
    }
    buf_add_str(out, "]");
}

void gecko_tables(const struct pprof_stacks *stacks, const struct tree *tree, struct buf *out)
{
    const size_t counts[] = {tree->count, stacks->line_count, stacks->function_count, 1};

    buf_add_str(out, "\"shared\":{");
    add_table_column(out, &texts, stacks, stacks->function_count);
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        if (columns[i].table)
            buf_add_fmt(out, "%s,\n\"%s\":{\"length\":%zu", i ? "}" : "", columns[i].table,
                        counts[columns[i].of] - 1);
        buf_add_str(out, ",");
        add_table_column(out, &columns[i],
                         columns[i].of == OF_NODES ? (const void *)tree : (const void *)stacks,
                         counts[columns[i].of]);
    }
    buf_add_str(out, "}}");
}
