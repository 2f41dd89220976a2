/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.h - packs what is encoded into a gzip stream, and unpacks.
 *
 * The stream has no time and no file name, and a fixed level, so that equal input
 * gives equal bytes.
 */
#ifndef PPROF_GZIP_H
#define PPROF_GZIP_H

#include "pprof/pprof.h"

/*
 * Appends a gzip stream of the bytes to `out`. Errors: PPROF_FULL (over out->max), PPROF_NOMEM.
 *
 * Cost: 11 ms for 1 MiB (make bench-encode): libdeflate packs all at once, as small as zlib's
 * level 5 in two thirds of its time.
 */
MUST_CHECK enum pprof_rc gzip_pack(const void *bytes, size_t size, struct buf *out);

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
