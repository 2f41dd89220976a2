/* SPDX-License-Identifier: Apache-2.0 */
/* test_web_header.c - where a request ends, what it asks for, and who sends it. */
#include "agent/serve/web_header.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit_test.h"

static void knows_names_that_a_page_cannot_have(void **state)
{
    static const char *const good[] = {"localhost",  "localhost:7997", "127.0.0.1", "127.0.0.1:80",
                                       "10.1.2.3:1", "[::1]",          "[::1]:7997"};
    static const char *const bad[] = {"",
                                      "evil.example",
                                      "evil.example:7997",
                                      "localhost.evil.example",
                                      "127.0.0.1.evil.example",
                                      "localhost:7997x",
                                      "localhost@evil.example",
                                      "[::1",
                                      "[::1]x",
                                      "[evil.example]",
                                      "[localhost]",
                                      "[127.0.0.1]:80",
                                      ":7997",
                                      "::1"};

    (void)state;
    assert_false(web_header_host_allowed(NULL));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!web_header_host_allowed(good[i]))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (web_header_host_allowed(bad[i]))
            fail_msg("taken: %s", bad[i]);
}

static void finds_the_end_of_a_header(void **state)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\nmore";

    (void)state;
    for (size_t size = 0; size < sizeof(request) - 5; size++)
        assert_int_equal(web_header_size(request, size), 0);
    assert_int_equal(web_header_size(request, sizeof(request) - 5), sizeof(request) - 5);
    assert_int_equal(web_header_size(request, sizeof(request) - 1), sizeof(request) - 5);
    assert_int_equal(web_header_size("GET / HTTP/1.1\n\n", 16), 0);
}

static void finds_fields_whatever_their_case_and_blanks(void **state)
{
    static const char header[] =
        "GET /host: HTTP/1.1\r\nX-Host: no\r\nhOST: \t a:1\r\nEmpty:\r\n\r\n";
    size_t size = 99;

    (void)state;
    assert_memory_equal(web_header_field(header, sizeof(header) - 1, "Host", &size), "a:1", 3);
    assert_int_equal(size, 3);
    assert_non_null(web_header_field(header, sizeof(header) - 1, "empty", &size));
    assert_int_equal(size, 0);
    assert_null(web_header_field(header, sizeof(header) - 1, "Ho", &size));
    assert_null(web_header_field(header, sizeof(header) - 1, "no", &size));
}

static bool says_a_body(const char *fields)
{
    char header[256];

    (void)snprintf(header, sizeof(header), "GET / HTTP/1.1\r\n%s\r\n\r\n", fields);
    return web_header_has_body(header, strlen(header));
}

static void knows_whether_a_body_follows(void **state)
{
    (void)state;
    assert_false(says_a_body("Host: a"));
    assert_false(says_a_body("Content-Length: 0"));
    assert_true(says_a_body("Content-Length: 1"));
    assert_true(says_a_body("content-length: 00"));
    assert_true(says_a_body("Content-Length:"));
    assert_true(says_a_body("Host: a\r\nTransfer-Encoding: chunked"));
    assert_true(says_a_body("Expect: 100-continue"));
}

static void knows_what_is_asked_for(void **state)
{
    (void)state;
    assert_true(web_header_asks_for("GET /healthz HTTP/1.1\r\n", "/healthz"));
    assert_true(web_header_asks_for("HEAD /healthz?a=b HTTP/1.1\r\n", "/healthz"));
    assert_false(web_header_asks_for("GET /healthzy HTTP/1.1\r\n", "/healthz"));
    assert_false(web_header_asks_for("POST /healthz HTTP/1.1\r\n", "/healthz"));
    assert_false(web_header_asks_for("GET /heal", "/healthz"));
}

static struct web_client_key key_of(const char *address)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    struct sockaddr_in v4 = {.sin_family = AF_INET};

    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
        return web_client_key_of((const struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
    return web_client_key_of((const struct sockaddr *)&v6);
}

static bool are_one_client(const char *a, const char *b)
{
    const struct web_client_key one = key_of(a), other = key_of(b);

    return one.high == other.high && one.low == other.low;
}

static void takes_for_one_client_what_one_host_can_be(void **state)
{
    (void)state;
    assert_true(are_one_client("127.0.0.1", "127.9.9.9"));
    assert_true(are_one_client("127.0.0.1", "::1"));
    assert_true(are_one_client("10.1.2.3", "::ffff:10.1.2.3"));
    assert_true(are_one_client("2001:db8::1", "2001:db8::ffff:1"));
    assert_false(are_one_client("10.1.2.3", "10.1.2.4"));
    assert_false(are_one_client("2001:db8::1", "2001:db8:0:1::1"));
    assert_false(are_one_client("::ffff:10.1.2.3", "::ffff:10.1.2.4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_names_that_a_page_cannot_have),
        cmocka_unit_test(finds_the_end_of_a_header),
        cmocka_unit_test(finds_fields_whatever_their_case_and_blanks),
        cmocka_unit_test(knows_whether_a_body_follows),
        cmocka_unit_test(knows_what_is_asked_for),
        cmocka_unit_test(takes_for_one_client_what_one_host_can_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
