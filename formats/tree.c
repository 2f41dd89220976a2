/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - see tree.h. */
#include "formats/tree.h"

#include <stdlib.h>

#include "formats/sums.h"

enum { NODES_MAX = 1 << 27 };

/* A row's stack, to be sorted from the root on. */
struct path {
    const struct pprof_stacks_row *row;
    const struct pprof_stacks_line *lines; /* whose functions count; NULL: the lines do */
};

static uint32_t frame_at(const struct path *path, size_t from_root)
{
    uint32_t line = path->row->lines[path->row->depth - 1 - from_root];

    return path->lines ? path->lines[line].function : line;
}

/* How many frames from the root on two stacks share. */
static size_t shared_depth(const struct path *a, const struct path *b)
{
    size_t depth = a->row->depth < b->row->depth ? a->row->depth : b->row->depth, i = 0;

    while (i < depth && frame_at(a, i) == frame_at(b, i))
        i++;
    return i;
}

static int compare_tree_paths(const void *x, const void *y)
{
    const struct path *a = x, *b = y;
    size_t shared = shared_depth(a, b);

    if (shared == a->row->depth || shared == b->row->depth)
        return (a->row->depth > b->row->depth) - (a->row->depth < b->row->depth);
    return frame_at(a, shared) < frame_at(b, shared) ? -1 : 1;
}

static struct path *sorted_paths(const struct pprof_stacks *stacks, bool by_line)
{
    struct path *paths = malloc((stacks->row_count + 1) * sizeof(*paths));

    for (size_t i = 0; paths && i < stacks->row_count; i++)
        paths[i] = (struct path){&stacks->rows[i], by_line ? NULL : stacks->lines};
    if (paths && stacks->row_count)
        qsort(paths, stacks->row_count, sizeof(*paths), compare_tree_paths);
    return paths;
}

static size_t count_nodes(const struct path *paths, size_t count)
{
    size_t i, nodes = 1;

    for (i = 0; i < count; i++)
        nodes += paths[i].row->depth - (i ? shared_depth(&paths[i - 1], &paths[i]) : 0);
    return nodes;
}

/* Adds what two neighbours do not share below `node`, where their common part ends. */
static uint32_t add_tree_path(struct tree *tree, const struct path *path, uint32_t node)
{
    size_t depth = tree->nodes[node].level;

    for (; depth < path->row->depth; depth++) {
        tree->nodes[tree->count] =
            (struct tree_node){frame_at(path, depth), node, (uint32_t)depth + 1, 0};
        node = (uint32_t)tree->count++;
        if (depth + 1 > tree->levels)
            tree->levels = (uint32_t)depth + 1;
    }
    return node;
}

static void add_paths(struct tree *tree, const struct pprof_stacks *stacks,
                      const struct path *paths)
{
    uint32_t node = 0;
    size_t i, shared, type;

    for (i = 0; i < stacks->row_count; i++) {
        shared = i ? shared_depth(&paths[i - 1], &paths[i]) : 0;
        while (tree->nodes[node].level > shared)
            node = tree->nodes[node].parent;
        node = add_tree_path(tree, &paths[i], node);
        tree->ends[paths[i].row - stacks->rows] = node;
        for (type = 0; type < tree->type_count; type++)
            sums_add(&tree->own[node * tree->type_count + type], paths[i].row->values[type]);
    }
}

/* Children stand behind their parents, so that one pass from the end on adds all up. */
static void add_up(struct tree *tree)
{
    size_t i, type, from, to;

    for (i = tree->count; i-- > 0;) {
        if (tree->nodes[i].end == 0)
            tree->nodes[i].end = (uint32_t)i + 1;
        to = tree->nodes[i].parent;
        if (i && tree->nodes[to].end < tree->nodes[i].end)
            tree->nodes[to].end = tree->nodes[i].end;
        for (type = 0; type < tree->type_count; type++) {
            from = i * tree->type_count + type;
            sums_add(&tree->total[from], tree->own[from]);
            if (i)
                sums_add(&tree->total[to * tree->type_count + type], tree->total[from]);
        }
    }
}

/* Makes room for `count` nodes. */
static enum pprof_rc alloc_tree_nodes(struct tree *tree, size_t count, size_t rows)
{
    if (count > NODES_MAX)
        return PPROF_FULL;
    tree->nodes = calloc(count, sizeof(*tree->nodes));
    tree->own = calloc(count * tree->type_count + 1, sizeof(*tree->own));
    tree->total = calloc(count * tree->type_count + 1, sizeof(*tree->total));
    tree->ends = calloc(rows + 1, sizeof(*tree->ends));
    return tree->nodes && tree->own && tree->total && tree->ends ? PPROF_OK : PPROF_NOMEM;
}

enum pprof_rc tree_new(const struct pprof_stacks *stacks, bool by_line, struct tree **out)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    struct path *paths = sorted_paths(stacks, by_line);
    enum pprof_rc rc = PPROF_NOMEM;

    if (tree && paths) {
        tree->type_count = stacks->type_count;
        tree->count = 1;
        rc = alloc_tree_nodes(tree, count_nodes(paths, stacks->row_count), stacks->row_count);
    }
    if (rc == PPROF_OK) {
        add_paths(tree, stacks, paths);
        add_up(tree);
        *out = tree;
    } else {
        tree_free(tree);
    }
    free(paths);
    return rc;
}

int64_t tree_own(const struct tree *tree, size_t node, size_t type)
{
    return tree->own[node * tree->type_count + type];
}

int64_t tree_total(const struct tree *tree, size_t node, size_t type)
{
    return tree->total[node * tree->type_count + type];
}

void tree_free(struct tree *tree)
{
    if (!tree)
        return;
    free(tree->nodes);
    free(tree->own);
    free(tree->total);
    free(tree->ends);
    free(tree);
}
