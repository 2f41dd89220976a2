/* SPDX-License-Identifier: Apache-2.0 */
/* test_advice.c - a cure for what TLS libraries and resolvers say. */
#include <string.h>

#include "exporters/http/advice.h"
#include "tests/unit/unit_test.h"

struct row {
    CURLcode code;
    const char *text, *cure;
};

static void knows_the_cure(void **state)
{
    static const struct row rows[] = {
        {CURLE_PEER_FAILED_VERIFICATION, "SSL certificate problem: self-signed certificate",
         "ca_file"},
        {CURLE_PEER_FAILED_VERIFICATION,
         "SSL certificate problem: unable to get local issuer certificate", "ca_file"},
        {CURLE_PEER_FAILED_VERIFICATION, "SSL certificate problem: certificate has expired",
         "new certificate"},
        {CURLE_PEER_FAILED_VERIFICATION, "SSL certificate problem: certificate is not yet valid",
         "clock"},
        {CURLE_PEER_FAILED_VERIFICATION,
         "SSL: no alternative certificate subject name matches target host name 'x'", "into url"},
        {CURLE_PEER_FAILED_VERIFICATION, "anything else", "ca_file"},
        {CURLE_RECV_ERROR, "SSL_read: tlsv13 alert certificate required", "cert_file"},
        {CURLE_SSL_CONNECT_ERROR, "wrong version number", "http://"},
        {CURLE_COULDNT_RESOLVE_HOST, "Could not resolve host: x", "DNS"},
        {CURLE_COULDNT_RESOLVE_PROXY, "Could not resolve proxy: x", "proxy"},
        {CURLE_COULDNT_CONNECT, "Couldn't connect to server", "port"},
        {CURLE_RECV_ERROR, "Received HTTP code 407 from proxy after CONNECT", "proxy_login_file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *advice = http_advice(rows[i].code, rows[i].text);

        if (!strstr(advice, rows[i].cure))
            fail_msg("\"%s\" for \"%s\"", advice, rows[i].text);
    }
}

static void says_nothing_of_what_it_does_not_know(void **state)
{
    (void)state;
    assert_string_equal(http_advice(CURLE_GOT_NOTHING, "Empty reply from server"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_cure),
        cmocka_unit_test(says_nothing_of_what_it_does_not_know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
