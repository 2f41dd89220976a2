/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_web_host.c - any text as a Host header, as an address to listen at, and as a request. */
#include <stdlib.h>
#include <string.h>

#include "agent/serve/web_header.h"
#include "agent/serve/web_listen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), host[64];
    const char *value;
    size_t header, value_size = 0;
    uint16_t port;

    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (web_header_host_allowed(text) &&
        strspn(text, "0123456789abcdefABCDEF.:[]") != strlen(text) &&
        strncmp(text, "localhost", 9) != 0)
        abort();
    if (web_address(text, host, &port) && (strlen(host) >= sizeof(host) || port == 0))
        abort();
    header = web_header_size(text, size);
    if (header > size)
        abort();
    value = web_header_field(text, header, "Host", &value_size);
    if (value && (value < text || value + value_size > text + header))
        abort();
    if (header > 0 && web_header_has_body(text, header) && web_header_asks_for(text, "/healthz"))
        value = NULL;
    free(text);
    return 0;
}
