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

enum cpy_rc object_read_str(const struct reader *reader, cpy_addr str, struct buf *out)
{
    const struct layout *l = reader->layout;
    unsigned char data[OBJECT_TEXT_MAX * 4];
    uint64_t length, i, read_length;
    uint32_t state, kind;
    struct mem_range head[] = {{str + l->unicode.length, &length, sizeof(length)},
                               {str + l->unicode.state, &state, sizeof(state)}};
    enum cpy_rc rc = mem_read_ranges(reader->mem, head, 2);

    if (rc != CPY_OK)
        return rc;
    kind = state >> l->unicode.kind_shift & KIND_MASK;
    if (!(state & l->unicode.compact) || (kind != 1 && kind != 2 && kind != 4) ||
        length > INT32_MAX)
        return CPY_RACED;
    read_length = length < OBJECT_TEXT_MAX ? length : OBJECT_TEXT_MAX;
    str += state & l->unicode.ascii ? l->unicode.ascii_data : l->unicode.compact_data;
    if (read_length > 0)
        rc = mem_read(reader->mem, str, data, read_length * kind);
    if (rc != CPY_OK)
        return rc;
    for (i = 0; i < read_length; i++)
        add_char(out, char_at(data, i, kind));
    if (read_length < length)
        buf_add_str(out, "...");
    buf_add(out, "", 1);
    return buf_failed(out) ? CPY_NOMEM : CPY_OK;
}

enum cpy_rc object_read_bytes(const struct reader *reader, cpy_addr bytes, struct buf *out)
{
    uint64_t size;
    unsigned char *room;
    enum cpy_rc rc = mem_read_word(reader->mem, bytes + reader->layout->object.ob_size, &size);

    if (rc != CPY_OK || size == 0)
        return rc;
    if (size > OBJECT_BYTES_MAX)
        return CPY_RACED;
    room = buf_extend(out, size);
    if (!room)
        return CPY_NOMEM;
    return mem_read(reader->mem, bytes + reader->layout->bytes.ob_sval, room, size);
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
