/* SPDX-License-Identifier: Apache-2.0 */
/* listen.c - knows what the value of `listen` in [http] may be. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/patterns.h"
#include "conf/text.h"

/*
 * Writes the address without its brackets. False: it is no IP address. One of IPv6 needs brackets,
 * because "::1:80" may be ::1 with a port, or all of it an address.
 */
static bool read_host(const char *text, size_t size, struct conf_listen *out)
{
    unsigned char address[sizeof(struct in6_addr)];
    int family = AF_INET;

    if (size == 0 || (size == 9 && memcmp(text, "localhost", 9) == 0)) {
        text = "127.0.0.1";
        size = strlen(text);
    } else if (size > 2 && text[0] == '[' && text[size - 1] == ']') {
        family = AF_INET6;
        text++;
        size -= 2;
    }
    if (size >= sizeof(out->host))
        return false;
    (void)snprintf(out->host, sizeof(out->host), "%.*s", (int)size, text);
    out->is_loopback = strncmp(out->host, "127.", 4) == 0 || strcmp(out->host, "::1") == 0;
    return inet_pton(family, out->host, address) == 1;
}

enum conf_rc conf_listen(const char *text, struct conf_listen *out, struct err *err)
{
    const char *colon = strrchr(text, ':');
    const char *port = colon ? colon + 1 : text;
    const size_t digits = strspn(port, "0123456789");
    const unsigned long number = strtoul(port, NULL, 10); /* the largest of all if it is larger */
    struct conf_listen listen = {.is_path = *text == '/'};
    char shown[CONF_QUOTE_MAX];

    if (listen.is_path) {
        *out = listen;
        return conf_socket_check(text, err);
    }
    listen.port = (uint16_t)number;
    if (port[digits] || digits == 0)
        err_set(err, "%s has no port at its end", conf_quote(shown, text));
    else if (number == 0 || number > UINT16_MAX)
        err_set(err, "%s has a port that is not between 1 and 65535", conf_quote(shown, text));
    else if (!read_host(text, colon ? (size_t)(colon - text) : 0, &listen))
        err_set(err, "%s has no IP address before its port%s", conf_quote(shown, text),
                *text != '[' && colon != strchr(text, ':') ? ": IPv6 needs brackets" : "");
    else {
        *out = listen;
        return CONF_OK;
    }
    return CONF_BAD;
}

enum conf_rc conf_listen_check(const char *text, struct err *err)
{
    struct conf_listen listen;

    return conf_listen(text, &listen, err);
}
