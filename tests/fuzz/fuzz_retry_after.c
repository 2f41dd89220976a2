/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_retry_after.c - whatever a server asks for, the pause is at most an hour. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/exporter.h"
#include "exporters/http/retry_after.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t now_ns;
    size_t line_size;
    const char *value;
    char *line;

    if (size < sizeof(now_ns))
        return 0;
    memcpy(&now_ns, data, sizeof(now_ns));
    line_size = size - sizeof(now_ns);
    line = malloc(line_size + 1); /* exact, so that a sanitizer sees one byte too many */
    if (!line)
        abort();
    memcpy(line, data + sizeof(now_ns), line_size);
    if (retry_after_ns(line, line_size, now_ns) > EXPORTER_RETRY_AFTER_MAX_NS)
        abort();
    if (http_header_find(line, line_size, "Retry-After", &value, &size) &&
        (value < line || value + size > line + line_size))
        abort();
    free(line);
    return 0;
}
