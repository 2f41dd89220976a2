/* SPDX-License-Identifier: Apache-2.0 */
/* test_push.c - the message to Pyroscope, byte by byte, and what becomes of hostile labels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/http/text.h"
#include "exporters/push.h"
#include "tests/unit/unit_test.h"

/* Checked with protoc against Pyroscope's own messages. */
static const char golden[] = "0a390a170a085f5f6e616d655f5f120b70726f636573735f6370750a140a0c736572"
                             "766963655f6e616d65120464656d6f12080a031f8b00120178";

static void as_hex(const struct buf *buf, char *out, size_t size)
{
    assert_true(buf->size * 2 < size);
    for (size_t i = 0; i < buf->size; i++)
        (void)snprintf(out + i * 2, 3, "%02x", buf->data[i]);
}

/* The labels as "name=value,...". Lends a static text. */
static const char *labels_of(const struct exporter_profile *profile, enum exporter_rc wanted)
{
    static char text[8192];
    struct push_labels labels = {0};
    struct arena arena;
    size_t used = 0;

    arena_init(&arena, 1 << 20);
    text[0] = '\0';
    assert_int_equal(push_labels(profile, &arena, &labels, NULL), wanted);
    for (size_t i = 0; i < labels.count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s=%s,", labels.items[i].name,
                                 labels.items[i].value);
    assert_true(used < sizeof(text));
    arena_finish(&arena);
    return text;
}

static void encodes_the_golden_bytes(void **state)
{
    struct exporter_profile profile = {
        .service = "demo", .type = "cpu", .bytes = "\x1f\x8b\x00", .size = 3};
    struct push_labels labels;
    char hex[sizeof(golden) + 64];
    struct arena arena;
    struct buf out;

    (void)state;
    arena_init(&arena, 1 << 20);
    buf_init(&out, 1 << 20);
    assert_int_equal(push_labels(&profile, &arena, &labels, NULL), EXPORTER_OK);
    assert_int_equal(push_encode(&labels, "x", &profile, &arena, &out), EXPORTER_OK);

    as_hex(&out, hex, sizeof(hex));
    assert_string_equal(hex, golden);
    buf_finish(&out);
    arena_finish(&arena);
}

static void names_each_type_as_the_servers_do(void **state)
{
    struct exporter_profile profile = {.service = "demo", .type = "wall"};

    (void)state;
    assert_string_equal(labels_of(&profile, EXPORTER_OK), "__name__=wall,service_name=demo,");
    profile.type = "gil";
    assert_string_equal(labels_of(&profile, EXPORTER_OK), "__name__=gil,service_name=demo,");
}

static void refuses_a_profile_without_a_type(void **state)
{
    struct exporter_profile profile = {.service = "demo"};

    (void)state;
    (void)labels_of(&profile, EXPORTER_REFUSED);
}

static void sorts_labels_and_keeps_the_first_of_a_name(void **state)
{
    static const struct label labels[] = {
        {"zone", "a"}, {"env", "prod"}, {"zone", "b"}, {"service_name", "other"}};
    struct exporter_profile profile = {
        .service = "demo", .type = "cpu", .labels = labels, .label_count = 4};

    (void)state;
    assert_string_equal(labels_of(&profile, EXPORTER_OK),
                        "__name__=process_cpu,env=prod,service_name=demo,zone=a,");
}

static void leaves_out_labels_that_servers_refuse(void **state)
{
    static const struct label labels[] = {{"", "x"},         {"empty", ""},
                                          {"__name__", "x"}, {"__session_id__", "x"},
                                          {NULL, "x"},       {"n", NULL}};
    struct exporter_profile profile = {
        .service = "", .type = "cpu", .labels = labels, .label_count = 6};

    (void)state;
    assert_string_equal(labels_of(&profile, EXPORTER_OK),
                        "__name__=process_cpu,service_name=unknown_service,");
}

static void makes_labels_valid_utf8(void **state)
{
    static const struct label labels[] = {{"bad\xff", "\xc3"},
                                          {"good", "\xc3\xa9"},
                                          {"overlong", "\xc0\x80"},
                                          {"surrogate", "\xed\xa0\x80"}};
    struct exporter_profile profile = {
        .service = "demo", .type = "cpu", .labels = labels, .label_count = 4};

    (void)state;
    assert_string_equal(labels_of(&profile, EXPORTER_OK),
                        "__name__=process_cpu,bad_=?,good=\xc3\xa9,overlong=??,"
                        "service_name=demo,surrogate=???,");
}

static void names_labels_as_every_server_takes_them(void **state)
{
    static const struct label labels[] = {{"cost-center", "12"},
                                          {"cost_center", "13"},
                                          {"k8s.pod.name", "web"},
                                          {"k8s_pod_name", "web"},
                                          {"1a", "x"}};
    struct exporter_profile profile = {
        .service = "demo", .type = "cpu", .labels = labels, .label_count = 5};

    (void)state;
    assert_string_equal(labels_of(&profile, EXPORTER_OK),
                        "_1a=x,__name__=process_cpu,cost_center=12,k8s.pod.name=web,"
                        "service_name=demo,");
}

static void cuts_long_values_between_characters(void **state)
{
    char value[EXPORTER_LABEL_VALUE_MAX + 8];
    struct label label = {"long", value};
    struct exporter_profile profile = {
        .service = "demo", .type = "cpu", .labels = &label, .label_count = 1};
    const char *text;

    (void)state;
    memset(value, 'x', sizeof(value));
    memcpy(value + EXPORTER_LABEL_VALUE_MAX - 1, "\xc3\xa9", 3); /* would end one byte too late */
    text = strstr(labels_of(&profile, EXPORTER_OK), "long=");

    assert_non_null(text);
    assert_int_equal(strcspn(text + 5, ","), EXPORTER_LABEL_VALUE_MAX - 1);
}

static void refuses_a_message_that_is_too_large(void **state)
{
    struct exporter_profile profile = {
        .service = "demo", .type = "cpu", .bytes = "0123456789", .size = 10};
    struct push_labels labels;
    struct arena arena;
    struct buf out;

    (void)state;
    arena_init(&arena, 1 << 20);
    buf_init(&out, 20);
    assert_int_equal(push_labels(&profile, &arena, &labels, NULL), EXPORTER_OK);

    assert_int_equal(push_encode(&labels, "x", &profile, &arena, &out), EXPORTER_REFUSED);
    buf_finish(&out);
    arena_finish(&arena);
}

static void says_so_when_memory_is_short(void **state)
{
    struct label label = {"env", "prod"};
    struct exporter_profile profile = {
        .service = "demo", .type = "cpu", .labels = &label, .label_count = 1};

    (void)state;
    for (size_t max = 0; max < 2000; max += 16) {
        struct push_labels labels = {0};
        enum exporter_rc rc;
        struct arena arena;

        arena_init(&arena, max);
        rc = push_labels(&profile, &arena, &labels, NULL);
        assert_true(rc == EXPORTER_NOMEM || (rc == EXPORTER_OK && labels.count == 3));
        arena_finish(&arena);
    }
}

static void shows_control_characters_of_a_server(void **state)
{
    char out[64];

    (void)state;
    (void)text_printable("a\r\n\x1b[2J\x7f", 8, out, sizeof(out));
    assert_string_equal(out, "a\\x0d\\x0a\\x1b[2J\\x7f");
    (void)text_printable("\xc2\x9b"
                         "\xc3\xa9\xff",
                         5, out, sizeof(out));
    assert_string_equal(out, "\\xc2\\x9b\xc3\xa9\\xff");
    assert_int_equal(text_printable("abc\x01", 4, out, 7), 3); /* no half escape */
    assert_string_equal(out, "abc");
    assert_int_equal(text_printable("x", 1, out, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_the_golden_bytes),
        cmocka_unit_test(names_each_type_as_the_servers_do),
        cmocka_unit_test(refuses_a_profile_without_a_type),
        cmocka_unit_test(sorts_labels_and_keeps_the_first_of_a_name),
        cmocka_unit_test(leaves_out_labels_that_servers_refuse),
        cmocka_unit_test(makes_labels_valid_utf8),
        cmocka_unit_test(names_labels_as_every_server_takes_them),
        cmocka_unit_test(cuts_long_values_between_characters),
        cmocka_unit_test(refuses_a_message_that_is_too_large),
        cmocka_unit_test(says_so_when_memory_is_short),
        cmocka_unit_test(shows_control_characters_of_a_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
