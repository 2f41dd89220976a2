/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_web_host.c - any text as a Host header, and as an address to listen at. */
#include <stdlib.h>
#include <string.h>

#include "agent/serve/web.h"
#include "agent/serve/web_listen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), host[64];
    uint16_t port;

    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (web_host_allowed(text) && strspn(text, "0123456789abcdefABCDEF.:[]") != strlen(text) &&
        strncmp(text, "localhost", 9) != 0)
        abort();
    if (web_address(text, host, &port) && (strlen(host) >= sizeof(host) || port == 0))
        abort();
    free(text);
    return 0;
}
