/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_reply.c - see otlp_reply.h. */
#include "exporters/otlp_reply.h"

enum { VARINT = 0, BYTES = 2 };

struct cursor {
    const unsigned char *at, *end;
};

struct field {
    uint64_t tag;   /* number << 3 | type */
    uint64_t value; /* of a VARINT */
    const unsigned char *bytes;
    size_t size; /* of BYTES, as far as they are there */
};

static bool read_reply_varint(struct cursor *c, uint64_t *out)
{
    uint64_t value = 0;
    unsigned shift;

    for (shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        value |= (uint64_t)(*c->at & 0x7f) << shift;
        if (!(*c->at++ & 0x80)) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* Reads a field of one of the two types that these messages have; the last may be cut. */
static bool read_reply_field(struct cursor *c, struct field *out)
{
    uint64_t size;

    *out = (struct field){0};
    if (!read_reply_varint(c, &out->tag))
        return false;
    if ((out->tag & 7) == VARINT)
        return read_reply_varint(c, &out->value);
    if ((out->tag & 7) != BYTES || !read_reply_varint(c, &size))
        return false;
    out->bytes = c->at;
    out->size = size < (size_t)(c->end - c->at) ? (size_t)size : (size_t)(c->end - c->at);
    c->at += out->size;
    return true;
}

static void read_partial_success(const struct field *message, struct otlp_reply *out)
{
    struct cursor c = {message->bytes, message->bytes + message->size};
    struct field field;

    while (read_reply_field(&c, &field)) {
        if (field.tag == (1 << 3 | VARINT))
            out->rejected = field.value <= INT64_MAX ? field.value : 0; /* a negative number */
        else if (field.tag == (2 << 3 | BYTES)) {
            out->words = field.bytes;
            out->words_size = field.size;
        }
    }
}

void otlp_reply_success(const void *body, size_t size, struct otlp_reply *out)
{
    struct cursor c = {body, (const unsigned char *)body + size};
    struct field field;

    *out = (struct otlp_reply){0};
    while (read_reply_field(&c, &field)) {
        if (field.tag == (1 << 3 | BYTES))
            read_partial_success(&field, out);
    }
}

bool otlp_reply_status(const void *body, size_t size, struct otlp_reply *out)
{
    struct cursor c = {body, (const unsigned char *)body + size};
    struct field field;

    *out = (struct otlp_reply){0};
    while (c.at < c.end) {
        if (!read_reply_field(&c, &field))
            break;
        if (field.tag == (2 << 3 | BYTES)) {
            out->words = field.bytes;
            out->words_size = field.size;
        } else if (field.tag != (1 << 3 | VARINT) && field.tag != (3 << 3 | BYTES)) {
            return false; /* a text: its letters are no such fields */
        }
    }
    return out->words != NULL;
}
