/* SPDX-License-Identifier: Apache-2.0 */
/* test_listen.c - which values of [http] listen are taken, and as what address. */
#include <string.h>

#include "conf/conf.h"
#include "tests/unit/unit_test.h"

static void takes_a_port_and_an_address(void **state)
{
    static const struct {
        const char *text, *host;
        bool is_loopback;
    } cases[] = {
        {"7997", "127.0.0.1", true},
        {":7997", "127.0.0.1", true},
        {"localhost:7997", "127.0.0.1", true},
        {"127.0.0.2:7997", "127.0.0.2", true},
        {"[::1]:7997", "::1", true},
        {"0.0.0.0:7997", "0.0.0.0", false},
        {"[::]:7997", "::", false},
        {"192.0.2.1:7997", "192.0.2.1", false},
    };
    struct conf_listen listen;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(conf_listen(cases[i].text, &listen, NULL), CONF_OK);
        assert_false(listen.is_path);
        assert_int_equal(listen.port, 7997);
        assert_string_equal(listen.host, cases[i].host);
        assert_int_equal(listen.is_loopback, cases[i].is_loopback);
    }
    assert_int_equal(conf_listen("/run/p.sock", &listen, NULL), CONF_OK);
    assert_true(listen.is_path);
}

static void refuses_what_the_agent_could_not_listen_at(void **state)
{
    static const char *const no_port[] = {"",          ":",          "off",         "localhost",
                                          "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:80 ",
                                          "run/p.sock"};
    static const char *const bad_port[] = {"0", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:99999",
                                           "127.0.0.1:18446744073709551617"};
    static const char *const bad_host[] = {
        "*:7997", "example:80",     "127.0.0:80",
        "[]:80",  "[127.0.0.1]:80", "127.0.0.1000000000000000000000000000000000000000:80"};
    struct conf_listen listen;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(no_port) / sizeof(no_port[0]); i++) {
        assert_int_equal(conf_listen(no_port[i], &listen, &err), CONF_BAD);
        assert_non_null(strstr(err.text, "has no port at its end"));
    }
    for (size_t i = 0; i < sizeof(bad_port) / sizeof(bad_port[0]); i++) {
        assert_int_equal(conf_listen(bad_port[i], &listen, &err), CONF_BAD);
        assert_non_null(strstr(err.text, "not between 1 and 65535"));
    }
    for (size_t i = 0; i < sizeof(bad_host) / sizeof(bad_host[0]); i++) {
        assert_int_equal(conf_listen(bad_host[i], &listen, &err), CONF_BAD);
        assert_non_null(strstr(err.text, "has no IP address before its port"));
    }
}

static void asks_for_brackets_around_an_address_of_ipv6(void **state)
{
    static const char *const bare[] = {"::1:80", ":::80", "fe80::1:7997"};
    struct conf_listen listen;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(bare) / sizeof(bare[0]); i++) {
        assert_int_equal(conf_listen(bare[i], &listen, &err), CONF_BAD);
        assert_non_null(strstr(err.text, "IPv6 needs brackets"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_port_and_an_address),
        cmocka_unit_test(refuses_what_the_agent_could_not_listen_at),
        cmocka_unit_test(asks_for_brackets_around_an_address_of_ipv6),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
