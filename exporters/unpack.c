/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c - see unpack.h. */
#include "exporters/unpack.h"

#include <limits.h>
#include <zlib.h>

enum { GZIP_WRAP = 16, CHUNK = 16384 };

enum exporter_rc unpack_gzip(const void *bytes, size_t size, struct buf *out)
{
    unsigned char chunk[CHUNK];
    z_stream stream = {0};
    int z = Z_OK;

    if (size > UINT_MAX)
        return EXPORTER_REFUSED;
    if (inflateInit2(&stream, GZIP_WRAP + MAX_WBITS) != Z_OK)
        return EXPORTER_NOMEM;
    stream.next_in = (Bytef *)(uintptr_t)bytes; /* zlib does not write there */
    stream.avail_in = (uInt)size;
    while (z == Z_OK && !buf_failed(out)) {
        stream.next_out = chunk;
        stream.avail_out = sizeof(chunk);
        z = inflate(&stream, Z_NO_FLUSH);
        buf_add(out, chunk, sizeof(chunk) - stream.avail_out);
    }
    (void)inflateEnd(&stream);
    if (buf_failed(out) || z == Z_MEM_ERROR)
        return EXPORTER_NOMEM;
    return z == Z_STREAM_END && stream.avail_in == 0 ? EXPORTER_OK : EXPORTER_REFUSED;
}
