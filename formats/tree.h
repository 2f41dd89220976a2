/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - adds stacks up to one tree of calls, by function or by line.
 *
 * Shape:   tree_new, read the nodes, tree_free.
 * Order:   a node stands behind its parent and before its siblings: level tells the rest.
 *          Siblings are in the order of the stacks' functions or lines.
 */
#ifndef FORMATS_TREE_H
#define FORMATS_TREE_H

#include "pprof/stacks.h"

struct tree_node {
    uint32_t what;   /* a function or a line of the stacks; 0: the root, which stands for all */
    uint32_t parent; /* the root's is the root */
    uint32_t level;  /* the root's is 0 */
    uint32_t end;    /* behind the last node below this one */
};

struct tree {
    struct tree_node *nodes; /* owned */
    size_t count;            /* at least 1 */
    int64_t *own, *total;    /* owned: type_count a node */
    uint32_t *ends;          /* owned: the node in which each row of the stacks ends */
    size_t type_count;
    uint32_t levels; /* the highest level there is */
};

/* Gives: *out, ended with tree_free. Errors: PPROF_NOMEM, PPROF_FULL (too many nodes). */
MUST_CHECK enum pprof_rc tree_new(const struct pprof_stacks *stacks, bool by_line,
                                  struct tree **out);

/* Values of a node. */
int64_t tree_own(const struct tree *tree, size_t node, size_t type);
int64_t tree_total(const struct tree *tree, size_t node, size_t type);

/* Frees it. NULL is fine. */
void tree_free(struct tree *tree);

#endif
