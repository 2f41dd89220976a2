/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf_wire.h - reads and writes protobuf messages field by field.
 *
 * Reading: for messages from anywhere. Steps through the fields without unpacking the message: no
 * byte outside of it is read, nothing is allocated, and each step takes at least one byte.
 *
 *     struct wire wire = {bytes, bytes + size};
 *     while (wire_next(&wire, &field) == WIRE_FIELD)
 *
 * A whole profile is read like that, and each of its samples, locations and functions then unpacked
 * by protobuf-c (pprof/decode_parts.c). Replies of servers, which may be cut off, and what other
 * processes have in their memory are read here alone.
 *
 * Writing: a message is packed by protobuf-c, or written field by field here; no function does
 * both. protobuf-c looks each field up in a description of its message and measures each number
 * twice: for stacks and samples, nearly all of a profile, that took a sixth of the encoding.
 *   - Here: what a profile has by the thousand. Samples, labels, stacks, locations, lines and
 *     functions (pprof/encode.c, pprof/otlp.c, pprof/otlp_dictionary.c), deltas (pprof/feed.c).
 *   - By protobuf-c, appended with wire_put_message: all else, which is there once or costs it
 *     little. Types, comments and the string table of a profile, OTLP resources, attributes and
 *     links, Pyroscope's PushRequest (exporters/push.c).
 * Field numbers are those below 16.
 *
 * Errors: `out` remembers them, as base/buf.h says.
 */
#ifndef BASE_PROTOBUF_WIRE_H
#define BASE_PROTOBUF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

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

/*
 * WIRE_BROKEN: what is there is no protobuf message. WIRE_CUT: it ends within a field of
 * WIRE_BYTES, which has the bytes that are there.
 */
enum wire_step { WIRE_FIELD, WIRE_END, WIRE_BROKEN, WIRE_CUT };

/* Reads a bare number. False: it is cut off or has over 64 bits. */
bool wire_varint(struct wire *wire, uint64_t *out);

/* Reads one field. WIRE_END is next after WIRE_CUT. */
enum wire_step wire_next(struct wire *wire, struct wire_field *out);

/* How many bytes a field takes whose content has `size` bytes. */
size_t wire_nested_size(size_t size);

/* Appends a bare number. */
void wire_put_varint(struct buf *out, uint64_t number);

/* Appends a field that holds a number; none if it is 0, the value of an absent field. */
void wire_put_number(struct buf *out, uint32_t field, uint64_t number);

/* Appends a field that holds bytes or a message, also if it has none. */
void wire_put_bytes(struct buf *out, uint32_t field, const void *bytes, size_t size);

/* Appends a field of packed numbers; none if there are none. */
void wire_put_packed(struct buf *out, uint32_t field, const uint64_t *numbers, size_t count);

/*
 * Makes what was appended since `out` had `before` bytes the content of a field: a
 * message begins with its length, which is known at its end only.
 */
void wire_wrap(struct buf *out, uint32_t field, size_t before);

/* Puts bytes before those that were appended since `out` had `before` bytes. */
void wire_insert(struct buf *out, size_t before, const void *bytes, size_t size);

struct ProtobufCMessage;

/* Appends the fields of a message as protobuf-c packs it. */
void wire_put_message(struct buf *out, const struct ProtobufCMessage *message);

#endif
