/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_grpc.c - any answer of gRPC is read within its bounds: status, words and details, a line
 * each, and what follows is the body. */
#include <stdlib.h>
#include <string.h>

#include "exporters/grpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Gives: a copy of a line, ended; *bytes is behind it then. */
static char *take_line(const uint8_t **bytes, size_t *size)
{
    const uint8_t *end = *size > 0 ? memchr(*bytes, '\n', *size) : NULL;
    size_t length = end ? (size_t)(end - *bytes) : *size;
    char *line = calloc(1, length + 1);

    if (!line)
        abort();
    if (length > 0)
        memcpy(line, *bytes, length);
    length += end ? 1 : 0;
    *bytes += length;
    *size -= length;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct http_reply reply = {.status = 200, .type = "application/grpc"};
    uint64_t pause_ns = 0;
    struct buf body;
    long status;

    for (size_t i = 0; i < 3; i++)
        reply.trailers[i] = take_line(&bytes, &size);
    buf_init(&body, HTTP_REPLY_MAX);
    buf_add(&body, bytes, size);
    status = grpc_trailed.complete(&reply, &body);
    if (status < 200 || status > 599 || !grpc_code_name(grpc_code(&reply)) || !grpc_words(&reply))
        abort();
    if (grpc_retry_info(&reply, &pause_ns) && pause_ns > EXPORTER_RETRY_AFTER_MAX_NS)
        abort();
    for (size_t i = 0; i < 3; i++)
        free(reply.trailers[i]);
    buf_finish(&body);
    return 0;
}
