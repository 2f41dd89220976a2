/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_pprof_decode.c - any bytes are either refused or a profile, and what is once
 * understood and written comes back as the same bytes ever after.
 */
#include <stdlib.h>
#include <string.h>

#include "pprof/pprof.h"

enum { BUDGET = 1 << 20, FILE_MAX = 4 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Makes a failed promise a crash. */
static void must(bool held)
{
    if (!held)
        abort();
}

static void encode(const struct pprof *profile, struct buf *out)
{
    const struct pprof_meta meta = {.time_ns = 1, .duration_ns = 2, .period = 3};

    must(pprof_encode(profile, &meta, out) == PPROF_OK);
}

static void check_top(const struct pprof *profile)
{
    struct pprof_top *top;
    size_t i, count;

    if (pprof_top(profile, 0, &top, &count) != PPROF_OK)
        return; /* there are no types */
    for (i = 0; i < count; i++)
        must(top[i].name && top[i].file && (top[i].flat || top[i].cum));
    free(top);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct pprof_decoded first = {0}, again = {0};
    struct err err = {""};
    struct buf a, b;

    if (pprof_decode(bytes, size, BUDGET, &first, &err) != PPROF_OK) {
        must(err.text[0] != '\0' && !first.profile);
        return 0;
    }
    buf_init(&a, FILE_MAX);
    buf_init(&b, FILE_MAX);
    check_top(first.profile);
    encode(first.profile, &a);
    must(pprof_decode(a.data, a.size, 2 * FILE_MAX, &again, &err) == PPROF_OK);
    encode(again.profile, &b);
    must(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
    pprof_free(first.profile);
    pprof_free(again.profile);
    buf_finish(&a);
    buf_finish(&b);
    return 0;
}
