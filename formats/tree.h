/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - adds stacks up to one tree of calls, by function or by line.
 *
 * Shape:   tree_new, read the nodes, tree_free.
 * Order:   preorder: a node is directly followed by all nodes below it, then by its next sibling.
 *          Siblings are in the order of the numbers of their functions or lines.
 */
#ifndef FORMATS_TREE_H
#define FORMATS_TREE_H

#include "pprof/stacks.h"

struct tree_node {
    uint32_t what;   /* number of a function or a line of the stacks; 0: the root */
    uint32_t parent; /* index of the parent; of the root: 0 */
    uint32_t level;  /* distance from the root */
    uint32_t end;    /* index behind the last node below this one */
};

struct tree {
    struct tree_node *nodes; /* owned */
    size_t count;            /* at least 1 */
    int64_t *own, *total;    /* owned: type_count values for each node */
    uint32_t *ends;          /* owned: for each row of the stacks the node in which it ends */
    size_t type_count;
    uint32_t levels; /* the highest level of a node */
};

/* Gives: *out, ended with tree_free. Errors: PPROF_NOMEM; PPROF_FULL: over 2^27 nodes. */
MUST_CHECK enum pprof_rc tree_new(const struct pprof_stacks *stacks, bool by_line,
                                  struct tree **out);

/* Give a value of a node: of the stacks that end in it, and with those of all nodes below it. */
int64_t tree_own(const struct tree *tree, size_t node, size_t type);
int64_t tree_total(const struct tree *tree, size_t node, size_t type);

/* Frees it. NULL is fine. */
void tree_free(struct tree *tree);

#endif
