/* SPDX-License-Identifier: Apache-2.0 */
/* test_publisher.c - a URL of the environment is checked as one of the ini is; profiles are
 * counted. */
#include <stdlib.h>
#include <string.h>

#include "agent/delivery/publisher.h"
#include "tests/unit/unit_test.h"

static void refuses_urls_of_the_environment_that_cannot_work(void **state)
{
    static const char *const urls[] = {
        "127.0.0.1:4318",    "localhost",         "ftp://host",      "file:///etc/passwd",
        "http://",           "http:///path",      "http://u:pa55@h", "http://user@host",
        "http://:pa55@host", "http://host?x=1",   "http://h/#top",   "http://ho st",
        "http://h\r\nX: y",  "http://host:99999", " http://host",    "http://[1:2]",
    };
    const struct exporter_settings settings = {.type = &exporter_types[EXPORTER_OTLP]};
    struct exporter *exporter;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        assert_int_equal(setenv("OTEL_EXPORTER_OTLP_ENDPOINT", urls[i], 1), 0);
        if (publisher_exporter(&settings, &exporter, &err) != EXPORTER_BAD_CONFIG)
            fail_msg("%s", urls[i]);
        assert_int_equal(strncmp(err.text, "url: ", 5), 0); /* the caller names the exporter */
        assert_null(strstr(err.text, "pa55"));              /* a password is not repeated */
    }
    assert_int_equal(unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT"), 0);
}

static void takes_a_url_of_the_environment(void **state)
{
    static const char *const urls[] = {"HTTP://[::1]:4318/base/", "http://host:"};
    const struct exporter_settings settings = {.type = &exporter_types[EXPORTER_OTLP]};
    struct exporter *exporter;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        assert_int_equal(setenv("OTEL_EXPORTER_OTLP_ENDPOINT", urls[i], 1), 0);
        assert_int_equal(publisher_exporter(&settings, &exporter, &err), EXPORTER_OK);
        exporter_close(exporter);
    }
    assert_int_equal(unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT"), 0);
}

/* A service with more samples than fit into one OTLP request. */
static struct service *large_service(struct services *services)
{
    static const int64_t values[VALUES_USUAL + 1] = {[VALUE_SAMPLES] = 1, [VALUE_WALL] = 1000};
    struct service *service = services_get(services, "shop", 1000, 2000);
    uint32_t function, location, stack, row;

    assert_non_null(service);
    assert_int_equal(pprof_function(service->profile, "f", "/f.py", 1, &function), PPROF_OK);
    assert_int_equal(pprof_location(service->profile, function, 2, 0, &location), PPROF_OK);
    assert_int_equal(pprof_stack(service->profile, &location, 1, &stack), PPROF_OK);
    for (int64_t i = 0; i <= PYROSCOPE_SAMPLES_MAX; i++) {
        const struct pprof_label label = {.key = "tid", .num = i + 1};

        assert_int_equal(pprof_row(service->profile, stack, &label, 1, &row), PPROF_OK);
        pprof_add(service->profile, row, values);
    }
    return service;
}

static void counts_requests_that_are_full_before_the_interval_ends(void **state)
{
    static const struct exporter_settings exporter = {
        .name = "far", .type = &exporter_types[EXPORTER_OTLP], .url = "http://127.0.0.1:1"};
    const struct conf conf = {.exporters = &exporter, .exporter_count = 1};
    struct services services = {0};
    struct publisher publisher;
    struct err err = {""};

    (void)state;
    assert_int_equal(publisher_open(&publisher, &conf, 0, &err), EXPORTER_OK);
    publisher_service(&publisher, large_service(&services), 1000000);
    publisher_interval_end(&publisher);

    assert_true(publisher_otlp_requests(publisher.otlp) > 1);
    assert_int_equal(publisher.profiles, publisher_otlp_requests(publisher.otlp));
    (void)publisher_close(&publisher, 0);
    services_finish(&services);
}

static int set_up(void **state)
{
    (void)state;
    return exporter_global_init(NULL) == EXPORTER_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    exporter_global_finish();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_urls_of_the_environment_that_cannot_work),
        cmocka_unit_test(takes_a_url_of_the_environment),
        cmocka_unit_test(counts_requests_that_are_full_before_the_interval_ends),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
