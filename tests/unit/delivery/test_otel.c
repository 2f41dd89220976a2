/* SPDX-License-Identifier: Apache-2.0 */
/* test_otel.c - what the OTEL_... variables mean for an exporter. */
#include <stdio.h>
#include <string.h>

#include "agent/delivery/otel.h"
#include "tests/unit/unit_test.h"

enum { VARIABLES_MAX = 8 };

/* The environment of the test that runs: names and values in turn. */
static const char *variables[2 * VARIABLES_MAX];

static char *look(const char *name)
{
    size_t i;

    for (i = 0; i < VARIABLES_MAX && variables[2 * i]; i++)
        if (strcmp(variables[2 * i], name) == 0)
            return (char *)(uintptr_t)variables[2 * i + 1];
    return NULL;
}

static void set(const char *const *pairs)
{
    size_t i;

    memset(variables, 0, sizeof(variables));
    for (i = 0; i < sizeof(variables) / sizeof(variables[0]) - 2 && pairs[i]; i++)
        variables[i] = pairs[i];
}

static char lines[1024]; /* what was warned of */
static unsigned warned;

static void warn(const char *line)
{
    size_t used = strlen(lines);

    (void)snprintf(lines + used, sizeof(lines) - used, "%s\n", line);
}

static void begin(struct otel *out)
{
    lines[0] = '\0';
    warned = 0;
    otel_init(out, look, warn, &warned);
}

#define SET(...) set((const char *const[]){__VA_ARGS__, NULL})

static void a_general_endpoint_is_a_base(void **state)
{
    struct exporter_settings settings = {0};
    struct otel otel;

    (void)state;
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318", "OTEL_EXPORTER_OTLP_TIMEOUT", "2500",
        "OTEL_EXPORTER_OTLP_COMPRESSION", "none", "OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca");
    begin(&otel);
    assert_true(otel_makes_exporter(look));
    otel_fill(&otel, &settings);
    assert_string_equal(settings.url, "http://h:4318");
    assert_false(settings.url_is_whole);
    assert_string_equal(settings.compression, "none");
    assert_int_equal(settings.timeout_ns, 2500000000);
    assert_string_equal(settings.ca_file, "/ca");
    otel_finish(&otel);
}

static void what_is_for_profiles_wins(void **state)
{
    struct exporter_settings settings = {0};
    struct otel otel;

    (void)state;
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT",
        "http://p/x", "OTEL_EXPORTER_OTLP_HEADERS", "a=1", "OTEL_EXPORTER_OTLP_PROFILES_HEADERS",
        "b=2");
    begin(&otel);
    otel_fill(&otel, &settings);
    assert_string_equal(settings.url, "http://p/x");
    assert_true(settings.url_is_whole);
    assert_int_equal(settings.secret_header_count, 1);
    assert_string_equal(settings.secret_headers[0].name, "b");
    assert_string_equal(settings.secret_headers[0].value.text, "2");
    otel_finish(&otel);
}

static void settings_that_are_there_stay(void **state)
{
    const struct label header = {"x", "y"};
    struct exporter_settings settings = {.url = "http://mine",
                                         .timeout_ns = 1,
                                         .ca_file = "/mine",
                                         .headers = &header,
                                         .header_count = 1};
    struct otel otel;

    (void)state;
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h", "OTEL_EXPORTER_OTLP_TIMEOUT", "5",
        "OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca", "OTEL_EXPORTER_OTLP_HEADERS", "a=1");
    begin(&otel);
    otel_fill(&otel, &settings);
    assert_string_equal(settings.url, "http://mine");
    assert_int_equal(settings.timeout_ns, 1);
    assert_string_equal(settings.ca_file, "/mine");
    assert_ptr_equal(settings.headers, &header);
    assert_int_equal(settings.secret_header_count, 0);
    otel_finish(&otel);
}

static void what_a_section_leaves_open_is_filled_in(void **state)
{
    struct exporter_settings settings = {.url = "http://mine", .cert_file = "/mine"};
    struct otel otel;

    (void)state;
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h", "OTEL_EXPORTER_OTLP_TIMEOUT", "5",
        "OTEL_EXPORTER_OTLP_COMPRESSION", "none", "OTEL_EXPORTER_OTLP_HEADERS", "a=1",
        "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/c", "OTEL_EXPORTER_OTLP_CLIENT_KEY", "/k");
    begin(&otel);
    settings.compression = "gzip";
    otel_fill(&otel, &settings);
    assert_string_equal(settings.compression, "gzip");
    settings.compression = NULL;
    otel_fill(&otel, &settings);
    assert_string_equal(settings.compression, "none");
    assert_int_equal(settings.timeout_ns, 5000000);
    assert_int_equal(settings.secret_header_count, 1);
    assert_string_equal(settings.cert_file, "/mine");
    assert_null(settings.key_file); /* it is another certificate's */
    otel_finish(&otel);
}

static void a_login_of_the_section_keeps_headers_of_the_environment_away(void **state)
{
    static const struct exporter_secret_header secret = {.name = "X-Key", .value.text = "k"};
    const struct exporter_settings with[] = {{.token.text = "t"},
                                             {.token.file = "/t"},
                                             {.user = "u"},
                                             {.secret_headers = &secret, .secret_header_count = 1}};
    struct exporter_settings settings;
    struct otel otel;
    size_t i;

    (void)state;
    SET("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20other");
    begin(&otel);
    for (i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
        settings = with[i];
        otel_fill(&otel, &settings);
        assert_ptr_equal(settings.secret_headers, with[i].secret_headers);
    }
    otel_finish(&otel);
}

static void a_client_key_counts_only_with_a_certificate(void **state)
{
    struct exporter_settings settings = {0};
    struct otel otel;

    (void)state;
    SET("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/k");
    begin(&otel);
    otel_fill(&otel, &settings);
    assert_null(settings.key_file);

    SET("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/c", "OTEL_EXPORTER_OTLP_CLIENT_KEY", "/k");
    otel_fill(&otel, &settings);
    assert_string_equal(settings.cert_file, "/c");
    assert_string_equal(settings.key_file, "/k");
    otel_finish(&otel);
}

static void pairs_are_decoded_as_baggage(void **state)
{
    struct exporter_settings settings = {0};
    struct otel otel;

    (void)state;
    SET("OTEL_RESOURCE_ATTRIBUTES", " team = a%20b%2C ,, host.name=h%zz;prop=1,empty=");
    begin(&otel);
    otel_fill(&otel, &settings);
    assert_int_equal(otel.attribute_count, 3);
    assert_string_equal(otel.attributes[0].name, "team");
    assert_string_equal(otel.attributes[0].value, "a b,");
    assert_string_equal(otel.attributes[1].value, "h%zz");
    assert_string_equal(otel.attributes[2].value, "");
    otel_finish(&otel);
}

static void no_endpoint_or_disabled_makes_no_exporter(void **state)
{
    (void)state;
    SET("OTEL_SERVICE_NAME", "x");
    assert_false(otel_makes_exporter(look));
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "");
    assert_false(otel_makes_exporter(look));
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h", "OTEL_SDK_DISABLED", "True");
    assert_false(otel_makes_exporter(look));
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h", "OTEL_SDK_DISABLED", "no");
    assert_true(otel_makes_exporter(look));
}

static void what_cannot_be_used_is_told_once_without_its_value(void **state)
{
    static const char *const bad[][2] = {
        {"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"},
        {"OTEL_EXPORTER_OTLP_TIMEOUT", "0"},
        {"OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT", "-7"},
        {"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"},
        {"OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer secret"},
        {"OTEL_EXPORTER_OTLP_HEADERS", "a=%00secret"},
        {"OTEL_EXPORTER_OTLP_HEADERS", "a=%0asecret"},
        {"OTEL_EXPORTER_OTLP_HEADERS", "a b=secret"},
        {"OTEL_EXPORTER_OTLP_HEADERS", "Content-Type=secret"},
        {"OTEL_RESOURCE_ATTRIBUTES", "=secret"},
        {"OTEL_RESOURCE_ATTRIBUTES", "secret"},
    };
    struct otel otel;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct exporter_settings settings = {0}, other = {0};

        SET(bad[i][0], bad[i][1]);
        begin(&otel);
        otel_fill(&otel, &settings);
        otel_fill(&otel, &other);

        assert_int_equal(strncmp(lines, bad[i][0], strlen(bad[i][0])), 0);
        assert_ptr_equal(strchr(lines, '\n') + 1, lines + strlen(lines));
        assert_null(strstr(lines, "secret"));
        assert_int_equal(settings.timeout_ns, 0);
        assert_null(settings.compression);
        assert_int_equal(settings.secret_header_count, 0);
        assert_int_equal(otel.attribute_count, 0);
        otel_finish(&otel);
    }
}

static void another_protocol_is_told_with_the_cure(void **state)
{
    struct exporter_settings settings = {0}, mine = {.url = "http://mine"};
    struct otel otel;

    (void)state;
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318", "OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    begin(&otel);
    otel_fill(&otel, &mine);
    assert_string_equal(lines, "");
    otel_fill(&otel, &settings);

    assert_non_null(
        strstr(lines, "OTEL_EXPORTER_OTLP_PROTOCOL: is neither http/protobuf nor grpc"));
    assert_non_null(strstr(lines, "4318"));
    assert_string_equal(settings.url, "http://h:4318");
    assert_null(settings.protocol);
    otel_finish(&otel);
}

static void the_protocol_goes_with_the_endpoint(void **state)
{
    struct exporter_settings settings = {0}, mine = {.url = "http://mine"},
                             said = {.protocol = "http/protobuf"};
    struct otel otel;

    (void)state;
    SET("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://h:4317", "OTEL_EXPORTER_OTLP_PROTOCOL",
        "grpc");
    begin(&otel);
    otel_fill(&otel, &settings);
    otel_fill(&otel, &mine);
    otel_fill(&otel, &said);

    assert_string_equal(settings.url, "http://h:4317");
    assert_string_equal(settings.protocol, "grpc");
    assert_null(mine.protocol);
    assert_string_equal(said.url, "http://h:4317");
    assert_string_equal(said.protocol, "http/protobuf");
    assert_string_equal(lines, "");
    otel_finish(&otel);
}

static void an_endpoint_of_grpc_may_have_no_scheme(void **state)
{
    const struct exporter_settings section = {.type = &exporter_types[EXPORTER_OTLP]};
    struct exporter_settings settings = section, insecure = section, http = section;
    struct otel otel;

    (void)state;
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "h:4317", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    begin(&otel);
    otel_fill(&otel, &settings);
    assert_string_equal(settings.url, "https://h:4317");
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "h:4317", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc",
        "OTEL_EXPORTER_OTLP_PROFILES_INSECURE", "True");
    otel_fill(&otel, &insecure);
    assert_string_equal(insecure.url, "http://h:4317");
    SET("OTEL_EXPORTER_OTLP_ENDPOINT", "h:4317");
    otel_fill(&otel, &http);
    assert_string_equal(http.url, "h:4317");
    otel_finish(&otel);
}

static void nothing_is_said_of_variables_whose_keys_are_there(void **state)
{
    struct exporter_settings settings = {
        .url = "http://mine", .timeout_ns = 1, .compression = "gzip", .user = "u"};
    struct otel otel;

    (void)state;
    SET("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "OTEL_EXPORTER_OTLP_COMPRESSION", "zstd",
        "OTEL_EXPORTER_OTLP_HEADERS", "odd");
    begin(&otel);
    otel_fill(&otel, &settings);

    assert_string_equal(lines, "");
    otel_finish(&otel);
}

static void the_good_pairs_count_beside_bad_ones(void **state)
{
    struct exporter_settings settings = {.tenant = "t"};
    struct otel otel;

    (void)state;
    SET("OTEL_RESOURCE_ATTRIBUTES", "a=1,b,=2,c=3", "OTEL_EXPORTER_OTLP_HEADERS",
        "one=1,X-Scope-OrgID=other,odd,two=2");
    begin(&otel);
    otel_fill(&otel, &settings);

    assert_int_equal(otel.attribute_count, 2);
    assert_string_equal(otel.attributes[1].name, "c");
    assert_int_equal(settings.secret_header_count, 2);
    assert_string_equal(settings.secret_headers[1].name, "two");
    assert_string_equal(lines,
                        "OTEL_RESOURCE_ATTRIBUTES: 2 of its pairs cannot be used and are passed "
                        "over; NAME=VALUE,NAME=VALUE is wanted\n"
                        "OTEL_EXPORTER_OTLP_HEADERS: 2 of its pairs cannot be used and are passed "
                        "over; NAME=VALUE,NAME=VALUE is wanted\n");
    otel_finish(&otel);
}

static void there_may_be_as_many_pairs_as_64_kib_hold(void **state)
{
    static char text[64 * 1024 + 2];
    struct exporter_settings settings = {0};
    struct otel otel;

    (void)state;
    for (size_t i = 0; i < 64 * 1024; i++)
        text[i] = "a=1,"[i % 4];
    SET("OTEL_RESOURCE_ATTRIBUTES", text);
    begin(&otel);
    otel_fill(&otel, &settings);
    assert_int_equal(otel.attribute_count, 16 * 1024);
    assert_string_equal(lines, "");
    otel_finish(&otel);

    text[64 * 1024] = 'b';
    begin(&otel);
    otel_fill(&otel, &settings);
    assert_int_equal(otel.attribute_count, 0);
    assert_non_null(strstr(lines, "OTEL_RESOURCE_ATTRIBUTES: "));
    otel_finish(&otel);
}

static void no_value_of_a_header_stays_behind(void **state)
{
    static const struct {
        const char *headers;
        size_t arena_max; /* 64: there is room for the pair, but not for the array of headers */
    } cases[] = {{"=secret,a=1", 4096},
                 {"a=secret%00", 4096},
                 {"%00=secret", 4096},
                 {"a=secret", 4096},
                 {"a=secret", 64}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct exporter_settings settings = {0};
        struct otel otel;
        char *memory;

        SET("OTEL_EXPORTER_OTLP_HEADERS", cases[i].headers);
        begin(&otel);
        memory = arena_alloc(&otel.arena, 1024);
        assert_non_null(memory);
        memset(memory, 0, 1024);
        arena_reset(&otel.arena); /* from here on all that is allocated is part of `memory` */
        otel.arena.max = cases[i].arena_max;
        otel_fill(&otel, &settings);

        assert_true(otel.arena.used > 16 && otel.arena.used < 1024);
        assert_null(memmem(memory, 1024, "secret", strlen("secret")));
        otel_finish(&otel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_general_endpoint_is_a_base),
        cmocka_unit_test(what_is_for_profiles_wins),
        cmocka_unit_test(settings_that_are_there_stay),
        cmocka_unit_test(what_a_section_leaves_open_is_filled_in),
        cmocka_unit_test(a_login_of_the_section_keeps_headers_of_the_environment_away),
        cmocka_unit_test(a_client_key_counts_only_with_a_certificate),
        cmocka_unit_test(pairs_are_decoded_as_baggage),
        cmocka_unit_test(no_endpoint_or_disabled_makes_no_exporter),
        cmocka_unit_test(what_cannot_be_used_is_told_once_without_its_value),
        cmocka_unit_test(no_value_of_a_header_stays_behind),
        cmocka_unit_test(another_protocol_is_told_with_the_cure),
        cmocka_unit_test(the_protocol_goes_with_the_endpoint),
        cmocka_unit_test(an_endpoint_of_grpc_may_have_no_scheme),
        cmocka_unit_test(nothing_is_said_of_variables_whose_keys_are_there),
        cmocka_unit_test(the_good_pairs_count_beside_bad_ones),
        cmocka_unit_test(there_may_be_as_many_pairs_as_64_kib_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
