/* SPDX-License-Identifier: Apache-2.0 */
/* wire_write.c - see wire_write.h. */
#include "pprof/wire_write.h"

#include <string.h>

#include "pprof/wire.h"

enum { VARINT_BITS = 7, VARINT_MORE = 0x80, HEAD_MAX = 11 };

/* A Line is the same message in profile.proto and otlp.proto. */
enum { LINE_FUNCTION = 1, LINE_LINE = 2, LINE_COLUMN = 3 };

static size_t number_size(uint64_t number)
{
    size_t size = 1;

    for (; number >= VARINT_MORE; number >>= VARINT_BITS)
        size++;
    return size;
}

static unsigned char *write_number(unsigned char *at, uint64_t number)
{
    for (; number >= VARINT_MORE; number >>= VARINT_BITS)
        *at++ = (unsigned char)(number | VARINT_MORE);
    *at++ = (unsigned char)number;
    return at;
}

size_t wire_nested_size(size_t size)
{
    return 1 + number_size(size) + size;
}

void wire_put_number(struct buf *out, uint32_t field, uint64_t number)
{
    unsigned char *room = number ? buf_extend(out, 1 + number_size(number)) : NULL;

    if (!room)
        return;
    *room = (unsigned char)(field << 3 | WIRE_VARINT);
    (void)write_number(room + 1, number);
}

/* Writes what begins a field whose content of `size` bytes comes next. Gives its own size. */
static size_t write_head(unsigned char room[HEAD_MAX], uint32_t field, size_t size)
{
    room[0] = (unsigned char)(field << 3 | WIRE_BYTES);
    return (size_t)(write_number(room + 1, size) - room);
}

static void put_head(struct buf *out, uint32_t field, size_t size)
{
    unsigned char head[HEAD_MAX];

    buf_add(out, head, write_head(head, field, size));
}

void wire_put_bytes(struct buf *out, uint32_t field, const void *bytes, size_t size)
{
    put_head(out, field, size);
    buf_add(out, bytes, size);
}

void wire_put_packed(struct buf *out, uint32_t field, const uint64_t *numbers, size_t count)
{
    size_t i, size = 0;
    unsigned char *at;

    for (i = 0; i < count; i++)
        size += number_size(numbers[i]);
    if (size == 0)
        return;
    put_head(out, field, size);
    at = buf_extend(out, size);
    for (i = 0; at && i < count; i++)
        at = write_number(at, numbers[i]);
}

void wire_put_line(struct buf *out, uint32_t field, uint32_t function, int32_t line, int32_t column)
{
    size_t before = out->size;

    wire_put_number(out, LINE_FUNCTION, function);
    wire_put_number(out, LINE_LINE, (uint64_t)line);
    wire_put_number(out, LINE_COLUMN, (uint64_t)column);
    wire_wrap(out, field, before);
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

    wire_insert(out, before, head, write_head(head, field, out->size - before));
}

void wire_put_message(struct buf *out, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    unsigned char *room = buf_extend(out, size);

    if (room)
        (void)protobuf_c_message_pack(message, room);
}
