/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool_entry.c - what was written is read as it was, and nothing else is ever read. */
#include <stdlib.h>

#include "exporters/spool.h"
#include "tests/unit/exporters/spool_example.h"
#include "tests/unit/unit_test.h"

enum { FLIPS = 20000 };

static struct buf example_bytes(void)
{
    struct spool_head head = spool_example();
    struct buf bytes;

    buf_init(&bytes, SIZE_MAX / 2);
    assert_true(spool_example_file(&head, &bytes));
    return bytes;
}

/* Decodes a copy of exactly this size, so that a sanitizer sees any read beyond. */
static enum spool_rc decode_copy(const void *bytes, size_t size, uint64_t file_size)
{
    unsigned char *copy = malloc(size > 0 ? size : 1);
    struct spool_head got;
    enum spool_rc rc;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    rc = spool_decode(copy, size, file_size, &got);
    free(copy);
    return rc;
}

static void gives_back_what_was_written(void **state)
{
    struct spool_head head = spool_example(), got;
    struct buf bytes = example_bytes();

    (void)state;
    assert_int_equal(spool_decode(bytes.data, bytes.size, bytes.size, &got), SPOOL_OK);
    assert_true(spool_example_same(&head, &got));
    buf_finish(&bytes);
}

static void tells_absent_from_empty(void **state)
{
    struct spool_head head = spool_example(), got;
    struct buf bytes;

    (void)state;
    head.profile.service = NULL;
    head.profile.type = "";
    head.profile.size = 0;
    head.profile.label_count = 0;
    buf_init(&bytes, SIZE_MAX / 2);
    assert_true(spool_example_file(&head, &bytes));
    assert_int_equal(spool_decode(bytes.data, bytes.size, bytes.size, &got), SPOOL_OK);
    assert_null(got.profile.service);
    assert_string_equal(got.profile.type, "");
    buf_finish(&bytes);
}

/* The bytes that spool.h promises, so that a later version still reads what this one wrote. */
static void keeps_to_the_documented_bytes(void **state)
{
    static const unsigned char fixed[] = {
        0x89, 'P', 'S', 'P', 'O', 'O', 'L', '\n', 1, 0, 0,    0,    64 + 76, 0,
        0,    0,   36,  0,   0,   0,   0,   0,    0, 0, 0xed, 0x36, 0x7f,    0xe3,
    };
    struct buf bytes = example_bytes();

    (void)state;
    assert_int_equal(bytes.size, 64 + 76 + 36);
    assert_memory_equal(bytes.data, fixed, sizeof(fixed));
    assert_memory_equal(bytes.data + 64, "\x0a\0\0\0pyroscope\0\x0a\0\0\0collector", 28);
    assert_memory_equal(bytes.data + 140, spool_example_payload, 36);
    buf_finish(&bytes);
}

static void reads_a_head_without_its_payload(void **state)
{
    struct buf bytes = example_bytes();
    struct spool_head got;

    (void)state;
    assert_int_equal(spool_decode(bytes.data, 140, bytes.size, &got), SPOOL_OK);
    assert_null(got.profile.bytes);
    assert_int_equal(got.profile.size, 36);
    assert_string_equal(got.owers[1], "collector");
    buf_finish(&bytes);
}

static void refuses_a_file_cut_at_any_byte(void **state)
{
    struct buf bytes = example_bytes();

    (void)state;
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(decode_copy(bytes.data, size, size), SPOOL_CORRUPT);
    buf_add(&bytes, "x", 1); /* and one that is too long */
    assert_int_equal(decode_copy(bytes.data, bytes.size, bytes.size), SPOOL_CORRUPT);
    buf_finish(&bytes);
}

static void refuses_every_bit_that_is_flipped(void **state)
{
    struct buf bytes = example_bytes();
    size_t bits = bytes.size * 8;

    (void)state;
    for (size_t i = 0; i < FLIPS; i++) {
        size_t first = i % bits, second = i * 7919 % bits;
        bool two = i >= bits && first != second; /* first each bit alone, then pairs */

        bytes.data[first / 8] ^= (unsigned char)(1U << first % 8);
        if (two)
            bytes.data[second / 8] ^= (unsigned char)(1U << second % 8);
        assert_int_not_equal(decode_copy(bytes.data, bytes.size, bytes.size), SPOOL_OK);
        bytes.data[first / 8] ^= (unsigned char)(1U << first % 8);
        if (two)
            bytes.data[second / 8] ^= (unsigned char)(1U << second % 8);
    }
    assert_int_equal(decode_copy(bytes.data, bytes.size, bytes.size), SPOOL_OK);
    buf_finish(&bytes);
}

static void tells_a_newer_version_from_rubbish(void **state)
{
    struct buf bytes = example_bytes();

    (void)state;
    bytes.data[8] = 2;
    assert_int_equal(decode_copy(bytes.data, bytes.size, bytes.size), SPOOL_NEWER);
    bytes.data[8] = 0;
    assert_int_equal(decode_copy(bytes.data, bytes.size, bytes.size), SPOOL_CORRUPT);
    buf_finish(&bytes);
}

static void refuses_to_write_what_it_would_not_read(void **state)
{
    static char long_text[SPOOL_HEAD_MAX];
    struct spool_head head = spool_example();
    struct buf bytes;

    (void)state;
    buf_init(&bytes, SIZE_MAX / 2);
    head.ower_count = 0;
    assert_int_equal(spool_encode(&head, &bytes), SPOOL_TOO_LARGE);
    head = spool_example();
    head.profile.size = (size_t)SPOOL_PAYLOAD_MAX + 1;
    assert_int_equal(spool_encode(&head, &bytes), SPOOL_TOO_LARGE);
    head = spool_example();
    memset(long_text, 'x', sizeof(long_text) - 1);
    head.profile.service = long_text;
    assert_int_equal(spool_encode(&head, &bytes), SPOOL_TOO_LARGE);
    head = spool_example();
    head.profile.label_count = SPOOL_LABELS_MAX + 1;
    assert_int_equal(spool_encode(&head, &bytes), SPOOL_TOO_LARGE);
    assert_int_equal(bytes.size, 0);
    buf_finish(&bytes);
}

static void reads_back_its_own_names_only(void **state)
{
    static const char *const foreign[] = {
        "",
        "lock",
        "bad",
        "0000000000000001-0001.profil",
        "0000000000000001-0001.profile~",
        "0000000000000000-0001.profile",
        "0000000000000001-0000.profile",
        "000000000000000A-0001.profile",
        "00000000000000 1-0001.profile",
        "8000000000000000-0001.profile",
        "0000000000000001-+001.profile",
        "-000000000000001-0001.profile",
        "0000000000000001_0001.profile",
    };
    struct spool_name name = {0x123456789abcdef, 0x8003}, got;
    char text[SPOOL_NAME_SIZE];

    (void)state;
    spool_name_write(&name, text);
    assert_string_equal(text, "0123456789abcdef-8003.profile");
    assert_true(spool_name_read(text, &got));
    assert_true(got.order == name.order && got.owed == name.owed);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        assert_false(spool_name_read(foreign[i], &got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back_what_was_written),
        cmocka_unit_test(tells_absent_from_empty),
        cmocka_unit_test(keeps_to_the_documented_bytes),
        cmocka_unit_test(reads_a_head_without_its_payload),
        cmocka_unit_test(refuses_a_file_cut_at_any_byte),
        cmocka_unit_test(refuses_every_bit_that_is_flipped),
        cmocka_unit_test(tells_a_newer_version_from_rubbish),
        cmocka_unit_test(refuses_to_write_what_it_would_not_read),
        cmocka_unit_test(reads_back_its_own_names_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
