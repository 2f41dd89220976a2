/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.h - packs what is encoded into a gzip stream as it comes, and unpacks.
 *
 * The stream has no time and no file name, and a fixed level, so that equal input
 * gives equal bytes.
 */
#ifndef PPROF_GZIP_H
#define PPROF_GZIP_H

#include <protobuf-c/protobuf-c.h>
#include <zlib.h>

#include "pprof/pprof.h"

enum { GZIP_STAGE = 16384 };

/* Where messages are packed to: give &packer.base to protobuf_c_message_pack_to_buffer. */
struct gzip_packer {
    ProtobufCBuffer base;
    z_stream stream;
    struct buf *out; /* borrowed */
    enum pprof_rc rc;
    size_t plain; /* bytes before packing */
    size_t staged;
    unsigned char stage[GZIP_STAGE]; /* protobuf-c appends a few bytes at a time */
};

/* Begins a stream that goes to the end of `out`. Errors: PPROF_NOMEM. */
MUST_CHECK enum pprof_rc gzip_begin(struct gzip_packer *packer, struct buf *out);

/* Appends to what is packed. */
void gzip_add(struct gzip_packer *packer, const void *bytes, size_t size);

/* Ends the stream. Errors, of anything since the beginning: PPROF_FULL, PPROF_NOMEM. */
MUST_CHECK enum pprof_rc gzip_end(struct gzip_packer *packer);

/* True if the bytes begin as a gzip file does. */
bool gzip_is(const void *bytes, size_t size);

/*
 * Appends what a gzip file of one member holds to `out`.
 *
 * Errors: PPROF_BAD (cut, damaged, bytes after its end), PPROF_FULL, PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc gzip_unpack(const void *bytes, size_t size, struct buf *out,
                                     struct err *err);

#endif
