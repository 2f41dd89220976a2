/* SPDX-License-Identifier: Apache-2.0 */
/* source_of_tree.h - source files below a directory of the test. */
#ifndef TESTS_UNIT_DUMP_SOURCE_OF_TREE_H
#define TESTS_UNIT_DUMP_SOURCE_OF_TREE_H

#include "agent/dump/source.h"

/* Reads below these directories with the test's own rights. */
static inline struct source *source_of_tree(const char *root, const char *working)
{
    const struct source_folder folder = {.root = root, .working = working};

    return source_open(source_reader_of_folder(&folder), INT64_MAX);
}

#endif
