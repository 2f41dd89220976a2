/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.c - the flame graph as one page for a browser, which asks nobody for anything.
 *
 * The page itself is flame.html. Its data: functions as [name, file, line, kind]; the tree as
 * one row of numbers, [level, function, own value of each type] for each node, where the node
 * before it on the level above is its parent. Most nodes have no own value: there the function
 * is -1 - function, and no values follow.
 */
#include <inttypes.h>

#include "formats/page.h"
#include "formats/text.h"
#include "formats/tree.h"
#include "formats/writers.h"

static const unsigned char page[] = {
#include <formats/flame.html.inc>
};

static void add_functions(const struct pprof_stacks *stacks, struct buf *out)
{
    const struct pprof_stacks_function *function;
    size_t i;

    buf_add_str(out, "\"functions\":[[\"all\",\"\",0,2]");
    for (i = 1; i < stacks->function_count; i++) {
        function = &stacks->functions[i];
        buf_add_str(out, ",\n[");
        text_json(out, function->name);
        buf_add_str(out, ",");
        text_json(out, function->file);
        buf_add_fmt(out, ",%" PRId32 ",%d]", function->start_line,
                    (int)text_kind_of(function->file));
    }
    buf_add_str(out, "],\n");
}

static bool has_own(const struct tree *tree, size_t node)
{
    size_t type;

    for (type = 0; type < tree->type_count; type++)
        if (tree_own(tree, node, type) != 0)
            return true;
    return false;
}

static void add_nodes(const struct tree *tree, struct buf *out)
{
    size_t i, type;
    bool own;

    buf_add_str(out, "\"nodes\":[");
    for (i = 0; i < tree->count; i++) {
        own = has_own(tree, i);
        buf_add_fmt(out, "%s%" PRIu32 ",%s%" PRIu32, i ? "," : "", tree->nodes[i].level,
                    own ? "" : "-", tree->nodes[i].what + (own ? 0 : 1));
        for (type = 0; own && type < tree->type_count; type++)
            buf_add_fmt(out, ",%" PRId64, tree_own(tree, i, type));
    }
    buf_add_str(out, "]");
}

enum pprof_rc write_flame(const struct format_view *view, struct buf *out)
{
    struct tree *tree;
    struct buf data;
    enum pprof_rc rc = tree_new(view->stacks, false, &tree);

    if (rc != PPROF_OK)
        return rc;
    buf_init(&data, out->max);
    buf_add_str(&data, "{");
    page_add_head(&data, view);
    add_functions(view->stacks, &data);
    add_nodes(tree, &data);
    buf_add_str(&data, "}\n");
    tree_free(tree);
    page_add(out, page, sizeof(page), view->title, &data);
    rc = buf_failed(&data) || buf_failed(out) ? PPROF_FULL : PPROF_OK;
    buf_finish(&data);
    return rc;
}
