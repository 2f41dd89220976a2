/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_control_text.c - any bytes as a request: refused, or one that reads back the same. */
#include <stdlib.h>
#include <string.h>

#include "agent/serve/control_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct control_request request, again;
    char line[CONTROL_REQUEST_MAX];
    struct err err;

    if (!control_text_read((const char *)data, size, &request, &err))
        return 0;
    if (!control_text_write(&request, line))
        return 0; /* a name with a newline, which no line can hold */
    if (!control_text_read(line, strlen(line) - 1, &again, &err) || again.kind != request.kind ||
        strcmp(again.target, request.target) != 0)
        abort();
    return 0;
}
