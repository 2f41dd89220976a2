/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example.h - a small profile that has one of everything, for the tests of pprof/.
 *
 * Stacks, leaf first, each with samples, wall and cpu:
 *
 *     work < <module>            2  20000000  15000000   {tid: 7, thread: "Main"}
 *     fib < fib < work < <module>  3  30000000  30000000   {tid: 7, thread: "Main"}
 *     idle < <module>            1  10000000         0   {tid: 8}
 */
#ifndef TESTS_UNIT_PPROF_EXAMPLE_H
#define TESTS_UNIT_PPROF_EXAMPLE_H

#include "pprof/pprof.h"

enum { EXAMPLE_ROWS = 3, EXAMPLE_TYPES = 3 };

static const struct pprof_type example_types[EXAMPLE_TYPES] = {
    {"samples", "count"}, {"wall", "nanoseconds"}, {"cpu", "nanoseconds"}};

static const char *const example_comments[] = {"pid 42", "made by a test"};

static const struct pprof_meta example_meta = {
    .time_ns = 1700000000000000000,
    .duration_ns = 60000000,
    .period_type = {"wall", "nanoseconds"},
    .period = 10000000,
    .default_type = "cpu",
    .comments = example_comments,
    .comment_count = 2,
    .doc_url = "https://example.org/profile",
};

struct example_frame {
    const char *name;
    int32_t start_line, line, column;
};

/* Adds row `i` of the table above. */
static inline enum pprof_rc example_add(struct pprof *p, size_t i)
{
    static const struct example_frame stacks[EXAMPLE_ROWS][4] = {
        {{"work", 10, 12, 0}, {"<module>", 1, 40, 0}},
        {{"fib", 20, 22, 9}, {"fib", 20, 22, 16}, {"work", 10, 12, 0}, {"<module>", 1, 40, 0}},
        {{"idle", 30, 31, 0}, {"<module>", 1, 41, 0}},
    };
    static const int64_t values[EXAMPLE_ROWS][EXAMPLE_TYPES] = {
        {2, 20000000, 15000000}, {3, 30000000, 30000000}, {1, 10000000, 0}};
    const struct pprof_label labels[2] = {{"tid", NULL, i == 2 ? 8 : 7, NULL},
                                          {"thread", "Main", 0, NULL}};
    uint32_t function, frames[4], stack, row;
    enum pprof_rc rc = PPROF_OK;
    size_t depth;

    for (depth = 0; depth < 4 && stacks[i][depth].name && rc == PPROF_OK; depth++) {
        rc = pprof_function(p, stacks[i][depth].name, "/srv/app.py", stacks[i][depth].start_line,
                            &function);
        if (rc == PPROF_OK)
            rc = pprof_location(p, function, stacks[i][depth].line, stacks[i][depth].column,
                                &frames[depth]);
    }
    if (rc == PPROF_OK)
        rc = pprof_stack(p, frames, depth, &stack);
    if (rc == PPROF_OK)
        rc = pprof_row(p, stack, labels, i == 2 ? 1 : 2, &row);
    if (rc == PPROF_OK)
        pprof_add(p, row, values[i]);
    return rc;
}

#define EXAMPLE_BINARY   "/usr/bin/python3.11"
#define EXAMPLE_BUILD_ID "0123456789abcdef0123456789abcdef01234567"

/* Adds all rows, in the order of `order`: digits from 0 to 2. */
static inline enum pprof_rc example_fill(struct pprof *p, const char *order)
{
    enum pprof_rc rc = PPROF_OK;

    if (*order)
        pprof_set_binary(p, EXAMPLE_BINARY, EXAMPLE_BUILD_ID);
    for (; *order && rc == PPROF_OK; order++)
        rc = example_add(p, (size_t)(*order - '0'));
    return rc;
}

#endif
