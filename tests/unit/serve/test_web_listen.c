/* SPDX-License-Identifier: Apache-2.0 */
/* test_web_listen.c - which addresses of [http] listen this host can have. */
#include "agent/serve/web_listen.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/unit_test.h"

/* 192.0.2.0/24 is for documentation (RFC 5737): no host has an address of it. */
static void an_address_of_another_host_cannot_be(void **state)
{
    struct web_listen listen;
    struct err err = {""};

    (void)state;
    assert_false(web_listen_can_be("192.0.2.7:7997", &err));
    assert_non_null(strstr(err.text, "192.0.2.7: Cannot assign requested address; no network "
                                     "interface of this host has that address"));
    err.text[0] = '\0';
    assert_false(web_listen_open(&listen, "192.0.2.7:7997", &err));
    assert_non_null(strstr(err.text, "no network interface of this host has that address"));
}

static void a_path_in_proc_cannot_be(void **state)
{
    struct err err = {""};

    (void)state;
    assert_false(web_listen_can_be("/proc/page.sock", &err));
    assert_non_null(strstr(err.text, "no files can be made; name another path"));
}

static void a_port_in_use_can_be_but_not_be_opened(void **state)
{
    struct web_listen first, second;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    struct err err = {""};
    char text[32];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(close(fd), 0);
    (void)snprintf(text, sizeof(text), "127.0.0.1:%d", ntohs(address.sin_port));
    assert_true(web_listen_open(&first, text, &err));
    assert_true(web_listen_can_be(text, &err));
    assert_false(web_listen_open(&second, text, &err));
    assert_string_equal(err.text, "Address already in use; another program listens there: end it, "
                                  "or name another port");
    web_listen_close(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_of_another_host_cannot_be),
        cmocka_unit_test(a_path_in_proc_cannot_be),
        cmocka_unit_test(a_port_in_use_can_be_but_not_be_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
