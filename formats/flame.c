/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.c - the flame graph as one page for a browser, which asks nobody for anything.
 *
 * The page itself is flame.html with flame.css and flame.js, which other pages use, too. Its data:
 * functions as [name, file, line, kind]; the tree as one row of numbers, [level, function, own
 * value of each type] for each node, where the node before it on the level above is its parent.
 * Most nodes have no own value: there the function is -1 - function, and no values follow.
 * Lines are such a row, too: [function, line, total of each type, own of each type] for each, by
 * function; the line is negative where no own values follow. A stack counts once in a total.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "formats/page.h"
#include "formats/sums.h"
#include "formats/text.h"
#include "formats/tree.h"
#include "formats/writers.h"

/* What no screen has a point for. */
#define FIRST_SHARE 2e-5

/* Lines are bounded to one of so many nodes. */
enum { NODES_OF_A_LINE = 4 };

static const unsigned char page[] = {
#include <formats/flame.html.inc>
};
static const unsigned char style[] = {
#include <formats/flame.css.inc>
};
static const unsigned char script[] = {
#include <formats/flame.js.inc>
};

/* What is written of a tree: all of it, or only the nodes that can be seen. */
struct flame {
    const struct pprof_stacks *stacks; /* borrowed */
    struct tree *tree;                 /* borrowed */
    double share;                      /* nodes with less of each value are left out; 0: none */
    uint32_t *numbers;                 /* owned: of the functions that are written; 0: it is not */
};

/* What each line took. */
struct lines {
    const struct flame *flame;          /* borrowed */
    uint32_t *places;                   /* owned: columns of one line are one place */
    struct sums *sums[PPROF_TYPES_MAX]; /* owned: of places, for each type */
    double share;                       /* as in struct flame */
};

void format_flame_style(struct buf *out)
{
    buf_add(out, style, sizeof(style));
}

void format_flame_script(struct buf *out)
{
    buf_add(out, script, sizeof(script));
}

static bool is_more(int64_t value, double share, int64_t whole)
{
    return fabs((double)value) > share * fabs((double)whole);
}

static bool is_left_out(const struct flame *flame, size_t node)
{
    const struct tree *tree = flame->tree;

    for (size_t type = 0; type < tree->type_count; type++)
        if (is_more(tree_total(tree, node, type), flame->share, tree_total(tree, 0, type)))
            return false;
    return flame->share > 0 && node > 0;
}

/* The node to be written after this one. */
static size_t next_node(const struct flame *flame, size_t node)
{
    node++;
    while (node < flame->tree->count && is_left_out(flame, node))
        node = flame->tree->nodes[node].end;
    return node;
}

/* Leaves out the smallest until no more than `max` are left: their parents take them over. */
static void leave_out(struct flame *flame, size_t max)
{
    struct tree *tree = flame->tree;
    size_t i, type, count = tree->count;

    while (count > max) {
        flame->share = flame->share > 0 ? flame->share * 2 : FIRST_SHARE;
        for (i = count = 0; i < tree->count; i = next_node(flame, i))
            count++;
    }
    for (i = 1; flame->share > 0 && i < tree->count; i++) {
        if (!is_left_out(flame, i))
            continue;
        for (type = 0; type < tree->type_count; type++)
            sums_add(&tree->own[tree->nodes[i].parent * tree->type_count + type],
                     tree_total(tree, i, type));
        i = (size_t)tree->nodes[i].end - 1;
    }
}

static void add_flame_functions(struct flame *flame, struct buf *out)
{
    const struct pprof_stacks_function *function;
    uint32_t number = 0;

    for (size_t i = 0; i < flame->tree->count; i = next_node(flame, i))
        flame->numbers[flame->tree->nodes[i].what] = 1;
    buf_add_str(out, "\"functions\":[[\"all\",\"\",0,2]");
    for (size_t i = 1; i < flame->stacks->function_count; i++) {
        if (!flame->numbers[i])
            continue;
        flame->numbers[i] = ++number;
        function = &flame->stacks->functions[i];
        json_html_member(out, ",\n[", function->name);
        json_html_member(out, ",", function->file);
        buf_add_fmt(out, ",%" PRId32 ",%d]", function->start_line,
                    (int)text_kind_of(function->file));
    }
    buf_add_str(out, "],\n");
    flame->numbers[0] = 0;
}

static bool has_own(const struct tree *tree, size_t node)
{
    for (size_t type = 0; type < tree->type_count; type++)
        if (tree_own(tree, node, type) != 0)
            return true;
    return false;
}

static void add_nodes(const struct flame *flame, struct buf *out)
{
    const struct tree *tree = flame->tree;
    size_t i, type;
    bool own;

    buf_add_str(out, "\"nodes\":[");
    for (i = 0; i < tree->count; i = next_node(flame, i)) {
        own = has_own(tree, i);
        buf_add_fmt(out, "%s%" PRIu32 ",%s%" PRIu32, i ? "," : "", tree->nodes[i].level,
                    own ? "" : "-", flame->numbers[tree->nodes[i].what] + (own ? 0 : 1));
        for (type = 0; own && type < tree->type_count; type++)
            buf_add_fmt(out, ",%" PRId64, tree_own(tree, i, type));
    }
    buf_add_str(out, "]");
}

/* Numbers the places. False: out of memory. */
static bool sum_lines(struct lines *lines)
{
    const struct pprof_stacks *stacks = lines->flame->stacks;
    const struct pprof_stacks_line *line = stacks->lines;
    struct sums_places places = {NULL, 1, true};
    bool good;

    places.of_line = lines->places = calloc(stacks->line_count, sizeof(*lines->places));
    good = lines->places != NULL;
    for (size_t i = 1; good && i < stacks->line_count; i++) {
        places.count +=
            line[i].function != line[i - 1].function || line[i].line != line[i - 1].line;
        lines->places[i] = (uint32_t)places.count - 1;
    }
    for (size_t type = 0; good && type < stacks->type_count; type++)
        good = sums_new(stacks, type, &places, &lines->sums[type]) == PPROF_OK;
    return good;
}

static bool line_is_written(const struct lines *lines, size_t i)
{
    const struct flame *flame = lines->flame;
    const struct pprof_stacks_line *line = &flame->stacks->lines[i];

    if (line->line <= 0 || !flame->numbers[line->function] ||
        lines->places[i] == lines->places[i - 1])
        return false;
    for (size_t type = 0; type < flame->stacks->type_count; type++)
        if (is_more(lines->sums[type]->places[lines->places[i]].total, lines->share,
                    tree_total(flame->tree, 0, type)))
            return true;
    return false;
}

static void add_line(const struct lines *lines, size_t i, struct buf *out)
{
    const struct flame *flame = lines->flame;
    const struct pprof_stacks_line *line = &flame->stacks->lines[i];
    const uint32_t place = lines->places[i];
    size_t type, count = flame->stacks->type_count;
    bool own = false;

    for (type = 0; type < count; type++)
        own = own || lines->sums[type]->places[place].own != 0;
    buf_add_fmt(out, "%" PRIu32 ",%" PRId32, flame->numbers[line->function],
                own ? line->line : -line->line);
    for (type = 0; type < count; type++)
        buf_add_fmt(out, ",%" PRId64, lines->sums[type]->places[place].total);
    for (type = 0; own && type < count; type++)
        buf_add_fmt(out, ",%" PRId64, lines->sums[type]->places[place].own);
}

/* Leaves out the smallest until no more than `max` are left. */
static void add_lines(struct lines *lines, size_t max, struct buf *out)
{
    const size_t line_count = lines->flame->stacks->line_count;
    size_t i, count = SIZE_MAX;

    while (count > max) {
        lines->share = count == SIZE_MAX  ? lines->flame->share
                       : lines->share > 0 ? lines->share * 2
                                          : FIRST_SHARE;
        for (i = 1, count = 0; i < line_count; i++)
            count += line_is_written(lines, i);
    }
    buf_add_str(out, "\"lines\":[");
    for (i = 1, count = 0; i < line_count; i++)
        if (line_is_written(lines, i)) {
            buf_add_str(out, count++ ? "," : "");
            add_line(lines, i, out);
        }
    buf_add_str(out, "],\n");
}

/* False: out of memory. */
static bool add_function_lines(const struct flame *flame, size_t max, struct buf *out)
{
    struct lines lines = {.flame = flame};
    const bool good = sum_lines(&lines);

    if (good)
        add_lines(&lines, max, out);
    for (size_t type = 0; type < PPROF_TYPES_MAX; type++)
        sums_free(lines.sums[type]);
    free(lines.places);
    return good;
}

enum pprof_rc format_flame_data(const struct format_view *view, size_t nodes_max, struct buf *out)
{
    struct flame flame = {.stacks = view->stacks};
    enum pprof_rc rc = tree_new(view->stacks, false, &flame.tree);
    bool good;

    if (rc != PPROF_OK)
        return rc;
    flame.numbers = calloc(view->stacks->function_count + 1, sizeof(*flame.numbers));
    good = flame.numbers != NULL;
    if (good) {
        leave_out(&flame, nodes_max);
        page_add_head(out, view);
        buf_add_fmt(out, "\"share\":%g,\n", flame.share);
        add_flame_functions(&flame, out);
        good = add_function_lines(&flame, nodes_max / NODES_OF_A_LINE, out);
        add_nodes(&flame, out);
    }
    rc = !good ? PPROF_NOMEM : buf_failed(out) ? PPROF_FULL : PPROF_OK;
    free(flame.numbers);
    tree_free(flame.tree);
    return rc;
}

enum pprof_rc write_flame(const struct format_view *view, struct buf *out)
{
    struct buf data;
    struct page_part parts[] = {{"@STYLE@", style, sizeof(style)},
                                {"@SCRIPT@", script, sizeof(script)},
                                {"@DATA@", NULL, 0}};
    enum pprof_rc rc;

    buf_init(&data, out->max);
    buf_add_str(&data, "{");
    rc = format_flame_data(view, SIZE_MAX, &data);
    buf_add_str(&data, "}\n");
    if (rc == PPROF_OK && buf_failed(&data))
        rc = PPROF_FULL;
    parts[2].bytes = data.data;
    parts[2].size = data.size;
    if (rc == PPROF_OK)
        page_add(out, page, sizeof(page), view->title, parts, sizeof(parts) / sizeof(parts[0]));
    if (rc == PPROF_OK && buf_failed(out))
        rc = PPROF_FULL;
    buf_finish(&data);
    return rc;
}
