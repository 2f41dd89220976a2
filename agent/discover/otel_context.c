/* SPDX-License-Identifier: Apache-2.0 */
/* otel_context.c - see otel_context.h. */
#include "agent/discover/otel_context.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { MAPS_LINES_MAX = 65536, TRIES = 3, VERSION = 2 };

/* As it lies in the mapping. */
struct header {
    char signature[8];
    uint32_t version, size;
    uint64_t published; /* 0: it is being written */
    uint64_t payload;
};

/* Bytes of a message that are not read yet. */
struct span {
    const unsigned char *at;
    size_t size;
};

/* One field: a number, or bytes. */
struct field {
    uint64_t number, value;
    struct span bytes;
    bool has_bytes;
};

static bool read_span_varint(struct span *span, uint64_t *out)
{
    unsigned shift;

    *out = 0;
    for (shift = 0; shift < 64 && span->size > 0; shift += 7) {
        *out |= (uint64_t)(*span->at & 0x7f) << shift;
        span->size--;
        if (!(*span->at++ & 0x80))
            return true;
    }
    return false;
}

static bool take_span_bytes(struct span *span, uint64_t size, struct span *out)
{
    if (size > span->size)
        return false;
    *out = (struct span){span->at, (size_t)size};
    span->at += size;
    span->size -= (size_t)size;
    return true;
}

static bool read_span_field(struct span *span, struct field *out)
{
    enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };
    uint64_t key;

    *out = (struct field){0};
    if (!read_span_varint(span, &key))
        return false;
    out->number = key >> 3;
    switch (key & 7) {
    case VARINT:
        return read_span_varint(span, &out->value);
    case FIXED64:
        return take_span_bytes(span, 8, &out->bytes);
    case FIXED32:
        return take_span_bytes(span, 4, &out->bytes);
    case BYTES:
        out->has_bytes = true;
        return read_span_varint(span, &out->value) &&
               take_span_bytes(span, out->value, &out->bytes);
    default:
        return false;
    }
}

/* Copies text; false: there is no room, or it is none. */
static bool copy_span_text(const struct span *span, char *out, size_t size)
{
    if (span->size == 0 || span->size >= size || memchr(span->at, '\0', span->size))
        return false;
    memcpy(out, span->at, span->size);
    out[span->size] = '\0';
    return true;
}

/* AnyValue: its string, field 1. */
static bool read_value(struct span span, char *out)
{
    struct field field;
    bool found = false;

    while (span.size > 0) {
        if (!read_span_field(&span, &field))
            return false;
        if (field.number == 1 && field.has_bytes)
            found = copy_span_text(&field.bytes, out, OTEL_VALUE_MAX);
    }
    return found;
}

/* KeyValue: key, field 1, and value, field 2. False: it is none, or the value is no string. */
static bool read_pair(struct span span, char *name, char *value)
{
    struct field field;
    bool has_name = false, has_value = false;

    while (span.size > 0) {
        if (!read_span_field(&span, &field))
            return false;
        if (field.number == 1 && field.has_bytes)
            has_name = copy_span_text(&field.bytes, name, OTEL_NAME_MAX) && name[0] >= ' ';
        else if (field.number == 2 && field.has_bytes)
            has_value = read_value(field.bytes, value);
    }
    return has_name && has_value;
}

/* Resource: attributes, field 1. Later versions wrap it into a message of their own. */
static bool read_resource(struct span span, unsigned depth, otel_attribute *each, void *ctx)
{
    char name[OTEL_NAME_MAX], value[OTEL_VALUE_MAX];
    struct field field;

    while (span.size > 0) {
        if (!read_span_field(&span, &field))
            return false;
        if (field.number != 1 || !field.has_bytes)
            continue;
        if (read_pair(field.bytes, name, value))
            each(ctx, name, value);
        else if (depth == 0)
            (void)read_resource(field.bytes, depth + 1, each, ctx);
    }
    return true;
}

bool otel_context_decode(const void *payload, size_t size, otel_attribute *each, void *ctx)
{
    struct span span = {payload, size};

    return size <= OTEL_CONTEXT_MAX && read_resource(span, 0, each, ctx);
}

static bool read_memory(pid_t pid, uint64_t address, void *out, size_t size)
{
    struct iovec here = {out, size};
    struct iovec there = {(void *)(uintptr_t)address, size};

    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* Where the mapping begins that has the name; 0: there is none. */
static uint64_t find_mapping(pid_t pid)
{
    char path[64], line[4352], buffer[2 * sizeof(line)]; /* the kernel gives a page at once */
    uint64_t found = 0;
    FILE *maps;
    int i;

    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    if (maps)
        (void)setvbuf(maps, buffer, _IOFBF, sizeof(buffer));
    for (i = 0; maps && !found && i < MAPS_LINES_MAX && fgets(line, sizeof(line), maps); i++)
        if (strstr(line, " /memfd:OTEL_CTX") || strstr(line, "[anon_shmem:OTEL_CTX]") ||
            strstr(line, "[anon:OTEL_CTX]"))
            found = strtoull(line, NULL, 16);
    if (maps)
        (void)fclose(maps);
    return found;
}

static bool read_header(pid_t pid, uint64_t address, struct header *out)
{
    return read_memory(pid, address, out, sizeof(*out)) &&
           memcmp(out->signature, "OTEL_CTX", sizeof(out->signature)) == 0 &&
           out->version == VERSION && out->size > 0 && out->size <= OTEL_CONTEXT_MAX;
}

/* Reads the payload whole: what was published before is what is published after. */
static bool read_payload(pid_t pid, uint64_t address, void *out, size_t *size)
{
    struct header before, after;
    int i;

    for (i = 0; i < TRIES; i++) {
        if (!read_header(pid, address, &before))
            return false;
        *size = before.size;
        if (before.published && read_memory(pid, before.payload, out, before.size) &&
            read_header(pid, address, &after) && after.published == before.published)
            return true;
    }
    return false;
}

bool otel_context_read(pid_t pid, otel_attribute *each, void *ctx)
{
    uint64_t address = find_mapping(pid);
    void *payload = address ? malloc(OTEL_CONTEXT_MAX) : NULL;
    size_t size;
    bool good = payload && read_payload(pid, address, payload, &size) &&
                otel_context_decode(payload, size, each, ctx);

    free(payload);
    return good;
}
