/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_web_host.c - any text as a Host header, as an address to listen at, and as a request. */
#include <stdlib.h>
#include <string.h>

#include "agent/serve/web_header.h"
#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct conf_listen listen;
    struct err err = {""};
    const char *value;
    size_t header, value_size = 0;

    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (web_header_host_allowed(text) &&
        strspn(text, "0123456789abcdefABCDEF.:[]") != strlen(text) &&
        strncmp(text, "localhost", 9) != 0)
        abort();
    if (conf_listen(text, &listen, &err) == CONF_OK
            ? !listen.is_path && (strnlen(listen.host, sizeof(listen.host)) == 0 ||
                                  strnlen(listen.host, sizeof(listen.host)) == sizeof(listen.host))
            : err.text[0] == '\0')
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
