/* SPDX-License-Identifier: Apache-2.0 */
/* otel_context.c - see otel_context.h. */
#include "agent/discover/otel_context.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/protobuf_wire.h"

enum { MAPS_LINES_MAX = 65536, TRIES = 3, VERSION = 2 };

/* As it lies in the mapping. */
struct header {
    char signature[8];
    uint32_t version, size;
    uint64_t published; /* 0: it is being written */
    uint64_t payload;
};

/* Copies text; false: there is no room, or it is none. */
static bool copy_field_text(const struct wire_field *field, char *out, size_t size)
{
    if (field->size == 0 || field->size >= size || memchr(field->bytes, '\0', field->size))
        return false;
    memcpy(out, field->bytes, field->size);
    out[field->size] = '\0';
    return true;
}

/* AnyValue: its string, field 1. */
static bool read_value(const struct wire_field *message, char *out)
{
    struct wire wire = {message->bytes, message->bytes + message->size};
    struct wire_field field;
    enum wire_step step;
    bool found = false;

    while ((step = wire_next(&wire, &field)) == WIRE_FIELD)
        if (field.number == 1 && field.type == WIRE_BYTES)
            found = copy_field_text(&field, out, OTEL_VALUE_MAX);
    return step == WIRE_END && found;
}

/* KeyValue: key, field 1, and value, field 2. False: it is none, or the value is no string. */
static bool read_pair(const struct wire_field *message, char *name, char *value)
{
    struct wire wire = {message->bytes, message->bytes + message->size};
    struct wire_field field;
    enum wire_step step;
    bool has_name = false, has_value = false;

    while ((step = wire_next(&wire, &field)) == WIRE_FIELD) {
        if (field.number == 1 && field.type == WIRE_BYTES)
            has_name = copy_field_text(&field, name, OTEL_NAME_MAX) && name[0] >= ' ';
        else if (field.number == 2 && field.type == WIRE_BYTES)
            has_value = read_value(&field, value);
    }
    return step == WIRE_END && has_name && has_value;
}

/* Resource: attributes, field 1. Later versions wrap it into a message of their own. */
static bool read_resource(struct wire wire, unsigned depth, otel_attribute *each, void *ctx)
{
    char name[OTEL_NAME_MAX], value[OTEL_VALUE_MAX];
    struct wire_field field;
    enum wire_step step;

    while ((step = wire_next(&wire, &field)) == WIRE_FIELD) {
        if (field.number != 1 || field.type != WIRE_BYTES)
            continue;
        if (read_pair(&field, name, value))
            each(ctx, name, value);
        else if (depth == 0)
            (void)read_resource((struct wire){field.bytes, field.bytes + field.size}, depth + 1,
                                each, ctx);
    }
    return step == WIRE_END;
}

bool otel_context_decode(const void *payload, size_t size, otel_attribute *each, void *ctx)
{
    struct wire wire = {payload, (const uint8_t *)payload + size};

    return size <= OTEL_CONTEXT_MAX && read_resource(wire, 0, each, ctx);
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
