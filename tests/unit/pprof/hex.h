/* SPDX-License-Identifier: Apache-2.0 */
/* hex.h - reads the encoded profiles that are kept as hexadecimal text. */
#ifndef TESTS_UNIT_PPROF_HEX_H
#define TESTS_UNIT_PPROF_HEX_H

#include <stdio.h>

#include "base/buf.h"

#define GOLDEN_PPROF "tests/golden/pprof/profile.pb.hex" /* from the top of the tree */

/* Appends the bytes of a file of pairs of hexadecimal digits. False: no such file. */
static inline bool read_hex(const char *path, struct buf *out)
{
    FILE *file = fopen(path, "re");
    unsigned int byte;
    unsigned char octet;

    if (!file)
        return false;
    while (fscanf(file, "%2x", &byte) == 1) {
        octet = (unsigned char)byte;
        buf_add(out, &octet, 1);
    }
    (void)fclose(file);
    return !buf_failed(out) && out->size > 0;
}

#endif
