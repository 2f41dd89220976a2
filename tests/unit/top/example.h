/* SPDX-License-Identifier: Apache-2.0 */
/* example.h - slices of time for the tests of pystrobe top: stacks that a service has seen. */
#ifndef TESTS_UNIT_TOP_EXAMPLE_H
#define TESTS_UNIT_TOP_EXAMPLE_H

#include <stdio.h>
#include <string.h>

#include "agent/host/clock.h"
#include "agent/top/model.h"
#include "tests/unit/unit_test.h"

enum { EXAMPLE_PID = 4242, EXAMPLE_DEPTH = 4 };

#define MS NS_PER_MS

/* A stack of one thread. */
struct top_stack {
    const char *names[EXAMPLE_DEPTH]; /* leaf first; the file of each is "/srv/NAME.py" */
    int32_t lines[EXAMPLE_DEPTH];     /* 0: 11 */
    const char *thread;               /* NULL: no labels */
    pid_t tid;
    int64_t cpu_ms, wall_ms, gil_ms;
};

static inline void top_add_stack(struct pprof *profile, const struct top_stack *stack)
{
    const int64_t values[TOP_VALUES] = {[VALUE_SAMPLES] = 1,
                                        [VALUE_CPU] = stack->cpu_ms * (int64_t)MS,
                                        [VALUE_WALL] = stack->wall_ms * (int64_t)MS,
                                        [VALUE_GIL] = stack->gil_ms * (int64_t)MS};
    const struct pprof_label labels[] = {{.key = "pid", .num = EXAMPLE_PID},
                                         {.key = "thread id", .num = stack->tid},
                                         {.key = "thread name", .str = stack->thread}};
    uint32_t function, locations[EXAMPLE_DEPTH], number, row;
    char file[256];
    size_t depth;

    for (depth = 0; depth < EXAMPLE_DEPTH && stack->names[depth]; depth++) {
        (void)snprintf(file, sizeof(file), "/srv/%s.py", stack->names[depth]);
        assert_int_equal(pprof_function(profile, stack->names[depth], file, 1, &function),
                         PPROF_OK);
        assert_int_equal(pprof_location(profile, function,
                                        stack->lines[depth] ? stack->lines[depth] : 11, 0,
                                        &locations[depth]),
                         PPROF_OK);
    }
    assert_int_equal(pprof_stack(profile, locations, depth, &number), PPROF_OK);
    assert_int_equal(pprof_row(profile, number, labels, stack->thread ? 3 : 0, &row), PPROF_OK);
    pprof_add(profile, row, values);
}

/* Adds a slice of `ms` milliseconds. */
static inline void top_add_slice(struct top_model *model, uint64_t ms,
                                 const struct top_stack *stacks, size_t count)
{
    const struct top_counts counts = {
        .duration_ns = ms * MS, .samples = ms / 10, .stacks = ms / 10, .own_cpu_ns = ms * MS / 50};
    struct pprof_stacks *laid_out;
    struct pprof *profile;
    size_t i;

    assert_int_equal(pprof_new(service_types, TOP_VALUES, 1 << 20, &profile), PPROF_OK);
    for (i = 0; i < count; i++)
        top_add_stack(profile, &stacks[i]);
    assert_int_equal(pprof_stacks_new(profile, &laid_out), PPROF_OK);
    top_model_begin(model, &counts);
    assert_true(top_model_add(model, laid_out));
    pprof_stacks_free(laid_out);
    pprof_free(profile);
}

/* The item of that name, or of that line of the function; it must be there. */
static inline const struct top_item *top_find(const struct top_model *model, enum top_kind kind,
                                              const char *name, int32_t line)
{
    const struct top_items *table = &model->tables[kind],
                           *functions = &model->tables[TOP_FUNCTIONS];
    const struct top_item *item;
    const char *own;
    size_t i;

    for (i = 0; i < table->count; i++) {
        item = &table->items[i];
        own = kind == TOP_LINES ? functions->items[item->key.function].key.name : item->key.name;
        if (strcmp(own, name) == 0 && (kind != TOP_LINES || item->key.line == line))
            return item;
    }
    fail_msg("there is no %s", name);
    return NULL;
}

#endif
