/* SPDX-License-Identifier: Apache-2.0 */
/* grpc.c - see grpc.h. */
#include "exporters/grpc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/percent.h"
#include "base/protobuf_wire.h"
#include "exporters/http/judge.h"
#include "exporters/unpack.h"

/* A message begins with whether it is packed, and its size in four bytes, the largest first. */
enum { FRAME_HEAD = 5, DETAILS_MAX = 8 * 1024 };

/* Which of the trailers is which. */
enum { TRAILER_STATUS, TRAILER_WORDS, TRAILER_DETAILS };

static const struct {
    const char *name;
    long http_status;
} codes[] = {
#define GRPC_ROW(name, number, http) [number] = {#name, http},
    GRPC_CODES(GRPC_ROW)
#undef GRPC_ROW
};

enum { CODES = sizeof(codes) / sizeof(codes[0]) };

static void add_grpc_header(struct grpc_headers *out, const char *name, const char *value)
{
    out->items[out->count++] = (struct label){name, value};
}

void grpc_headers(uint64_t timeout_ns, bool gzip, struct grpc_headers *out)
{
    uint64_t ms = timeout_ns / NS_PER_MS;

    *out = (struct grpc_headers){.count = 0};
    (void)snprintf(out->timeout, sizeof(out->timeout), "%" PRIu64 "m", ms > 0 ? ms : 1);
    add_grpc_header(out, "TE", "trailers");
    add_grpc_header(out, "grpc-timeout", out->timeout);
    add_grpc_header(out, "grpc-accept-encoding", "gzip");
    if (gzip)
        add_grpc_header(out, "grpc-encoding", "gzip");
}

void grpc_begin(bool gzip, struct buf *out)
{
    const unsigned char head[FRAME_HEAD] = {gzip};

    buf_add(out, head, sizeof(head));
}

void grpc_end(struct buf *out)
{
    size_t size = out->size - FRAME_HEAD;

    if (buf_failed(out))
        return;
    for (size_t i = FRAME_HEAD - 1; i > 0; i--, size >>= 8)
        out->data[i] = (unsigned char)size;
}

static bool is_grpc_type(const struct http_reply *reply)
{
    return http_is_type(reply, "application/grpc") || http_is_type(reply, "application/grpc+proto");
}

bool grpc_is_reply(const struct http_reply *reply)
{
    return reply->trailers[TRAILER_STATUS] && is_grpc_type(reply);
}

enum grpc_code grpc_code(const struct http_reply *reply)
{
    const char *text = reply->trailers[TRAILER_STATUS];
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    return text[0] >= '0' && text[0] <= '9' && !*end && number < CODES ? (enum grpc_code)number
                                                                       : GRPC_UNKNOWN;
}

const char *grpc_code_name(enum grpc_code code)
{
    return codes[code].name;
}

const char *grpc_words(const struct http_reply *reply)
{
    return reply->trailers[TRAILER_WORDS] ? reply->trailers[TRAILER_WORDS] : "";
}

/* Replaces each "%XX" by its byte, in the same memory; other text and "%00" stay as they are. */
static void decode_percent(char *text)
{
    const char *end = text + strlen(text);
    char *to = text;

    while (text < end) {
        int byte = percent_byte(text, (size_t)(end - text));

        *to++ = byte > 0 ? (char)byte : *text;
        text += byte > 0 ? PERCENT_SIZE : 1;
    }
    *to = '\0';
}

/* Makes a body its message; nothing if there is no whole one. */
static void take_message(struct buf *body)
{
    const unsigned char *head = body->data;
    struct buf message;
    bool gzip;
    size_t size;

    if (body->size < FRAME_HEAD) {
        buf_reset(body);
        return;
    }
    gzip = head[0] == 1;
    size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
    if (size > body->size - FRAME_HEAD)
        size = body->size - FRAME_HEAD; /* only its beginning was kept */
    buf_init(&message, HTTP_REPLY_MAX);
    if (!gzip)
        buf_add(&message, head + FRAME_HEAD, size);
    else if (unpack_gzip(head + FRAME_HEAD, size, &message) != EXPORTER_OK)
        buf_reset(&message);
    buf_finish(body);
    *body = message;
}

/* The status of HTTP is 200 as long as gRPC answers; of another server it counts. */
static long complete_grpc(const struct http_reply *reply, struct buf *body)
{
    if (reply->status != 200 || !is_grpc_type(reply))
        return reply->status;
    if (!grpc_is_reply(reply))
        return 0;
    take_message(body);
    if (reply->trailers[TRAILER_WORDS])
        decode_percent(reply->trailers[TRAILER_WORDS]);
    return codes[grpc_code(reply)].http_status;
}

const struct http_trailed grpc_trailed = {
    .names = {[TRAILER_STATUS] = "grpc-status",
              [TRAILER_WORDS] = "grpc-message",
              [TRAILER_DETAILS] = "grpc-status-details-bin"},
    .complete = complete_grpc,
};

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Decodes up to what is no base64, with padding or without. Gives: how many bytes. */
static size_t decode_base64(const char *text, unsigned char *out, size_t max)
{
    size_t size = 0;
    uint32_t bits = 0;
    unsigned held = 0;

    for (; base64_digit(*text) >= 0; text++) {
        bits = bits << 6 | (uint32_t)base64_digit(*text);
        held += 6;
        if (held < 8)
            continue;
        held -= 8;
        if (size == max)
            break;
        out[size++] = (unsigned char)(bits >> held);
    }
    return size;
}

/* Steps through a message to its next field of bytes with this number. */
static bool next_bytes(struct wire *wire, uint32_t number, struct wire_field *out)
{
    while (wire_next(wire, out) == WIRE_FIELD)
        if (out->number == number && out->type == WIRE_BYTES)
            return true;
    return false;
}

static struct wire wire_of(const struct wire_field *message)
{
    return (struct wire){message->bytes, message->bytes + message->size};
}

/* google.protobuf.Duration {1: int64 seconds, 2: int32 nanos} */
static uint64_t read_duration(const struct wire_field *message)
{
    struct wire wire = wire_of(message);
    uint64_t seconds = 0, nanos = 0;
    struct wire_field field;

    while (wire_next(&wire, &field) == WIRE_FIELD) {
        if (field.type != WIRE_VARINT)
            continue;
        if (field.number == 1)
            seconds = field.value;
        else if (field.number == 2)
            nanos = field.value;
    }
    if (seconds > INT64_MAX || nanos > INT32_MAX) /* a negative number */
        return 0;
    if (seconds >= EXPORTER_RETRY_AFTER_MAX_NS / NS_PER_S)
        return EXPORTER_RETRY_AFTER_MAX_NS;
    return seconds * NS_PER_S + (nanos < NS_PER_S ? nanos : 0);
}

/* google.protobuf.Any {1: string type_url, 2: bytes value} of RetryInfo {1: Duration} */
static bool read_retry_info(const struct wire_field *any, uint64_t *out_ns)
{
    static const char type[] = "/google.rpc.RetryInfo";
    const size_t size = sizeof(type) - 1;
    struct wire wire = wire_of(any);
    struct wire_field url, value, duration;

    if (!next_bytes(&wire, 1, &url) || url.size < size ||
        memcmp(url.bytes + url.size - size, type, size) != 0)
        return false;
    *out_ns = 0;
    if (!next_bytes(&wire, 2, &value))
        return true;
    wire = wire_of(&value);
    if (next_bytes(&wire, 1, &duration))
        *out_ns = read_duration(&duration);
    return true;
}

/* google.rpc.Status {3: repeated Any details} */
bool grpc_retry_info(const struct http_reply *reply, uint64_t *out_ns)
{
    unsigned char details[DETAILS_MAX];
    struct wire_field any;
    struct wire wire;
    size_t size;

    if (!reply->trailers[TRAILER_DETAILS])
        return false;
    size = decode_base64(reply->trailers[TRAILER_DETAILS], details, sizeof(details));
    wire = (struct wire){details, details + size};
    while (next_bytes(&wire, 3, &any))
        if (read_retry_info(&any, out_ns))
            return true;
    return false;
}
