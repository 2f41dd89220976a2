/* SPDX-License-Identifier: Apache-2.0 */
/* test_protobuf_wire.c - writes what protobuf-c writes; reads it back, and nothing that is broken.
 */
#include <string.h>

#include "base/protobuf_wire.h"
#include "pprof/otlp.pb-c.h"
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

static struct wire wire_over(const char *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;

    return (struct wire){at, at + size};
}

#define WIRE(bytes) wire_over(bytes, sizeof(bytes) - 1)

static void reads_the_numbers_that_it_writes(void **state)
{
    struct wire wire;
    struct buf out;
    uint64_t got;
    size_t i;

    (void)state;
    buf_init(&out, BYTES_MAX);
    for (i = 0; i < NUMBERS; i++)
        wire_put_varint(&out, numbers[i]);

    wire = (struct wire){out.data, out.data + out.size};
    for (i = 0; i < NUMBERS; i++) {
        assert_true(wire_varint(&wire, &got));
        assert_true(got == numbers[i]);
    }
    assert_false(wire_varint(&wire, &got));
    buf_finish(&out);
}

static void refuses_numbers_of_more_than_64_bits(void **state)
{
    struct wire largest = WIRE("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    struct wire larger = WIRE("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
    struct wire longer = WIRE("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    struct wire cut = WIRE("\xff\xff");
    uint64_t got = 7;

    (void)state;
    assert_false(wire_varint(&larger, &got));
    assert_false(wire_varint(&longer, &got));
    assert_false(wire_varint(&cut, &got));
    assert_int_equal(got, 7);
    assert_true(wire_varint(&largest, &got) && got == UINT64_MAX);
}

static void steps_through_fields_of_each_type(void **state)
{
    struct wire wire = WIRE("\x08\x96\x01"
                            "\x11"
                            "12345678"
                            "\x1a\x03"
                            "abc"
                            "\x25"
                            "1234"
                            "\x2a\x00");
    struct wire_field field;

    (void)state;
    assert_int_equal(wire_next(&wire, &field), WIRE_FIELD);
    assert_true(field.number == 1 && field.type == WIRE_VARINT && field.value == 150);
    assert_int_equal(wire_next(&wire, &field), WIRE_FIELD);
    assert_true(field.number == 2 && field.type == WIRE_FIXED64 && field.size == 8);
    assert_int_equal(wire_next(&wire, &field), WIRE_FIELD);
    assert_true(field.number == 3 && field.type == WIRE_BYTES && field.size == 3);
    assert_memory_equal(field.bytes, "abc", 3);
    assert_int_equal(wire_next(&wire, &field), WIRE_FIELD);
    assert_true(field.number == 4 && field.type == WIRE_FIXED32 && field.size == 4);
    assert_int_equal(wire_next(&wire, &field), WIRE_FIELD);
    assert_true(field.number == 5 && field.type == WIRE_BYTES && field.size == 0);
    assert_int_equal(wire_next(&wire, &field), WIRE_END);
}

static void gives_of_a_field_that_is_cut_what_is_there(void **state)
{
    struct wire wire = WIRE("\x0a\x7f"
                            "abc");
    struct wire huge = WIRE("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                            "a");
    struct wire_field field;

    (void)state;
    assert_int_equal(wire_next(&wire, &field), WIRE_CUT);
    assert_int_equal(field.size, 3);
    assert_memory_equal(field.bytes, "abc", 3);
    assert_int_equal(wire_next(&wire, &field), WIRE_END);
    assert_int_equal(wire_next(&huge, &field), WIRE_CUT);
    assert_int_equal(field.size, 1);
}

static void refuses_what_is_no_message(void **state)
{
    struct wire broken[] = {
        WIRE("\x80"),                     /* half a tag */
        WIRE("\x00\x01"),                 /* field 0 */
        WIRE("\x80\x80\x80\x80\x10\x01"), /* field 1 << 29 */
        WIRE("\x08"),                     /* no number */
        WIRE("\x09"
             "1234567"), /* seven of eight bytes */
        WIRE("\x0d"
             "123"),      /* three of four */
        WIRE("\x0a"),     /* no length */
        WIRE("\x0b\x0c"), /* a group */
        WIRE("\x0e"),
        WIRE("\x0f"), /* no types */
    };
    struct wire_field field;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        assert_int_equal(wire_next(&broken[i], &field), WIRE_BROKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_numbers_are_protobufs),
        cmocka_unit_test(single_numbers_are_protobufs),
        cmocka_unit_test(a_message_in_a_message_is_protobufs),
        cmocka_unit_test(reads_the_numbers_that_it_writes),
        cmocka_unit_test(refuses_numbers_of_more_than_64_bits),
        cmocka_unit_test(steps_through_fields_of_each_type),
        cmocka_unit_test(gives_of_a_field_that_is_cut_what_is_there),
        cmocka_unit_test(refuses_what_is_no_message),
        cmocka_unit_test(what_is_inserted_stands_before_what_came_since),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
