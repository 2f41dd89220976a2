/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.c - the flame graph as one page for a browser, which asks nobody for anything.
 *
 * The page itself is flame.html with flame.css and flame.js, which other pages use, too. Its data:
 * functions as [name, file, line, kind]; the tree as one row of numbers, [level, function, own
 * value of each type] for each node, where the node before it on the level above is its parent.
 * Most nodes have no own value: there the function is -1 - function, and no values follow.
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

const unsigned char *format_flame_style(size_t *size)
{
    *size = sizeof(style);
    return style;
}

const unsigned char *format_flame_script(size_t *size)
{
    *size = sizeof(script);
    return script;
}

static bool is_left_out(const struct flame *flame, size_t node)
{
    const struct tree *tree = flame->tree;

    for (size_t type = 0; type < tree->type_count; type++)
        if (fabs((double)tree_total(tree, node, type)) >
            flame->share * fabs((double)tree_total(tree, 0, type)))
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

enum pprof_rc format_flame_data(const struct format_view *view, size_t nodes_max, struct buf *out)
{
    struct flame flame = {.stacks = view->stacks};
    enum pprof_rc rc = tree_new(view->stacks, false, &flame.tree);

    if (rc != PPROF_OK)
        return rc;
    flame.numbers = calloc(view->stacks->function_count + 1, sizeof(*flame.numbers));
    if (flame.numbers) {
        leave_out(&flame, nodes_max);
        page_add_head(out, view);
        buf_add_fmt(out, "\"share\":%g,\n", flame.share);
        add_flame_functions(&flame, out);
        add_nodes(&flame, out);
    }
    rc = !flame.numbers ? PPROF_NOMEM : buf_failed(out) ? PPROF_FULL : PPROF_OK;
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
