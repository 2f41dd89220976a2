/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - see wire.h. */
#include "pprof/wire.h"

enum { FIELD_NUMBER_MAX = 0x1fffffff };

bool wire_varint(struct wire *wire, uint64_t *out)
{
    uint64_t value = 0;
    unsigned int shift;
    uint8_t byte;

    for (shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
        byte = *wire->at++;
        if (shift == 63 && byte > 1)
            return false; /* over 64 bits */
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool take_field_bytes(struct wire *wire, uint64_t size, struct wire_field *out)
{
    if (size > (uint64_t)(wire->end - wire->at))
        return false;
    out->bytes = wire->at;
    out->size = (size_t)size;
    wire->at += size;
    return true;
}

static bool read_content(struct wire *wire, uint64_t type, struct wire_field *out)
{
    uint64_t size;

    out->type = (enum wire_type)type;
    switch (type) {
    case WIRE_VARINT:
        return wire_varint(wire, &out->value);
    case WIRE_FIXED64:
        return take_field_bytes(wire, 8, out);
    case WIRE_FIXED32:
        return take_field_bytes(wire, 4, out);
    case WIRE_BYTES:
        return wire_varint(wire, &size) && take_field_bytes(wire, size, out);
    default: /* groups: no profile has them */
        return false;
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
    return read_content(wire, tag & 7, out) ? WIRE_FIELD : WIRE_BROKEN;
}
