/* SPDX-License-Identifier: Apache-2.0 */
/* example.h - writes small profiles, the one of example.h and others, in a format. */
#ifndef TESTS_UNIT_FORMATS_EXAMPLE_H
#define TESTS_UNIT_FORMATS_EXAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "tests/unit/pprof/example.h"
#include "tests/unit/unit_test.h"

enum { FORMAT_BUDGET = 4 << 20 };

/* A profile with the rows of `order`, as example_fill has them. */
static inline struct pprof *format_profile(const char *order)
{
    struct pprof *p;

    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, FORMAT_BUDGET, &p), PPROF_OK);
    assert_int_equal(example_fill(p, order), PPROF_OK);
    return p;
}

/* Adds a row: a stack of `depth` functions of one file, leaf first, each on line `lines[i]`. */
static inline void format_row(struct pprof *p, const char *const *names, const int32_t *lines,
                              size_t depth, const char *file, int64_t cpu_ns)
{
    const int64_t values[EXAMPLE_TYPES] = {1, cpu_ns, cpu_ns};
    uint32_t function, places[8], stack, row;
    size_t i;

    for (i = 0; i < depth; i++) {
        assert_int_equal(pprof_function(p, names[i], file, 1, &function), PPROF_OK);
        assert_int_equal(pprof_location(p, function, lines[i], 0, &places[i]), PPROF_OK);
    }
    assert_int_equal(pprof_stack(p, places, depth, &stack), PPROF_OK);
    assert_int_equal(pprof_row(p, stack, NULL, 0, &row), PPROF_OK);
    pprof_add(p, row, values);
}

static inline struct pprof_stacks *format_stacks(const struct pprof *p)
{
    struct pprof_stacks *stacks;

    assert_int_equal(pprof_stacks_new(p, &stacks), PPROF_OK);
    return stacks;
}

/* The number of a function by its name. */
static inline uint32_t format_function(const struct pprof_stacks *stacks, const char *name)
{
    uint32_t i;

    for (i = 1; i < stacks->function_count; i++)
        if (strcmp(stacks->functions[i].name, name) == 0)
            return i;
    fail_msg("there is no function %s", name);
    return 0;
}

/* Writes a profile's cpu; the text, which is the caller's to free, ends with a NUL. */
static inline enum pprof_rc format_write(const struct pprof *p, const char *name, size_t base,
                                         size_t max, char **out, size_t *size)
{
    struct pprof_stacks *stacks = format_stacks(p);
    const struct format_view view = {.profile = p,
                                     .stacks = stacks,
                                     .type = base == FORMAT_NO_BASE ? 2 : 1,
                                     .base = base,
                                     .title = "an <example>",
                                     .time_ns = 1700000000000000000,
                                     .duration_ns = 60000000,
                                     .period = 10000000,
                                     .made_by = "a test"};
    struct buf bytes;
    enum pprof_rc rc;

    buf_init(&bytes, max);
    rc = format_named(name)->write(&view, &bytes);
    *size = bytes.size;
    *out = calloc(1, bytes.size + 1);
    assert_non_null(*out);
    if (*out && bytes.size)
        memcpy(*out, bytes.data, bytes.size);
    buf_finish(&bytes);
    pprof_stacks_free(stacks);
    return rc;
}

/* The same where nothing can go wrong. */
static inline char *format_text(const struct pprof *p, const char *name)
{
    size_t size;
    char *text;

    assert_int_equal(format_write(p, name, FORMAT_NO_BASE, 64 << 20, &text, &size), PPROF_OK);
    return text;
}

#endif
