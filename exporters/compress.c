/* SPDX-License-Identifier: Apache-2.0 */
/* compress.c - see compress.h. */
#include "exporters/compress.h"

#include <limits.h>
#include <zlib.h>

enum {
    LEVEL = 1, /* as the pprofs are packed: 6 takes 4 times as long for a tenth less */
    GZIP_WRAP = 16,
    MEMORY = 8,
    CHUNK = 16384
};

bool compress_gzip(const void *bytes, size_t size, struct buf *out)
{
    unsigned char chunk[CHUNK];
    z_stream stream = {0};

    if (size > UINT_MAX || deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_WRAP + MAX_WBITS, MEMORY,
                                        Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    stream.next_in = (Bytef *)(uintptr_t)bytes; /* zlib does not write there */
    stream.avail_in = (uInt)size;
    do {
        stream.next_out = chunk;
        stream.avail_out = sizeof(chunk);
        (void)deflate(&stream, Z_FINISH); /* cannot fail on a stream that was begun */
        buf_add(out, chunk, sizeof(chunk) - stream.avail_out);
    } while (stream.avail_out == 0 && !buf_failed(out));
    (void)deflateEnd(&stream);
    return !buf_failed(out);
}
