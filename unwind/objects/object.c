/* SPDX-License-Identifier: Apache-2.0 */
/* object.c - knows str, bytes and int objects; dict.c knows dicts and attributes. */
#include "unwind/objects/object.h"

#include <string.h>

#include "base/utf8.h"

enum { KIND_MASK = 7 };

/* Appends one character. */
static void add_char(struct buf *out, uint32_t c)
{
    char utf8[UTF8_CHAR_MAX];
    size_t size = c != 0 ? utf8_encode(c, utf8) : 0;

    if (size > 0)
        buf_add(out, utf8, size);
    else
        buf_add_str(out, UTF8_REPLACEMENT);
}

/* One character of `kind` bytes. */
static uint32_t char_at(const unsigned char *data, size_t i, uint32_t kind)
{
    uint16_t two;
    uint32_t four;

    if (kind == 1)
        return data[i];
    if (kind == 2) {
        memcpy(&two, data + i * 2, sizeof(two));
        return two;
    }
    memcpy(&four, data + i * 4, sizeof(four));
    return four;
}

/* Where the characters of a str lie, and how many of them are kept. */
struct str_shape {
    uint64_t length, kept;
    uint32_t kind, data; /* bytes of a character; offset of the first */
};

static bool take_str_shape(const struct layout *l, uint64_t length, uint32_t state,
                           struct str_shape *out)
{
    *out = (struct str_shape){
        .length = length,
        .kept = length < OBJECT_TEXT_MAX ? length : OBJECT_TEXT_MAX,
        .kind = state >> l->unicode.kind_shift & KIND_MASK,
        .data = state & l->unicode.ascii ? l->unicode.ascii_data : l->unicode.compact_data,
    };
    return state & l->unicode.compact && (out->kind == 1 || out->kind == 2 || out->kind == 4) &&
           length <= INT32_MAX;
}

/* Size of a str from its length to the end of the characters that are kept. */
static uint32_t span_of(const struct layout *l, const struct str_shape *shape)
{
    return shape->data - l->unicode.length + (uint32_t)shape->kept * shape->kind;
}

/* True if all are ASCII characters, and none is NUL: they are UTF-8 as they are. */
static bool is_plain_ascii(const unsigned char *data, size_t size)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highest = ones << 7;
    uint64_t word, other = 0; /* the highest bit of each byte that is no such character */

    for (; size >= sizeof(word); size -= sizeof(word), data += sizeof(word)) {
        memcpy(&word, data, sizeof(word));
        other |= (word | (word - ones)) & highest;
    }
    for (; size > 0; size--, data++)
        other |= *data == '\0' || *data >> 7;
    return other == 0;
}

static enum cpy_rc add_text(const struct str_shape *shape, const unsigned char *data,
                            struct buf *out)
{
    if (shape->kind == 1 && is_plain_ascii(data, shape->kept))
        buf_add(out, data, shape->kept);
    else
        for (uint64_t i = 0; i < shape->kept; i++)
            add_char(out, char_at(data, i, shape->kind));
    if (shape->kept < shape->length)
        buf_add_str(out, "...");
    buf_add(out, "", 1);
    return buf_failed(out) ? CPY_NOMEM : CPY_OK;
}

enum cpy_rc object_read_str_span(const struct reader *reader, cpy_addr str, struct buf *out,
                                 uint32_t *span)
{
    const struct layout *l = reader->layout;
    unsigned char data[OBJECT_TEXT_MAX * 4];
    struct str_shape shape;
    uint64_t length;
    uint32_t state;
    struct mem_range head[] = {{str + l->unicode.length, &length, sizeof(length)},
                               {str + l->unicode.state, &state, sizeof(state)}};
    enum cpy_rc rc = mem_read_ranges(reader->mem, head, 2);

    if (rc == CPY_OK && !take_str_shape(l, length, state, &shape))
        rc = CPY_RACED;
    if (rc == CPY_OK && shape.kept > 0)
        rc = mem_read(reader->mem, str + shape.data, data, shape.kept * shape.kind);
    if (rc != CPY_OK)
        return rc;
    *span = span_of(l, &shape);
    return add_text(&shape, data, out);
}

enum cpy_rc object_read_str(const struct reader *reader, cpy_addr str, struct buf *out)
{
    uint32_t span;

    return object_read_str_span(reader, str, out, &span);
}

enum cpy_rc object_take_str(const struct layout *l, const unsigned char *bytes, uint32_t span,
                            struct buf *out)
{
    const uint32_t state_at = l->unicode.state - l->unicode.length;
    struct str_shape shape;
    uint64_t length;
    uint32_t state;

    if (span < sizeof(length) || span < state_at + sizeof(state))
        return CPY_RACED;
    memcpy(&length, bytes, sizeof(length));
    memcpy(&state, bytes + state_at, sizeof(state));
    if (!take_str_shape(l, length, state, &shape) || span_of(l, &shape) != span)
        return CPY_RACED;
    return add_text(&shape, bytes + (shape.data - l->unicode.length), out);
}

/* True if an object has the type of bytes: a large size is no accident then. */
static bool is_bytes(const struct reader *reader, cpy_addr object)
{
    cpy_addr type;

    return mem_read_word(reader->mem, object + reader->layout->object.ob_type, &type) == CPY_OK &&
           object_type_is(reader, type, "bytes");
}

enum cpy_rc object_read_bytes(const struct reader *reader, cpy_addr bytes, size_t most,
                              struct buf *out, uint64_t *size)
{
    uint64_t all, kept;
    unsigned char *room;
    enum cpy_rc rc = mem_read_word(reader->mem, bytes + reader->layout->object.ob_size, &all);

    if (rc != CPY_OK)
        return rc;
    if (all > OBJECT_BYTES_MAX && (all > INT64_MAX || !is_bytes(reader, bytes)))
        return CPY_RACED;
    *size = all;
    kept = all > OBJECT_BYTES_MAX && all > most ? most : all;
    if (kept == 0)
        return CPY_OK;
    room = buf_extend(out, kept);
    if (!room)
        return CPY_NOMEM;
    return mem_read(reader->mem, bytes + reader->layout->bytes.ob_sval, room, kept);
}

bool object_type_is(const struct reader *reader, cpy_addr type, const char *name)
{
    size_t size = strlen(name) + 1;
    char text[32];
    cpy_addr at;

    return size <= sizeof(text) &&
           mem_read_word(reader->mem, type + reader->layout->type.tp_name, &at) == CPY_OK &&
           mem_read(reader->mem, at, text, size) == CPY_OK && memcmp(text, name, size) == 0;
}

enum cpy_rc object_read_uint(const struct reader *reader, cpy_addr integer, uint64_t *out)
{
    const struct layout *l = reader->layout;
    uint32_t digits[3] = {0}; /* of 30 bits */
    uint64_t tag, count, low;
    enum cpy_rc rc = mem_read_word(reader->mem, integer + l->integer.tag, &tag);

    if (rc != CPY_OK)
        return rc;
    if (!l->integer_tag_is_count && (tag & 3) >= 2) /* 2: negative; 3: no int at all */
        return CPY_RACED;
    count = l->integer_tag_is_count ? tag : (tag & 3) == 1 ? 0 : tag >> 3;
    if (count > 3)
        return CPY_RACED;
    if (count > 0)
        rc = mem_read(reader->mem, integer + l->integer.digit, digits, count * sizeof(digits[0]));
    low = digits[0] | (uint64_t)digits[1] << 30;
    if (rc == CPY_OK && (digits[2] >> 4 != 0 || digits[0] >> 30 != 0 || digits[1] >> 30 != 0))
        return CPY_RACED;
    if (rc == CPY_OK)
        *out = low | (uint64_t)digits[2] << 60;
    return rc;
}
