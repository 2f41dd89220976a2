/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.h - unpacks gzip: requests for servers that want plain bodies, and replies of gRPC. */
#ifndef EXPORTERS_UNPACK_H
#define EXPORTERS_UNPACK_H

#include "base/buf.h"
#include "exporters/exporter.h"

/*
 * Appends the content of a gzip stream of one member.
 *
 * Errors: EXPORTER_REFUSED (cut off, damaged, bytes after it), EXPORTER_NOMEM (or `out` is full).
 */
MUST_CHECK enum exporter_rc unpack_gzip(const void *bytes, size_t size, struct buf *out);

#endif
