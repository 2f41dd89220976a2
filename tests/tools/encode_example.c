/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode_example.c - writes the example profile of the unit tests to a file, for
 * other tools to read: encode_example FILE [TYPES], TYPES being a bit a value type.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/pprof/example.h"

static enum pprof_rc encode(uint32_t types, struct buf *out)
{
    struct pprof_meta meta = example_meta;
    struct pprof *p;
    enum pprof_rc rc = pprof_new(example_types, EXAMPLE_TYPES, 1 << 20, &p);

    if (rc != PPROF_OK)
        return rc;
    meta.types = types;
    rc = example_fill(p, "012");
    if (rc == PPROF_OK)
        rc = pprof_encode(p, &meta, out);
    pprof_free(p);
    return rc;
}

static int write_file(const char *path, const struct buf *bytes)
{
    FILE *file = fopen(path, "wbe");
    size_t written;

    if (!file) {
        perror(path);
        return 1;
    }
    written = fwrite(bytes->data, 1, bytes->size, file);
    if (fclose(file) != 0 || written != bytes->size) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct buf out;
    enum pprof_rc rc;
    int status = 1;

    if (argc < 2 || argc > 3) {
        (void)fprintf(stderr, "usage: encode_example FILE [TYPES]\n");
        return 64;
    }
    buf_init(&out, 1 << 20);
    rc = encode(argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 0) : 0, &out);
    if (rc == PPROF_OK)
        status = write_file(argv[1], &out);
    else
        (void)fprintf(stderr, "encode_example: %s\n", pprof_rc_text(rc));
    buf_finish(&out);
    return status;
}
