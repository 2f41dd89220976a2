/* SPDX-License-Identifier: Apache-2.0 */
/* protobuf_wire.c - see protobuf_wire.h. */
#include "base/protobuf_wire.h"

#include <protobuf-c/protobuf-c.h>
#include <string.h>

enum { FIELD_NUMBER_MAX = 0x1fffffff };
enum { VARINT_BITS = 7, VARINT_MORE = 0x80, VARINT_MAX = 10, HEAD_MAX = 1 + VARINT_MAX };

bool wire_varint(struct wire *wire, uint64_t *out)
{
    uint64_t value = 0;
    unsigned int shift;
    uint8_t byte;

    for (shift = 0; shift < 64 && wire->at < wire->end; shift += VARINT_BITS) {
        byte = *wire->at++;
        if (shift == 63 && byte > 1)
            return false; /* over 64 bits */
        value |= (uint64_t)(byte & (VARINT_MORE - 1)) << shift;
        if (!(byte & VARINT_MORE)) {
            *out = value;
            return true;
        }
    }
    return false;
}

static enum wire_step take_field_bytes(struct wire *wire, uint64_t size, struct wire_field *out)
{
    const size_t left = (size_t)(wire->end - wire->at);

    out->bytes = wire->at;
    out->size = size < left ? (size_t)size : left;
    if (size > left) {
        wire->end = wire->at;
        return out->type == WIRE_BYTES ? WIRE_CUT : WIRE_BROKEN;
    }
    wire->at += size;
    return WIRE_FIELD;
}

static enum wire_step read_content(struct wire *wire, struct wire_field *out)
{
    uint64_t size;

    switch (out->type) {
    case WIRE_VARINT:
        return wire_varint(wire, &out->value) ? WIRE_FIELD : WIRE_BROKEN;
    case WIRE_FIXED64:
        return take_field_bytes(wire, 8, out);
    case WIRE_FIXED32:
        return take_field_bytes(wire, 4, out);
    case WIRE_BYTES:
        return wire_varint(wire, &size) ? take_field_bytes(wire, size, out) : WIRE_BROKEN;
    default: /* groups: no message here has them */
        return WIRE_BROKEN;
    }
}

enum wire_step wire_next(struct wire *wire, struct wire_field *out)
{
    uint64_t tag;

    if (wire->at == wire->end)
        return WIRE_END;
    *out = (struct wire_field){0};
    if (!wire_varint(wire, &tag) || tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX)
        return WIRE_BROKEN;
    out->number = (uint32_t)(tag >> 3);
    out->type = (enum wire_type)(tag & 7);
    return read_content(wire, out);
}

static size_t varint_size(uint64_t number)
{
    size_t size = 1;

    for (; number >= VARINT_MORE; number >>= VARINT_BITS)
        size++;
    return size;
}

static unsigned char *write_varint(unsigned char *at, uint64_t number)
{
    for (; number >= VARINT_MORE; number >>= VARINT_BITS)
        *at++ = (unsigned char)(number | VARINT_MORE);
    *at++ = (unsigned char)number;
    return at;
}

size_t wire_nested_size(size_t size)
{
    return 1 + varint_size(size) + size;
}

void wire_put_varint(struct buf *out, uint64_t number)
{
    unsigned char bytes[VARINT_MAX];

    buf_add(out, bytes, (size_t)(write_varint(bytes, number) - bytes));
}

/* Writes what begins a field: `number` is its value, or the size of its content. Gives its size. */
static size_t write_head(unsigned char room[HEAD_MAX], uint32_t field, enum wire_type type,
                         uint64_t number)
{
    room[0] = (unsigned char)(field << 3 | type);
    return (size_t)(write_varint(room + 1, number) - room);
}

static void put_head(struct buf *out, uint32_t field, enum wire_type type, uint64_t number)
{
    unsigned char head[HEAD_MAX];

    buf_add(out, head, write_head(head, field, type, number));
}

void wire_put_number(struct buf *out, uint32_t field, uint64_t number)
{
    if (number)
        put_head(out, field, WIRE_VARINT, number);
}

void wire_put_bytes(struct buf *out, uint32_t field, const void *bytes, size_t size)
{
    put_head(out, field, WIRE_BYTES, size);
    buf_add(out, bytes, size);
}

void wire_put_packed(struct buf *out, uint32_t field, const uint64_t *numbers, size_t count)
{
    size_t i, size = 0;
    unsigned char *at;

    for (i = 0; i < count; i++)
        size += varint_size(numbers[i]);
    if (size == 0)
        return;
    put_head(out, field, WIRE_BYTES, size);
    at = buf_extend(out, size);
    for (i = 0; at && i < count; i++)
        at = write_varint(at, numbers[i]);
}

void wire_insert(struct buf *out, size_t before, const void *bytes, size_t size)
{
    if (size == 0 || !buf_extend(out, size))
        return;
    memmove(out->data + before + size, out->data + before, out->size - size - before);
    memcpy(out->data + before, bytes, size);
}

void wire_wrap(struct buf *out, uint32_t field, size_t before)
{
    unsigned char head[HEAD_MAX];

    wire_insert(out, before, head, write_head(head, field, WIRE_BYTES, out->size - before));
}

void wire_put_message(struct buf *out, const struct ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    unsigned char *room = buf_extend(out, size);

    if (room)
        (void)protobuf_c_message_pack(message, room);
}
