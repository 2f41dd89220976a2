/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_formats.c - whatever a pprof file holds, each format is written whole or says why not, and
 * no name of it gets out of its place.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"

enum { BUDGET = 1 << 20, OUTPUT_MAX = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Makes a failed promise a crash. */
static void must(bool held)
{
    if (!held)
        abort();
}

static size_t count_of(const struct buf *out, const char *what)
{
    size_t i, size = strlen(what), count = 0;

    for (i = 0; out->size >= size && i <= out->size - size; i++)
        count += memcmp(out->data + i, what, size) == 0;
    return count;
}

/* What no name may add to an output. */
static void check_output(const struct format *format, const struct buf *out)
{
    bool page = strcmp(format->name, "flame") == 0 || strcmp(format->name, "heatmap") == 0;

    must(!page || count_of(out, "</script>") == 2);
    if (page || strcmp(format->name, "pprof") == 0 || strcmp(format->name, "pstats") == 0)
        return;
    must(out->size == 0 || !memchr(out->data, 0x1b, out->size));
    must(out->size == 0 || !memchr(out->data, 0, out->size));
}

static bool give_source(void *ctx, const char *file, struct buf *out)
{
    (void)ctx;
    buf_add_str(out, file);
    buf_add_str(out, "\n\xff</script>\r\nx = 1");
    return true;
}

static void write_all(const struct pprof_decoded *file, const struct pprof_stacks *stacks)
{
    struct format_view view = {.profile = file->profile,
                               .stacks = stacks,
                               .base = FORMAT_NO_BASE,
                               .title = "title",
                               .time_ns = file->time_ns,
                               .duration_ns = file->duration_ns,
                               .period = file->period,
                               .made_by = "fuzz",
                               .source = give_source};
    const struct format *format;
    enum pprof_rc rc;
    struct buf out;
    size_t i;

    for (i = 0; (format = format_at(i)); i++) {
        view.type = file->type_count - 1;
        view.base = format->differs && file->type_count > 1 ? 0 : FORMAT_NO_BASE;
        buf_init(&out, OUTPUT_MAX);
        rc = format->write(&view, &out);
        must(rc == PPROF_OK || rc == PPROF_FULL);
        if (rc == PPROF_OK)
            check_output(format, &out);
        buf_finish(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct pprof_decoded file = {0};
    struct pprof_stacks *stacks;
    struct err err = {""};

    if (pprof_decode(bytes, size, BUDGET, &file, &err) != PPROF_OK)
        return 0;
    must(pprof_stacks_new(file.profile, &stacks) == PPROF_OK);
    if (file.type_count > 0)
        write_all(&file, stacks);
    pprof_stacks_free(stacks);
    pprof_free(file.profile);
    return 0;
}
