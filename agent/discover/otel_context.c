/* SPDX-License-Identifier: Apache-2.0 */
/* otel_context.c - see otel_context.h. */
#include "agent/discover/otel_context.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proc_map.h"
#include "base/proc_stat.h"
#include "base/protobuf_wire.h"
#include "unwind/cpy.h"

enum { TRIES = 3, VERSION = 2 };

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

static bool is_published(const char *path)
{
    static const char memfd[] = "/memfd:OTEL_CTX";

    return strncmp(path, memfd, sizeof(memfd) - 1) == 0 ||
           strcmp(path, "[anon_shmem:OTEL_CTX]") == 0 || strcmp(path, "[anon:OTEL_CTX]") == 0;
}

/* `ctx`: where the mapping begins, 0 until it is found. */
static bool search_map_line(void *ctx, char *line)
{
    uint64_t *found = ctx;
    struct proc_map map;

    if (proc_map_parse(line, &map) && is_published(map.path))
        *found = map.start;
    return *found == 0;
}

/* Where the mapping begins that has the name; 0: there is none. A map may have any number of lines:
 * only one is held at a time. */
static uint64_t find_mapping(pid_t pid)
{
    uint64_t found = 0;
    int fd = proc_file_open(AT_FDCWD, "/proc/%d/maps", (int)proc_living_thread(pid));

    if (fd < 0)
        return 0;
    if (proc_file_lines(fd, search_map_line, &found) != PROC_OK)
        found = 0;
    (void)close(fd);
    return found;
}

static bool read_header(struct mem *mem, uint64_t address, struct header *out)
{
    return cpy_memory_read(mem, address, out, sizeof(*out)) == CPY_OK &&
           memcmp(out->signature, "OTEL_CTX", sizeof(out->signature)) == 0 &&
           out->version == VERSION && out->size > 0 && out->size <= OTEL_CONTEXT_MAX;
}

/* Reads the payload whole: what was published before is what is published after. */
static bool read_payload(struct mem *mem, uint64_t address, void *out, size_t *size)
{
    struct header before, after;

    for (int i = 0; i < TRIES; i++) {
        if (!read_header(mem, address, &before))
            return false;
        *size = before.size;
        if (before.published && cpy_memory_read(mem, before.payload, out, before.size) == CPY_OK &&
            read_header(mem, address, &after) && after.published == before.published)
            return true;
    }
    return false;
}

bool otel_context_read(pid_t pid, otel_attribute *each, void *ctx)
{
    uint64_t address = find_mapping(pid);
    void *payload = address ? malloc(OTEL_CONTEXT_MAX) : NULL;
    struct mem *mem = NULL;
    size_t size;
    bool good = payload && cpy_memory_open(pid, &mem, NULL) == CPY_OK &&
                read_payload(mem, address, payload, &size) &&
                otel_context_decode(payload, size, each, ctx);

    cpy_memory_close(mem);
    free(payload);
    return good;
}
