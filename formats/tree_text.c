/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_text.c - the tree of calls as text, a line a call, below its caller.
 *
 * Of the calls of one function the one that took most comes first. What is under a hundredth of
 * all is left out: below it a tree has its thousands of lines.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/text.h"
#include "formats/tree.h"
#include "formats/writers.h"

enum { LEAST_SHARE = 100, INDENT_MAX = 60 };

struct branch {
    size_t node;
    int64_t weight;
};

struct writer {
    const struct format_view *view;
    const struct tree *tree;
    struct buf *out;
    struct branch *stack; /* owned: what is to be written yet, the last one first */
    size_t count;
};

/* What a node is sorted by: its value, or the larger one of a difference. */
static int64_t weight_of(const struct writer *w, size_t node)
{
    int64_t value = tree_total(w->tree, node, w->view->type), base;

    if (w->view->base == FORMAT_NO_BASE)
        return value;
    base = tree_total(w->tree, node, w->view->base);
    return base > value ? base : value;
}

static int compare_branches(const void *x, const void *y)
{
    const struct branch *a = x, *b = y;

    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    return a->node > b->node ? -1 : a->node < b->node;
}

static void push_children(struct writer *w, size_t node, int64_t least)
{
    size_t child = node + 1, first = w->count;
    int64_t weight;

    for (; child < w->tree->nodes[node].end; child = w->tree->nodes[child].end) {
        weight = weight_of(w, child);
        if (weight > 0 && weight >= least)
            w->stack[w->count++] = (struct branch){child, weight};
    }
    if (w->count > first)
        qsort(w->stack + first, w->count - first, sizeof(*w->stack), compare_branches);
}

static void add_value_column(struct writer *w, int64_t value)
{
    struct buf text;

    buf_init(&text, 256);
    text_value(&text, value, w->view->stacks->types[w->view->type].unit, text_plain);
    buf_add_fmt(w->out, "%12s", buf_failed(&text) ? "" : buf_text(&text));
    buf_finish(&text);
}

static void add_node_line(struct writer *w, size_t node)
{
    const struct tree_node *at = &w->tree->nodes[node];
    const struct pprof_stacks_function *function = &w->view->stacks->functions[at->what];
    int64_t value = tree_total(w->tree, node, w->view->type);
    int64_t all = tree_total(w->tree, 0, w->view->type), base;

    buf_add_fmt(w->out, "%6.1f%%", all ? 100 * (double)value / (double)all : 0);
    add_value_column(w, value);
    if (w->view->base == FORMAT_NO_BASE) {
        add_value_column(w, tree_own(w->tree, node, w->view->type));
    } else {
        base = tree_total(w->tree, node, w->view->base);
        add_value_column(w, base);
    }
    buf_add_fmt(w->out, "  %*s", (int)(at->level < INDENT_MAX ? at->level : INDENT_MAX), "");
    text_plain(w->out, node ? function->name : "all");
    if (function->file[0]) {
        buf_add_str(w->out, "  ");
        text_plain(w->out, text_base(function->file));
        if (function->start_line > 0)
            buf_add_fmt(w->out, ":%" PRId32, function->start_line);
    }
    buf_add_str(w->out, "\n");
}

enum pprof_rc write_tree(const struct format_view *view, struct buf *out)
{
    struct writer w = {.view = view, .out = out};
    struct tree *tree;
    enum pprof_rc rc = tree_new(view->stacks, false, &tree);
    size_t node;

    if (rc != PPROF_OK)
        return rc;
    w.tree = tree;
    w.stack = malloc(tree->count * sizeof(*w.stack));
    if (w.stack) {
        buf_add_fmt(out, "%7s%12s%12s  %s\n", "%", "total",
                    view->base == FORMAT_NO_BASE ? "own" : "before", "call");
        w.stack[w.count++] = (struct branch){0, 0};
    }
    while (w.count && !out->failed) {
        node = w.stack[--w.count].node;
        add_node_line(&w, node);
        push_children(&w, node, weight_of(&w, 0) / LEAST_SHARE);
    }
    rc = !w.stack ? PPROF_NOMEM : buf_failed(out) ? PPROF_FULL : PPROF_OK;
    free(w.stack);
    tree_free(tree);
    return rc;
}
