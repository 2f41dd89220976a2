/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.h - unpacks a request for a server that is to be sent plain bodies. */
#ifndef EXPORTERS_UNPACK_H
#define EXPORTERS_UNPACK_H

#include "base/buf.h"
#include "exporters/exporter.h"

/*
 * Appends what a gzip stream of one member holds.
 *
 * Errors: EXPORTER_REFUSED (cut off, damaged), EXPORTER_NOMEM (or `out` is full).
 */
MUST_CHECK enum exporter_rc unpack_gzip(const void *bytes, size_t size, struct buf *out);

#endif
