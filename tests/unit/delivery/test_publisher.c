/* SPDX-License-Identifier: Apache-2.0 */
/* test_publisher.c - a URL of the environment is checked as one of the ini is. */
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
    const struct exporter_settings settings = {.type = &exporter_types[EXPORTER_OTLP]};
    struct exporter *exporter;
    struct err err;

    (void)state;
    assert_int_equal(setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "HTTP://[::1]:4318/base/", 1), 0);
    assert_int_equal(publisher_exporter(&settings, &exporter, &err), EXPORTER_OK);
    exporter_close(exporter);
    assert_int_equal(unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_urls_of_the_environment_that_cannot_work),
        cmocka_unit_test(takes_a_url_of_the_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
