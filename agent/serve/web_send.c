/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_send.c - sends the answers of the HTTP server, and bounds the memory that they take until
 * they are read; see web_internal.h.
 *
 * A client may read slowly, and an answer is held until it has been read or the connection is
 * closed (web_front.h). All answers of more than WEB_SMALL_MAX bytes together hold at most
 * WEB_HELD_MAX; those that would be more are refused with 503. The small ones hold at most
 * WEB_CLIENTS * WEB_SMALL_MAX. An answer that processes make counts with the most that it may have
 * from its begin on; another one when it is complete: making it takes milliseconds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/host/asked_use.h"
#include "agent/serve/web_front.h"
#include "agent/serve/web_internal.h"

static const struct header {
    const char *name, *value;
} headers[] = {
    {"Connection", "close"}, /* web_front.h: one request each */
    {"X-Content-Type-Options", "nosniff"},
    {"Cache-Control", "no-store"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'; trusted-types 'none'"},
};

static void add_headers(struct MHD_Response *response, const struct web_answer *answer)
{
    char text[128];

    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        (void)microhttpd.add_response_header(response, headers[i].name, headers[i].value);
    (void)microhttpd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    if (answer->encoding)
        (void)microhttpd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING,
                                             answer->encoding);
    if (answer->name) {
        (void)snprintf(text, sizeof(text), "attachment; filename=\"%s\"", answer->name);
        (void)microhttpd.add_response_header(response, "Content-Disposition", text);
    }
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)microhttpd.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (answer->status == MHD_HTTP_SERVICE_UNAVAILABLE || answer->retry_s > 0) {
        (void)snprintf(text, sizeof(text), "%u", answer->retry_s > 0 ? answer->retry_s : 1);
        (void)microhttpd.add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, text);
    }
}

/* Counts what the answer holds until it has been read, in place of what was counted for it. */
static bool hold_memory(struct web_answer *answer)
{
    const size_t bytes = answer->body.size > WEB_SMALL_MAX ? answer->body.size : 0;

    asked_use_return_memory(answer->held_bytes);
    answer->held_bytes = asked_use_take_memory(bytes, WEB_HELD_MAX) ? bytes : 0;
    return answer->held_bytes == bytes;
}

/* No client asks for the content of an answer without a body. */
static ssize_t no_content(void *cls, uint64_t position, char *bytes, size_t size)
{
    (void)cls;
    (void)position;
    (void)bytes;
    (void)size;
    return MHD_CONTENT_READER_END_OF_STREAM;
}

/* Takes over the body. */
static struct MHD_Response *make_response(struct web_answer *answer)
{
    struct MHD_Response *response;

    if (answer->no_body)
        return microhttpd.create_response_from_callback(MHD_SIZE_UNKNOWN, 1, no_content, NULL,
                                                        NULL);
    response = microhttpd.create_response_from_buffer_with_free_callback(answer->body.size,
                                                                         answer->body.data, free);
    if (response)
        answer->body.data = NULL;
    return response;
}

enum MHD_Result web_send(struct MHD_Connection *connection, struct web_answer *answer)
{
    struct MHD_Response *response;
    enum MHD_Result result;

    if (buf_failed(&answer->body))
        web_refuse(answer, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory for this request");
    if (!hold_memory(answer)) {
        buf_finish(&answer->body);
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, "others read too large answers now");
    }
    response = make_response(answer);
    buf_finish(&answer->body);
    if (!response)
        return MHD_NO;
    add_headers(response, answer);
    result = microhttpd.queue_response(connection, answer->status, response);
    microhttpd.destroy_response(response);
    return result;
}
