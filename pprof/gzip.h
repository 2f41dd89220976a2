/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.h - packs and unpacks gzip.
 *
 * Equal input gives equal bytes: a stream has no time, no file name and a fixed level.
 */
#ifndef PPROF_GZIP_H
#define PPROF_GZIP_H

#include "pprof/pprof.h"

/*
 * Appends the bytes as a gzip stream to `out`.
 *
 * Errors: PPROF_FULL (over out->max), PPROF_NOMEM.
 * Cost:   11 ms for 1 MiB (make bench-encode). libdeflate needs all input at once; its result is as
 *         small as that of zlib's level 5, in two thirds of the time.
 */
MUST_CHECK enum pprof_rc gzip_pack(const void *bytes, size_t size, struct buf *out);

/* True if the bytes begin with gzip's magic number. */
bool gzip_is(const void *bytes, size_t size);

/*
 * Appends the content of a gzip stream of one member to `out`.
 *
 * Errors: PPROF_BAD (cut off, damaged, bytes after its end), PPROF_FULL (over out->max, or `size`
 *         over 4 GiB): both set `err`; PPROF_NOMEM.
 */
MUST_CHECK enum pprof_rc gzip_unpack(const void *bytes, size_t size, struct buf *out,
                                     struct err *err);

#endif
