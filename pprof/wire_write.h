/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_write.h - writes the parts of a protobuf message that a profile has by the thousand.
 *
 * protobuf-c looks each field up in a description of its message and each number up twice. For
 * stacks and samples, which are nearly all of a profile, that took a sixth of the whole encoding;
 * what is there once or rarely goes through protobuf-c. Field numbers are those below 16.
 *
 * Errors: `out` remembers them, as base/buf.h says.
 */
#ifndef PPROF_WIRE_WRITE_H
#define PPROF_WIRE_WRITE_H

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"

enum { WIRE_HEAD_MAX = 11 };

/* Writes what begins a field whose content of `size` bytes comes next. Gives its own size. */
size_t wire_head(unsigned char room[WIRE_HEAD_MAX], uint32_t field, size_t size);

/* How many bytes a field takes whose content has `size` bytes. */
size_t wire_nested_size(size_t size);

/* Appends a field that holds a number; none if it is 0, which is what a field that is absent has.
 */
void wire_put_number(struct buf *out, uint32_t field, uint64_t number);

/* Appends a field of packed numbers; none if there are none. */
void wire_put_packed(struct buf *out, uint32_t field, const uint64_t *numbers, size_t count);

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
