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
 * The top level of a profile is read like this; protobuf-c then unpacks each sample, location and
 * function (pprof/decode_parts.c). Messages that may be cut off (replies of servers) or that lie in
 * the memory of other processes are read by these functions alone.
 *
 * Writing: a message is packed by protobuf-c, or written field by field here; no function does
 * both. protobuf-c looks each field up in a description of its message and measures each number
 * twice: for stacks and samples, nearly all of a profile, that took a sixth of the encoding time.
 *   - Here: what a profile has by the thousand. Samples, labels, stacks, locations, lines and
 *     functions (pprof/encode.c, pprof/otlp.c, pprof/otlp_dictionary.c), deltas (pprof/feed.c).
 *   - By protobuf-c, appended with wire_put_message: all else, which is there once or costs
 *     little. Types, comments and the string table of a profile, OTLP resources, attributes and
 *     links, Pyroscope's PushRequest (exporters/push.c).
 * The field numbers that are written must be below 16, because a tag is one byte here.
 *
 * Errors: a write that fails sets out->failed, as base/buf.h says.
 */
#ifndef BASE_PROTOBUF_WIRE_H
#define BASE_PROTOBUF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct wire {
    const uint8_t *at;  /* borrowed: the next byte to read */
    const uint8_t *end; /* behind the last byte */
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;       /* WIRE_VARINT: the number; else 0 */
    const uint8_t *bytes; /* other types: the content, borrowed; fixed ones are little-endian */
    size_t size;          /* bytes of the content */
};

/*
 * WIRE_BROKEN: the bytes are no protobuf message. WIRE_CUT: the message ends within a field of type
 * WIRE_BYTES; the field has the bytes up to there.
 */
enum wire_step { WIRE_FIELD, WIRE_END, WIRE_BROKEN, WIRE_CUT };

/* Reads a varint without a tag. False: it is cut off or has over 64 bits. */
bool wire_varint(struct wire *wire, uint64_t *out);

/* Reads one field. WIRE_END is next after WIRE_CUT. */
enum wire_step wire_next(struct wire *wire, struct wire_field *out);

/* Gives the bytes of a WIRE_BYTES field, tag and length included, with `size` bytes of content. */
size_t wire_nested_size(size_t size);

/* Appends a varint without a tag. */
void wire_put_varint(struct buf *out, uint64_t number);

/* Appends a varint field; nothing if `number` is 0, the value of an absent field. */
void wire_put_number(struct buf *out, uint32_t field, uint64_t number);

/* Appends a field that holds bytes or a message, even if `size` is 0. */
void wire_put_bytes(struct buf *out, uint32_t field, const void *bytes, size_t size);

/* Appends a field of packed varints; nothing if `count` is 0. */
void wire_put_packed(struct buf *out, uint32_t field, const uint64_t *numbers, size_t count);

/*
 * Turns the bytes from offset `before` to the end of `out` into the content of a field. The length
 * goes in front of a message but is known only at its end.
 */
void wire_wrap(struct buf *out, uint32_t field, size_t before);

/* Inserts bytes at offset `before` of `out`. */
void wire_insert(struct buf *out, size_t before, const void *bytes, size_t size);

struct ProtobufCMessage;

/* Appends the fields of a message as protobuf-c packs it. */
void wire_put_message(struct buf *out, const struct ProtobufCMessage *message);

#endif
