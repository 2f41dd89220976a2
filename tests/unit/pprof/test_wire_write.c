/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire_write.c - what is written without protobuf-c is what protobuf-c writes. */
#include <string.h>

#include "pprof/otlp.pb-c.h"
#include "pprof/wire_write.h"
#include "tests/unit/unit_test.h"

enum { BYTES_MAX = 4096, NUMBERS = 10, INDICES = 6 };

/* At both sides of each length that a number can have. */
static const uint64_t numbers[NUMBERS] = {
    0, 1, 127, 128, 16383, 16384, (1 << 28) - 1, 1U << 28, 1U << 31, UINT64_MAX};
static const int32_t indices[INDICES] = {0, 127, 128, 16384, 1 << 28, INT32_MAX};

static void assert_same(const struct buf *got, const struct buf *expected)
{
    assert_false(buf_failed(got));
    assert_int_equal(got->size, expected->size);
    assert_memory_equal(got->data, expected->data, expected->size);
}

static void packed_numbers_are_protobufs(void **state)
{
    Otlp__Sample sample = OTLP__SAMPLE__INIT;
    int64_t values[NUMBERS];
    struct buf got, expected;
    size_t count;

    (void)state;
    memcpy(values, numbers, sizeof(values));
    sample.values = values;
    buf_init(&got, BYTES_MAX);
    buf_init(&expected, BYTES_MAX);
    for (count = 1; count <= NUMBERS; count++) {
        sample.n_values = count;
        wire_put_message(&expected, &sample.base);
        wire_put_packed(&got, 4, numbers, count);
    }
    wire_put_packed(&got, 4, numbers, 0);
    assert_same(&got, &expected);
    buf_finish(&got);
    buf_finish(&expected);
}

static void single_numbers_are_protobufs(void **state)
{
    Otlp__Sample sample = OTLP__SAMPLE__INIT;
    struct buf got, expected;
    size_t i;

    (void)state;
    buf_init(&got, BYTES_MAX);
    buf_init(&expected, BYTES_MAX);
    for (i = 0; i < INDICES; i++) {
        sample.link_index = indices[i];
        wire_put_message(&expected, &sample.base);
        wire_put_number(&got, 3, (uint64_t)indices[i]);
    }
    assert_same(&got, &expected);
    buf_finish(&got);
    buf_finish(&expected);
}

static void a_message_in_a_message_is_protobufs(void **state)
{
    Otlp__Resource resource = OTLP__RESOURCE__INIT;
    Otlp__KeyValue pair = OTLP__KEY_VALUE__INIT, *pairs = &pair;
    static const size_t sizes[] = {0, 1, 125, 126, 127, 128, 1000};
    char key[1001];
    struct buf got, expected;
    size_t i, before, content;

    (void)state;
    resource.n_attributes = 1;
    resource.attributes = &pairs;
    pair.key = key;
    buf_init(&got, 1 << 16);
    buf_init(&expected, 1 << 16);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(key, 'k', sizes[i]);
        key[sizes[i]] = '\0';
        wire_put_message(&expected, &resource.base);
        before = got.size;
        wire_put_message(&got, &pair.base);
        content = got.size - before;
        wire_wrap(&got, 1, before);
        assert_int_equal(got.size - before, wire_nested_size(content));
    }
    assert_same(&got, &expected);
    buf_finish(&got);
    buf_finish(&expected);
}

static void what_is_inserted_stands_before_what_came_since(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 12);
    buf_add_str(&out, "one three");
    wire_insert(&out, 4, "", 0);
    wire_insert(&out, 4, "2 ", 2);
    assert_memory_equal(out.data, "one 2 three", 11);
    assert_false(buf_failed(&out));

    wire_insert(&out, 4, "no", 2);
    assert_true(buf_failed(&out));
    assert_memory_equal(out.data, "one 2 three", 11);
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_numbers_are_protobufs),
        cmocka_unit_test(single_numbers_are_protobufs),
        cmocka_unit_test(a_message_in_a_message_is_protobufs),
        cmocka_unit_test(what_is_inserted_stands_before_what_came_since),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
