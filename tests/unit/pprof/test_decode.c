/* SPDX-License-Identifier: Apache-2.0 */
/* test_decode.c - ours come back as they were, others' are understood, bad ones refused. */
#include <stdlib.h>
#include <string.h>

#include "pprof/gzip.h"
#include "pprof/profile.h"
#include "tests/unit/pprof/example.h"
#include "tests/unit/unit_test.h"

enum { BUDGET = 1 << 20 };

/* A profile.proto in bytes: each part is tag, length, content, as in the table of the format. */
#define STRINGS        \
    "\x32\x00" /* 0 */ \
    "\x32\x03"         \
    "cpu" /* 1 */      \
    "\x32\x02"         \
    "ns" /* 2 */       \
    "\x32\x01"         \
    "f" /* 3 */        \
    "\x32\x01"         \
    "g" /* 4 */        \
    "\x32\x04"         \
    "a.so"                                              /* 5 */
#define TYPE         "\x0a\x04\x08\x01\x10\x02"         /* cpu, ns */
#define FUNCTION_7_F "\x2a\x04\x08\x07\x10\x03"         /* id 7, name f */
#define FUNCTION_9_G "\x2a\x04\x08\x09\x10\x04"         /* id 9, name g */
#define LOCATION_5_F "\x22\x06\x08\x05\x22\x02\x08\x07" /* id 5, a line of function 7 */
#define SAMPLE_5     "\x12\x06\x0a\x01\x05\x12\x01\x0a" /* location 5, value 10 */
#define GOOD         TYPE SAMPLE_5 LOCATION_5_F FUNCTION_7_F STRINGS

#define BYTES(text) text, sizeof(text) - 1

static enum pprof_rc decode(const void *bytes, size_t size, struct pprof_decoded *out,
                            struct err *err)
{
    return pprof_decode(bytes, size, BUDGET, out, err);
}

static void encode(const struct pprof *p, struct buf *out)
{
    buf_init(out, BUDGET);
    assert_int_equal(pprof_encode(p, &example_meta, out), PPROF_OK);
}

static void ours_comes_back_and_encodes_to_the_same_bytes(void **state)
{
    struct pprof_decoded decoded;
    struct buf first, again;
    struct pprof *p;

    (void)state;
    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    assert_int_equal(example_fill(p, "2010"), PPROF_OK);
    encode(p, &first);
    assert_int_equal(decode(first.data, first.size, &decoded, NULL), PPROF_OK);
    encode(decoded.profile, &again);

    assert_int_equal(first.size, again.size);
    assert_memory_equal(first.data, again.data, first.size);
    assert_int_equal(decoded.time_ns, example_meta.time_ns);
    assert_int_equal(decoded.duration_ns, example_meta.duration_ns);
    assert_int_equal(decoded.period, example_meta.period);
    assert_int_equal(decoded.type_count, EXAMPLE_TYPES);
    assert_string_equal(decoded.types[1].type, "wall");
    assert_string_equal(decoded.types[1].unit, "nanoseconds");
    pprof_free(decoded.profile);
    pprof_free(p);
    buf_finish(&first);
    buf_finish(&again);
}

static void plain_bytes_are_read_too(void **state)
{
    struct pprof_decoded decoded;

    (void)state;
    assert_int_equal(decode(BYTES(GOOD), &decoded, NULL), PPROF_OK);

    assert_int_equal(pprof_total(decoded.profile, 0), 10);
    assert_string_equal(decoded.types[0].type, "cpu");
    pprof_free(decoded.profile);
}

/* The functions' names, largest first, each with own and total. */
static void assert_top(const char *bytes, size_t size, const char *expected)
{
    struct pprof_decoded decoded;
    struct pprof_top *top;
    struct err err = {""};
    struct buf got;
    size_t i, count;

    if (decode(bytes, size, &decoded, &err) != PPROF_OK)
        fail_msg("%s", err.text);
    assert_int_equal(pprof_top(decoded.profile, 0, &top, &count), PPROF_OK);
    buf_init(&got, 1000);
    for (i = 0; i < count; i++)
        buf_add_fmt(&got, "%s %d %d;", top[i].name, (int)top[i].flat, (int)top[i].cum);
    assert_string_equal(buf_text(&got), expected);
    buf_finish(&got);
    free(top);
    pprof_free(decoded.profile);
}

static void the_order_of_the_fields_does_not_matter(void **state)
{
    (void)state;
    assert_top(BYTES(GOOD), "f 10 10;");
    assert_top(BYTES(STRINGS FUNCTION_7_F LOCATION_5_F SAMPLE_5 TYPE), "f 10 10;");
}

static void inlined_calls_become_frames(void **state)
{
    (void)state;
    assert_top(
        BYTES(TYPE SAMPLE_5
              "\x22\x0a\x08\x05\x22\x02\x08\x07\x22\x02\x08\x09" FUNCTION_7_F FUNCTION_9_G STRINGS),
        "f 10 10;g 0 10;");
}

static void an_address_without_a_function_is_named_after_itself(void **state)
{
    (void)state;
    assert_top(BYTES(TYPE SAMPLE_5 "\x1a\x04\x08\x01\x28\x05" /* mapping 1, a.so */
                                   "\x22\x07\x08\x05\x10\x01\x18\xb4\x24" STRINGS),
               "0x1234 10 10;");
}

static void the_first_mapping_is_the_binary(void **state)
{
    struct pprof_decoded decoded;

    (void)state;
    assert_int_equal(decode(BYTES(GOOD "\x1a\x06\x08\x01\x28\x05\x30\x03"
                                       "\x1a\x06\x08\x02\x28\x04\x30\x04"),
                            &decoded, NULL),
                     PPROF_OK);
    assert_string_equal(decoded.profile->binary, "a.so");
    assert_string_equal(decoded.profile->build_id, "f");
    pprof_free(decoded.profile);
}

static void numbers_that_are_not_packed_are_read(void **state)
{
    (void)state;
    assert_top(BYTES(TYPE "\x12\x04\x08\x05\x10\x0a" LOCATION_5_F FUNCTION_7_F STRINGS),
               "f 10 10;");
}

static void fields_of_a_newer_version_are_passed_over(void **state)
{
    (void)state;
    assert_top(BYTES(GOOD "\xa2\x06\x03xyz"
                          "\xa8\x06\x01"
                          "\xad\x06"
                          "1234"
                          "\xa9\x06"
                          "12345678"),
               "f 10 10;");
}

static void equal_samples_of_others_become_one(void **state)
{
    struct pprof_decoded decoded;

    (void)state;
    assert_int_equal(decode(BYTES(GOOD SAMPLE_5), &decoded, NULL), PPROF_OK);

    assert_int_equal(pprof_row_count(decoded.profile), 1);
    assert_int_equal(pprof_total(decoded.profile, 0), 20);
    pprof_free(decoded.profile);
}

static const struct {
    const char *bytes;
    size_t size;
    const char *why;
} bad[] = {
    {BYTES(""), "no string table"},
    {BYTES("garbage"), "broken or cut off"},
    {BYTES("\x32\x05"
           "ab"),
     "broken or cut off"},
    {BYTES("\x33"), "broken or cut off"},
    {BYTES("\x00\x00"), "broken or cut off"},
    {BYTES("\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), "broken or cut off"},
    {BYTES("\x48\xff"), "broken or cut off"},
    {BYTES(TYPE), "no string table"},
    {BYTES("\x32\x01x" GOOD), "first entry of the string table is not empty"},
    {BYTES(SAMPLE_5 LOCATION_5_F FUNCTION_7_F STRINGS), "no sample types"},
    {BYTES(GOOD "\x12\x07\x0a\x01\x05\x12\x02\x0a\x0a"), "sample 1: 2 values for 1 sample types"},
    {BYTES(GOOD "\x12\x03\x0a\x01\x05"), "sample 1: 0 values for 1 sample types"},
    {BYTES(TYPE SAMPLE_5 FUNCTION_7_F STRINGS), "sample 0: location 5 is not there"},
    {BYTES(TYPE SAMPLE_5 LOCATION_5_F STRINGS), "location 0: a line of function 7"},
    {BYTES(GOOD FUNCTION_7_F), "function 1: its id 7 is there twice"},
    {BYTES(GOOD LOCATION_5_F), "location 1: its id 5 is there twice"},
    {BYTES(GOOD "\x1a\x02\x08\x01"
                "\x1a\x02\x08\x01"),
     "mapping 1: its id 1 is there twice"},
    {BYTES(GOOD "\x2a\x02\x10\x03"), "function 1: its id is 0"},
    {BYTES(GOOD "\x22\x04\x22\x02\x08\x07"), "location 1: its id is 0"},
    {BYTES(GOOD "\x1a\x02\x28\x05"), "mapping 0: its id is 0"},
    {BYTES(GOOD "\x2a\x04\x08\x08\x10\x06"), "function 1: string 6 of 6"},
    {BYTES(GOOD "\x2a\x04\x08\x08\x18\x06"), "function 1: string 6 of 6"},
    {BYTES(GOOD "\x2a\x0d\x08\x08\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "string -1 of 6"},
    {BYTES(GOOD "\x0a\x02\x08\x63"), "sample type 1: string 99 of 6"},
    {BYTES(GOOD "\x12\x0a\x0a\x01\x05\x12\x01\x0a\x1a\x02\x08\x63"), "sample 1: string 99 of 6"},
    {BYTES(GOOD "\x70\x63"), "default_sample_type: string 99 of 6"},
    {BYTES(GOOD "\x78\x63"), "doc_url: string 99 of 6"},
    {BYTES(GOOD "\x38\x63"), "drop_frames: string 99 of 6"},
    {BYTES(GOOD "\x5a\x02\x08\x63"), "period_type 0: string 99 of 6"},
    {BYTES(GOOD "\x6a\x02\x01\x63"), "comment 0: string 99 of 6"},
    {BYTES(GOOD "\x68\x63"), "comment 0: string 99 of 6"},
    {BYTES(GOOD "\x6a\x01\x80"), "comment 0"},
    {BYTES(GOOD "\x4a\x00"), "time_nanos has wire type 2"},
    {BYTES(GOOD "\x10\x00"), "sample has wire type 0"},
    {BYTES(GOOD "\x12\x02\x0a\x05"), "sample 1: it is damaged"},
    {BYTES(GOOD "\x48\x01"
                "\x48\x01"),
     "time_nanos is there twice: these are several profiles"},
};

static void what_google_pprof_refuses_is_refused_with_the_reason(void **state)
{
    struct pprof_decoded decoded;
    struct err err;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        err.text[0] = '\0';
        if (decode(bad[i].bytes, bad[i].size, &decoded, &err) != PPROF_BAD)
            fail_msg("case %zu was not refused: %s", i, bad[i].why);
        if (!strstr(err.text, bad[i].why))
            fail_msg("case %zu: \"%s\" has no \"%s\"", i, err.text, bad[i].why);
    }
}

static void every_cut_of_a_file_is_refused(void **state)
{
    struct pprof_decoded decoded;
    struct buf packed;
    struct pprof *p;
    size_t size;

    (void)state;
    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    assert_int_equal(example_fill(p, "012"), PPROF_OK);
    encode(p, &packed);
    for (size = 0; size < packed.size; size++)
        assert_int_equal(decode(packed.data, size, &decoded, NULL), PPROF_BAD);
    pprof_free(p);
    buf_finish(&packed);
}

static void two_files_one_after_the_other_are_refused(void **state)
{
    struct pprof_decoded decoded;
    struct buf packed, plain, twice;
    struct err err = {""};
    struct pprof *p;

    (void)state;
    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    assert_int_equal(example_fill(p, "012"), PPROF_OK);
    encode(p, &packed);
    buf_init(&plain, BUDGET);
    buf_init(&twice, BUDGET);
    assert_int_equal(gzip_unpack(packed.data, packed.size, &plain, NULL), PPROF_OK);
    buf_add(&twice, plain.data, plain.size);
    buf_add(&twice, plain.data, plain.size);
    assert_int_equal(decode(twice.data, twice.size, &decoded, &err), PPROF_BAD);
    assert_non_null(strstr(err.text, "several profiles"));
    buf_reset(&twice);
    buf_add(&twice, packed.data, packed.size);
    buf_add(&twice, packed.data, packed.size);

    assert_int_equal(decode(twice.data, twice.size, &decoded, &err), PPROF_BAD);
    assert_non_null(strstr(err.text, "after the end of the gzip stream"));
    pprof_free(p);
    buf_finish(&packed);
    buf_finish(&plain);
    buf_finish(&twice);
}

static void a_file_that_unpacks_to_too_much_is_full(void **state)
{
    static const uint8_t zeros[4096000];
    struct pprof_decoded decoded;
    struct buf packed;
    struct err err = {""};

    (void)state;
    buf_init(&packed, BUDGET);
    assert_int_equal(gzip_pack(zeros, sizeof(zeros), &packed), PPROF_OK);

    assert_int_equal(decode(packed.data, packed.size, &decoded, &err), PPROF_FULL);
    assert_non_null(strstr(err.text, "unpacks to more than 1048576 bytes"));
    buf_finish(&packed);
}

static void tiny_messages_cannot_take_more_than_the_budget(void **state)
{
    static char strings[2 * 300000]; /* as many empty strings */
    struct pprof_decoded decoded;
    struct err err = {""};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(strings); i += 2)
        strings[i] = '\x32';

    assert_int_equal(decode(strings, sizeof(strings), &decoded, &err), PPROF_FULL);
    assert_string_equal(err.text, "the profile is as large as it may be");
}

static void a_foreign_profile_over_our_limits_is_full(void **state)
{
    char bytes[256] = GOOD;
    struct pprof_decoded decoded;
    struct err err = {""};
    size_t i, size = sizeof(GOOD) - 1;

    (void)state;
    for (i = 0; i < PPROF_TYPES_MAX; i++, size += sizeof(TYPE) - 1)
        memcpy(bytes + size, TYPE, sizeof(TYPE) - 1);

    assert_int_equal(decode(bytes, size, &decoded, &err), PPROF_FULL);
    assert_string_equal(err.text, "9 sample types, more than 8");
}

static void failure_leaves_the_result_alone(void **state)
{
    struct pprof_decoded decoded = {.period = 123};

    (void)state;
    assert_int_equal(decode(BYTES(GOOD LOCATION_5_F), &decoded, NULL), PPROF_BAD);

    assert_int_equal(decoded.period, 123);
    assert_null(decoded.profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_comes_back_and_encodes_to_the_same_bytes),
        cmocka_unit_test(plain_bytes_are_read_too),
        cmocka_unit_test(the_order_of_the_fields_does_not_matter),
        cmocka_unit_test(inlined_calls_become_frames),
        cmocka_unit_test(an_address_without_a_function_is_named_after_itself),
        cmocka_unit_test(the_first_mapping_is_the_binary),
        cmocka_unit_test(numbers_that_are_not_packed_are_read),
        cmocka_unit_test(fields_of_a_newer_version_are_passed_over),
        cmocka_unit_test(equal_samples_of_others_become_one),
        cmocka_unit_test(what_google_pprof_refuses_is_refused_with_the_reason),
        cmocka_unit_test(every_cut_of_a_file_is_refused),
        cmocka_unit_test(two_files_one_after_the_other_are_refused),
        cmocka_unit_test(a_file_that_unpacks_to_too_much_is_full),
        cmocka_unit_test(tiny_messages_cannot_take_more_than_the_budget),
        cmocka_unit_test(a_foreign_profile_over_our_limits_is_full),
        cmocka_unit_test(failure_leaves_the_result_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
