/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_check.c - says of files, each an OTLP profiles request (plain or gzip'd), whether
 * they keep the rules of otlp_check.h: otlp_check FILE... Exits with 1 if one does not.
 */
#include <stdio.h>

#include "pprof/gzip.h"
#include "tests/tools/otlp_check.h"

enum { FILE_MAX = 256 << 20, CHUNK = 65536 };

static bool read_file(const char *path, struct buf *out)
{
    FILE *file = fopen(path, "rbe");
    unsigned char *room;
    size_t got = CHUNK;

    if (!file)
        return false;
    while (got == CHUNK && (room = buf_extend(out, CHUNK))) {
        got = fread(room, 1, CHUNK, file);
        out->size -= CHUNK - got;
    }
    (void)fclose(file);
    return !buf_failed(out);
}

static bool check_file(const char *path, struct err *err)
{
    struct buf file, plain;
    bool good = false;

    buf_init(&file, FILE_MAX);
    buf_init(&plain, FILE_MAX);
    if (!read_file(path, &file))
        err_set(err, "cannot be read");
    else if (!gzip_is(file.data, file.size))
        good = otlp_check_bytes(file.data, file.size, err);
    else if (gzip_unpack(file.data, file.size, &plain, err) == PPROF_OK)
        good = otlp_check_bytes(plain.data, plain.size, err);
    buf_finish(&file);
    buf_finish(&plain);
    return good;
}

int main(int argc, char **argv)
{
    struct err err;
    int i, status = 0;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: otlp_check FILE...\n");
        return 64;
    }
    for (i = 1; i < argc; i++) {
        err.text[0] = '\0';
        if (check_file(argv[i], &err))
            continue;
        (void)fprintf(stderr, "otlp_check: %s: %s\n", argv[i], err.text);
        status = 1;
    }
    return status;
}
