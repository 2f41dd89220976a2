/* SPDX-License-Identifier: Apache-2.0 */
/* test_parts.c - a profile in parts is the profile: nothing lost, nothing twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/gzip.h"
#include "tests/unit/pprof/example.h"
#include "tests/unit/unit_test.h"

enum { BUDGET = 16 << 20, ROWS = 3000, PARTS_MAX = ROWS + 1 };

struct parts {
    struct buf out;
    struct buf kept[PARTS_MAX];
    size_t count, plain_max;
};

static void keep_part(void *ctx)
{
    struct parts *parts = ctx;
    struct buf *kept = &parts->kept[parts->count++], plain;

    assert_true(parts->count <= PARTS_MAX);
    buf_init(kept, BUDGET);
    buf_add(kept, parts->out.data, parts->out.size);
    buf_init(&plain, BUDGET);
    assert_int_equal(gzip_unpack(kept->data, kept->size, &plain, NULL), PPROF_OK);
    parts->plain_max = plain.size > parts->plain_max ? plain.size : parts->plain_max;
    buf_finish(&plain);
}

static void free_parts(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        buf_finish(&parts->kept[i]);
    buf_finish(&parts->out);
    free(parts);
}

/* Row `i` is a stack of its own, of three functions, with a label. */
static void add_row(struct pprof *p, int i)
{
    const struct pprof_label label = {"thread", "Main", 0, NULL};
    const int64_t values[EXAMPLE_TYPES] = {1, 10 + i, i};
    uint32_t function, frames[3], stack, row;
    char name[64];

    for (int depth = 0; depth < 3; depth++) {
        (void)snprintf(name, sizeof(name), "function_%d_%d", depth, depth == 2 ? 0 : i / 3);
        assert_int_equal(pprof_function(p, name, "/srv/app.py", 1, &function), PPROF_OK);
        assert_int_equal(pprof_location(p, function, i, 0, &frames[depth]), PPROF_OK);
    }
    assert_int_equal(pprof_stack(p, frames, 3, &stack), PPROF_OK);
    assert_int_equal(pprof_row(p, stack, &label, 1, &row), PPROF_OK);
    pprof_add(p, row, values);
}

static struct pprof *large(bool backwards)
{
    struct pprof *p;

    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    for (int i = 0; i < ROWS; i++)
        add_row(p, backwards ? ROWS - 1 - i : i);
    return p;
}

static struct parts *split(const struct pprof *p, size_t bytes, size_t rows)
{
    const struct pprof_bounds bounds = {bytes, rows};
    struct parts *parts = calloc(1, sizeof(*parts));

    assert_non_null(parts);
    buf_init(&parts->out, BUDGET);
    assert_int_equal(pprof_encode_parts(p, &example_meta, &bounds, &parts->out, keep_part, parts),
                     PPROF_OK);
    return parts;
}

/* All parts added up again, encoded. */
static void join(const struct parts *parts, struct buf *out, size_t *rows)
{
    struct pprof *sum;

    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &sum), PPROF_OK);
    *rows = 0;
    for (size_t i = 0; i < parts->count; i++) {
        struct pprof_decoded decoded;

        assert_int_equal(
            pprof_decode(parts->kept[i].data, parts->kept[i].size, BUDGET, &decoded, NULL),
            PPROF_OK);
        *rows += pprof_row_count(decoded.profile);
        assert_int_equal(pprof_merge(sum, decoded.profile), PPROF_OK);
        pprof_free(decoded.profile);
    }
    buf_init(out, BUDGET);
    assert_int_equal(pprof_encode(sum, &example_meta, out), PPROF_OK);
    pprof_free(sum);
}

static void expect_the_whole(const struct parts *parts, const struct pprof *p)
{
    struct buf whole, joined;
    size_t rows;

    buf_init(&whole, BUDGET);
    assert_int_equal(pprof_encode(p, &example_meta, &whole), PPROF_OK);
    join(parts, &joined, &rows);
    assert_int_equal(rows, pprof_row_count(p));
    assert_int_equal(joined.size, whole.size);
    assert_memory_equal(joined.data, whole.data, whole.size);
    buf_finish(&whole);
    buf_finish(&joined);
}

static void what_fits_is_one_part_as_it_always_was(void **state)
{
    struct pprof *p = large(false);
    struct parts *parts = split(p, BUDGET, ROWS);
    struct buf whole;

    (void)state;
    buf_init(&whole, BUDGET);
    assert_int_equal(pprof_encode(p, &example_meta, &whole), PPROF_OK);
    assert_int_equal(parts->count, 1);
    assert_int_equal(parts->kept[0].size, whole.size);
    assert_memory_equal(parts->kept[0].data, whole.data, whole.size);
    buf_finish(&whole);
    free_parts(parts);
    pprof_free(p);
}

static void parts_keep_within_bytes_and_add_up(void **state)
{
    struct pprof *p = large(false);
    struct parts *parts = split(p, 20000, ROWS);

    (void)state;
    assert_true(parts->count > 5);
    assert_true(parts->count < 100); /* and not a row each */
    assert_true(parts->plain_max <= 20000);
    expect_the_whole(parts, p);
    free_parts(parts);
    pprof_free(p);
}

static void parts_keep_within_rows_and_add_up(void **state)
{
    struct pprof *p = large(false);
    struct parts *parts = split(p, BUDGET, ROWS / 3);

    (void)state;
    assert_in_range(parts->count, 3, 4);
    expect_the_whole(parts, p);
    free_parts(parts);
    pprof_free(p);
}

static void content_alone_decides_what_is_in_a_part(void **state)
{
    struct pprof *p = large(false), *q = large(true);
    struct parts *parts = split(p, 50000, ROWS), *others = split(q, 50000, ROWS);

    (void)state;
    assert_int_equal(parts->count, others->count);
    for (size_t i = 0; i < parts->count; i++) {
        assert_int_equal(parts->kept[i].size, others->kept[i].size);
        assert_memory_equal(parts->kept[i].data, others->kept[i].data, parts->kept[i].size);
    }
    free_parts(parts);
    free_parts(others);
    pprof_free(p);
    pprof_free(q);
}

static void a_row_that_is_too_large_is_given_alone(void **state)
{
    struct parts *parts;
    struct pprof *p;

    (void)state;
    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    assert_int_equal(example_fill(p, "012"), PPROF_OK);
    parts = split(p, 1, 1);
    assert_int_equal(parts->count, EXAMPLE_ROWS);
    expect_the_whole(parts, p);
    free_parts(parts);
    pprof_free(p);
}

static void nothing_is_one_part(void **state)
{
    struct parts *parts;
    struct pprof *p;

    (void)state;
    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    parts = split(p, 1, 1);
    assert_int_equal(parts->count, 1);
    free_parts(parts);
    pprof_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_one_part_as_it_always_was),
        cmocka_unit_test(parts_keep_within_bytes_and_add_up),
        cmocka_unit_test(parts_keep_within_rows_and_add_up),
        cmocka_unit_test(content_alone_decides_what_is_in_a_part),
        cmocka_unit_test(a_row_that_is_too_large_is_given_alone),
        cmocka_unit_test(nothing_is_one_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
