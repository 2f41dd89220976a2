/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collapsed.c - a line for each stack: its functions from the root on, and its value.
 *
 * Source:  what flamegraph.pl, inferno and speedscope read: frames parted by ';', then a blank
 *          and a number; with a difference two of them, before and after (difffolded.pl).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/text.h"
#include "formats/tree.h"
#include "formats/writers.h"

static void add_collapsed_frame(const struct pprof_stacks_function *function, struct buf *out)
{
    text_line(out, function->name, ';');
    if (function->file[0] == '\0')
        return;
    buf_add_str(out, " (");
    text_line(out, function->file, ';');
    if (function->start_line > 0)
        buf_add_fmt(out, ":%" PRId32, function->start_line);
    buf_add_str(out, ")");
}

/* Appends the numbers of a node, if it has any. */
static void add_collapsed_line(const struct format_view *view, const struct tree *tree, size_t node,
                               const struct buf *stack, struct buf *out)
{
    int64_t value = tree_own(tree, node, view->type), base = 0;

    if (view->base != FORMAT_NO_BASE)
        base = tree_own(tree, node, view->base);
    if (value == 0 && base == 0)
        return;
    if (stack->size)
        buf_add(out, stack->data, stack->size);
    else
        buf_add_str(out, "<no stack>");
    if (view->base != FORMAT_NO_BASE)
        buf_add_fmt(out, " %" PRId64, base);
    buf_add_fmt(out, " %" PRId64 "\n", value);
}

/* `sizes`: how long the line is down to each level. */
static void add_collapsed_lines(const struct format_view *view, const struct tree *tree,
                                size_t *sizes, struct buf *stack, struct buf *out)
{
    const struct tree_node *node;

    add_collapsed_line(view, tree, 0, stack, out);
    for (size_t i = 1; i < tree->count && !stack->failed && !out->failed; i++) {
        node = &tree->nodes[i];
        stack->size = sizes[node->level - 1];
        buf_add_str(stack, node->level > 1 ? ";" : "");
        add_collapsed_frame(&view->stacks->functions[node->what], stack);
        sizes[node->level] = stack->size;
        add_collapsed_line(view, tree, i, stack, out);
        format_drain(view, out);
    }
}

enum pprof_rc write_collapsed(const struct format_view *view, struct buf *out)
{
    struct tree *tree;
    struct buf stack;
    size_t *sizes;
    enum pprof_rc rc = tree_new(view->stacks, false, &tree);

    if (rc != PPROF_OK)
        return rc;
    buf_init(&stack, out->max);
    sizes = calloc((size_t)tree->levels + 1, sizeof(*sizes));
    if (sizes)
        add_collapsed_lines(view, tree, sizes, &stack, out);
    rc = !sizes ? PPROF_NOMEM : buf_failed(&stack) || buf_failed(out) ? PPROF_FULL : PPROF_OK;
    free(sizes);
    buf_finish(&stack);
    tree_free(tree);
    return rc;
}
