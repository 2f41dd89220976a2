/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_write.h - writes the parts of a protobuf message that a profile has by the thousand.
 *
 * protobuf-c looks each field up in a description of its message and each number up twice. For
 * stacks and samples, which are nearly all of a profile, that took a sixth of the whole encoding,
 * for locations and functions another twentieth; what is there once goes through protobuf-c. Field
 * numbers are those below 16.
 *
 * Errors: `out` remembers them, as base/buf.h says.
 */
#ifndef PPROF_WIRE_WRITE_H
#define PPROF_WIRE_WRITE_H

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"

/* How many bytes a field takes whose content has `size` bytes. */
size_t wire_nested_size(size_t size);

/* Appends a field that holds a number; none if it is 0, which is what a field that is absent has.
 */
void wire_put_number(struct buf *out, uint32_t field, uint64_t number);

/* Appends a field that holds bytes or a message, also if it has none. */
void wire_put_bytes(struct buf *out, uint32_t field, const void *bytes, size_t size);

/* Appends a field of packed numbers; none if there are none. */
void wire_put_packed(struct buf *out, uint32_t field, const uint64_t *numbers, size_t count);

/* Appends a Line, which says where in a function a location is; the same one in pprof and OTLP. */
void wire_put_line(struct buf *out, uint32_t field, uint32_t function, int32_t line,
                   int32_t column);

/*
 * Makes what was appended since `out` had `before` bytes the content of a field: a
 * message begins with its length, which is known at its end only.
 */
void wire_wrap(struct buf *out, uint32_t field, size_t before);

/* Puts bytes before those that were appended since `out` had `before` bytes. */
void wire_insert(struct buf *out, size_t before, const void *bytes, size_t size);

/* Appends a message's fields. */
void wire_put_message(struct buf *out, const ProtobufCMessage *message);

#endif
