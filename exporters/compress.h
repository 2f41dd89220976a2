/* SPDX-License-Identifier: Apache-2.0 */
/* compress.h - packs the body of a request for `Content-Encoding: gzip`. */
#ifndef EXPORTERS_COMPRESS_H
#define EXPORTERS_COMPRESS_H

#include "base/buf.h"

/* Appends `bytes` as a gzip stream; equal input gives equal bytes. False: `out` is full, or no
 * memory. */
MUST_CHECK bool compress_gzip(const void *bytes, size_t size, struct buf *out);

#endif
