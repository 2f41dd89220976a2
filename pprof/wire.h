/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - steps through the fields of a protobuf message without unpacking it.
 *
 * Shape: struct wire w = {bytes, bytes + size}; while (wire_next(&w, &f) == WIRE_FIELD).
 */
#ifndef PPROF_WIRE_H
#define PPROF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {
    const uint8_t *at; /* borrowed */
    const uint8_t *end;
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;       /* of a WIRE_VARINT */
    const uint8_t *bytes; /* of the others; borrowed */
    size_t size;
};

enum wire_step { WIRE_FIELD, WIRE_END, WIRE_BROKEN };

/* Reads a bare number. False: it is cut off or has over 64 bits. */
bool wire_varint(struct wire *wire, uint64_t *out);

/* Reads one field. WIRE_BROKEN: what is there is no protobuf message. */
enum wire_step wire_next(struct wire *wire, struct wire_field *out);

#endif
