/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_otlp_golden.c - the encoder writes the golden vector byte for byte:
 * tests/golden/pprof/otlp.txtpb, encoded by protoc from the protocol's own files.
 */
#include <string.h>

#include "pprof/otlp_request.h"
#include "tests/tools/otlp_check.h"
#include "tests/unit/pprof/hex.h"
#include "tests/unit/pprof/otlp_example.h"
#include "tests/unit/unit_test.h"

#define GOLDEN_OTLP "tests/golden/pprof/otlp.pb.hex" /* from the top of the tree */

enum { COUNT = 3 };

/* The numbers of the texts are their places here. */
static const char *const texts[] = {
    "",         "samples", "count",       "cpu",         "nanoseconds",        "work",
    "<module>", "idle",    "/srv/app.py", "thread.name", "profile.frame.type", "service.name"};

static void add_texts(struct otlp_dictionary *d)
{
    uint32_t number;
    size_t i;

    for (i = 1; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(otlp_text(d, texts[i], &number), PPROF_OK);
        assert_int_equal(number, i);
    }
}

static void add_places(struct otlp_dictionary *d)
{
    static const int32_t lines[COUNT] = {12, 40, 21}, starts[COUNT] = {10, 35, 20};
    static const uint64_t stacks[2][2] = {{1, 2}, {3, 2}};
    uint32_t number, i;

    assert_int_equal(otlp_attribute(d, 9, "MainThread", 0, 0, &number), PPROF_OK);
    assert_int_equal(otlp_attribute(d, 10, "cpython", 0, 0, &number), PPROF_OK);
    assert_int_equal(number, 2);
    assert_int_equal(otlp_attribute(d, 11, "demo", 0, 0, &number), PPROF_OK);
    for (i = 0; i < COUNT; i++) {
        assert_int_equal(otlp_function(d, 5 + i, 8, starts[i], &number), PPROF_OK);
        assert_int_equal(otlp_location(d, number, lines[i], 0, 2, &number), PPROF_OK);
        assert_int_equal(number, i + 1);
    }
    for (i = 0; i < 2; i++)
        assert_int_equal(otlp_stack(d, stacks[i], 2, &number), PPROF_OK);
    assert_int_equal(number, 2);
}

static void add_samples(struct otlp *otlp)
{
    static const int64_t values[2] = {3, 2};
    struct otlp_row first = {.stack = 1, .attributes = {3}},
                    second = {.stack = 2, .attributes = {3, 1}};

    otlp_begin(otlp, 1);
    assert_int_equal(otlp_sample(otlp, &first, 1, &values[0]), PPROF_OK);
    assert_int_equal(otlp_sample(otlp, &second, 2, &values[1]), PPROF_OK);
}

static void the_golden_vector_is_encoded_byte_for_byte(void **state)
{
    static const struct otlp_limits limits;
    static const unsigned char id[OTLP_ID_SIZE] = {1, 2,  3,  4,  5,  6,  7,  8,
                                                   9, 10, 11, 12, 13, 14, 15, 16};
    static const struct otlp_type cpu = {
        0, {"samples", "count"}, 1, {"cpu", "nanoseconds"}, 10000000};
    static const struct otlp_attribute attributes[] = {{"service.name", "demo", 0},
                                                       {"process.pid", NULL, 4242}};
    struct buf golden, out;
    struct otlp *otlp;

    (void)state;
    buf_init(&golden, 4096);
    buf_init(&out, 4096);
    assert_true(read_hex(GOLDEN_OTLP, &golden));
    assert_int_equal(otlp_new("pyagent", "0.1.0", &limits, &otlp), PPROF_OK);
    assert_int_equal(otlp_reset(otlp, id), PPROF_OK);
    add_texts(&otlp->dictionary);
    add_places(&otlp->dictionary);
    add_samples(otlp);

    assert_int_equal(otlp_profile(otlp, 0, &cpu, 1700000000000000000, 10000000000), PPROF_OK);
    assert_int_equal(otlp_resource(otlp, attributes, 2), PPROF_OK);
    assert_int_equal(example_finish(otlp, &out), PPROF_OK);

    assert_int_equal(out.size, golden.size);
    assert_memory_equal(out.data, golden.data, golden.size);
    otlp_free(otlp);
    buf_finish(&golden);
    buf_finish(&out);
}

static void the_checker_passes_the_golden_vector(void **state)
{
    struct err err = {""};
    struct buf golden;

    (void)state;
    buf_init(&golden, 4096);
    assert_true(read_hex(GOLDEN_OTLP, &golden));

    assert_true(otlp_check_bytes(golden.data, golden.size, &err));
    assert_string_equal(err.text, "");
    buf_finish(&golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_vector_is_encoded_byte_for_byte),
        cmocka_unit_test(the_checker_passes_the_golden_vector),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
