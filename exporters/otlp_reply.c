/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_reply.c - see otlp_reply.h. */
#include "exporters/otlp_reply.h"

#include "base/protobuf_wire.h"

/* Reads a field of one of the two types that these messages have; the last may be cut. */
static bool next_reply_field(struct wire *wire, struct wire_field *out)
{
    enum wire_step step = wire_next(wire, out);

    return (step == WIRE_FIELD || step == WIRE_CUT) &&
           (out->type == WIRE_VARINT || out->type == WIRE_BYTES);
}

static bool is_reply_field(const struct wire_field *field, uint32_t number, enum wire_type type)
{
    return field->number == number && field->type == type;
}

static void take_reply_words(const struct wire_field *field, struct otlp_reply *out)
{
    out->words = field->bytes;
    out->words_size = field->size;
}

static void read_partial_success(const struct wire_field *message, struct otlp_reply *out)
{
    struct wire wire = {message->bytes, message->bytes + message->size};
    struct wire_field field;

    while (next_reply_field(&wire, &field)) {
        if (is_reply_field(&field, 1, WIRE_VARINT))
            out->rejected = field.value <= INT64_MAX ? field.value : 0; /* a negative number */
        else if (is_reply_field(&field, 2, WIRE_BYTES))
            take_reply_words(&field, out);
    }
}

void otlp_reply_success(const void *body, size_t size, struct otlp_reply *out)
{
    struct wire wire = {body, (const uint8_t *)body + size};
    struct wire_field field;

    *out = (struct otlp_reply){0};
    while (next_reply_field(&wire, &field)) {
        if (is_reply_field(&field, 1, WIRE_BYTES))
            read_partial_success(&field, out);
    }
}

bool otlp_reply_status(const void *body, size_t size, struct otlp_reply *out)
{
    struct wire wire = {body, (const uint8_t *)body + size};
    struct wire_field field;

    *out = (struct otlp_reply){0};
    while (next_reply_field(&wire, &field)) {
        if (is_reply_field(&field, 2, WIRE_BYTES))
            take_reply_words(&field, out);
        else if (!is_reply_field(&field, 1, WIRE_VARINT) && !is_reply_field(&field, 3, WIRE_BYTES))
            return false; /* a text: its letters are no such fields */
    }
    return out->words != NULL;
}
