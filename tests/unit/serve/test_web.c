/* SPDX-License-Identifier: Apache-2.0 */
/* test_web.c - which addresses the HTTP server takes. */
#include "agent/serve/web.h"
#include "agent/serve/web_listen.h"
#include "tests/unit/unit_test.h"

static void takes_an_address_and_a_port(void **state)
{
    static const char *const bad[] = {"",
                                      "7997",
                                      ":7997",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:x",
                                      "127.0.0.1:0",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:80 "};
    char host[64];
    uint16_t port = 0;

    (void)state;
    assert_true(web_address("127.0.0.1:7997", host, &port));
    assert_string_equal(host, "127.0.0.1");
    assert_int_equal(port, 7997);
    assert_true(web_address("[::1]:1", host, &port));
    assert_string_equal(host, "::1");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (web_address(bad[i], host, &port))
            fail_msg("taken: %s", bad[i]);
}

static void says_why_it_cannot_listen(void **state)
{
    const struct conf nonsense = {.http = {.listen = "nonsense"}};
    const struct conf name = {.http = {.listen = "example:80"}};
    struct state_share share;
    const struct web_sources sources = {.share = &share};
    struct err err = {""};

    (void)state;
    state_share_init(&share);
    assert_null(web_open(&nonsense, &sources, &err));
    assert_string_equal(err.text, "[http] listen nonsense: it is no ADDRESS:PORT, and no path");
    assert_null(web_open(&name, &sources, &err));
    assert_string_equal(err.text, "[http] listen example:80: example is no IP address");
    state_share_finish(&share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_an_address_and_a_port),
        cmocka_unit_test(says_why_it_cannot_listen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
