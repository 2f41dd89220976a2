/* SPDX-License-Identifier: Apache-2.0 */
/* test_ingest.c - what an old Pyroscope is sent, and that no service can break out of its name. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exporters/ingest.h"
#include "tests/unit/unit_test.h"

/* The query of a profile, NUL-terminated. Lends a static text. */
static const char *query_of(const struct exporter_profile *profile)
{
    static char text[4096];
    struct push_labels labels;
    struct arena arena;
    struct buf out;

    arena_init(&arena, 1 << 20);
    buf_init(&out, sizeof(text));
    assert_int_equal(push_labels(profile, &arena, &labels, NULL), EXPORTER_OK);
    ingest_query(profile, &labels, &out);
    buf_add(&out, "", 1);
    assert_false(buf_failed(&out));
    memcpy(text, out.data, out.size);
    buf_finish(&out);
    arena_finish(&arena);
    return text;
}

static void says_name_labels_and_time(void **state)
{
    const struct label labels[] = {{"region", "eu west"}, {"env", "prod"}};
    const struct exporter_profile profile = {.service = "shop/web",
                                             .type = "cpu",
                                             .labels = labels,
                                             .label_count = 2,
                                             .start_ns = INT64_C(1795600000123000000),
                                             .end_ns = INT64_C(1795600015123000000)};

    (void)state;
    assert_string_equal(query_of(&profile),
                        "name=shop%2Fweb%7Benv%3Dprod%2Cregion%3Deu%20west%7D&from=1795600000"
                        "&until=1795600015&spyName=pystrobe&sampleRate=1000000000&units=samples"
                        "&aggregationType=sum");
}

static void a_hostile_service_stays_a_name(void **state)
{
    const struct label labels[] = {{"a b", "x,y=z}&format=jfr#"}};
    const struct exporter_profile profile = {
        .service = "s{x=1}&from=0", .type = "cpu", .labels = labels, .label_count = 1};

    (void)state;
    assert_string_equal(
        query_of(&profile),
        "name=s_x_1__from_0%7Bservice_name%3Ds_x%3D1_%26from%3D0%2Ca_b%3Dx_y%3Dz_"
        "%26format%3Djfr%23%7D&from=0&until=0&spyName=pystrobe&sampleRate=1000000000"
        "&units=samples&aggregationType=sum");
}

static void no_service_is_unknown(void **state)
{
    const struct exporter_profile profile = {.service = "", .type = "wall"};

    (void)state;
    assert_ptr_equal(strstr(query_of(&profile), "name=unknown_service&from="), query_of(&profile));
}

static void the_body_has_the_profile_and_its_type(void **state)
{
    const struct exporter_profile profile = {
        .type = "gil", .bytes = "\x1f\x8b\x00pprof", .size = 8};
    static const char wanted[] =
        "--BOUND\r\n"
        "Content-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
        "Content-Type: application/octet-stream\r\n"
        "\r\n"
        "\x1f\x8b\x00pprof\r\n"
        "--BOUND\r\n"
        "Content-Disposition: form-data; name=\"sample_type_config\"; "
        "filename=\"sample_type_config.json\"\r\n"
        "Content-Type: application/json\r\n"
        "\r\n"
        "{\"gil\":{\"units\":\"samples\",\"display-name\":\"gil\",\"aggregation\":\"sum\","
        "\"sampled\":true}}\r\n"
        "--BOUND--\r\n";
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    ingest_body(&profile, "BOUND", &out);
    assert_int_equal(out.size, sizeof(wanted) - 1);
    assert_memory_equal(out.data, wanted, out.size);
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_name_labels_and_time),
        cmocka_unit_test(a_hostile_service_stays_a_name),
        cmocka_unit_test(no_service_is_unknown),
        cmocka_unit_test(the_body_has_the_profile_and_its_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
