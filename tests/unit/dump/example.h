/* SPDX-License-Identifier: Apache-2.0 */
/* example.h - a dump made by hand, and a way to look at how it is shown. */
#ifndef TESTS_UNIT_DUMP_EXAMPLE_H
#define TESTS_UNIT_DUMP_EXAMPLE_H

#include <string.h>

#include "agent/dump/dump.h"
#include "tests/unit/unit_test.h"

enum { EXAMPLE_TEXT_MAX = 65536 };

static const struct cpy_code example_price = {1, "Shop.price", "/srv/shop.py", 12};
static const struct cpy_code example_module = {2, "<module>", "/srv/shop.py", 1};
static const struct cpy_code example_native = {3, "<native>", "~", 0};

static const struct cpy_frame example_frames[] = {
    {.code = &example_price, .line = 17},
    {.code = &example_native},
    {.code = &example_module, .line = 40},
};

#define EXAMPLE_FRAMES(array) .depth = sizeof(array) / sizeof((array)[0]), .frames = (array)

/* Two threads of the main interpreter, one of another. */
static const struct cpy_thread example_threads[] = {
    {.tid = 4242,
     .name = "MainThread",
     .status = CPY_STATUS_MAIN | CPY_STATUS_GIL | CPY_STATUS_CPU,
     EXAMPLE_FRAMES(example_frames)},
    {.tid = 4243, .status = CPY_STATUS_GIL_WAIT, .torn = true},
    {.interpreter = 3,
     .name = "Wörker",
     .status = CPY_STATUS_EXCEPTION | CPY_STATUS_GC,
     .cut = true,
     .depth = 1,
     .frames = &example_frames[2]},
};

/* The dump of these threads. */
static inline struct dump example_dump(const struct cpy_thread *threads, size_t count)
{
    return (struct dump){.pid = 4242,
                         .command = "python3 shop.py",
                         .python = "3.15.2",
                         .taken_unix_ns = 1760000000000000000,
                         .threads = threads,
                         .thread_count = count};
}

/* Shows a dump. Lends the text until the next call. */
static inline const char *example_show(const struct dump *dump,
                                       void (*how)(const struct dump *, struct buf *))
{
    static char text[EXAMPLE_TEXT_MAX];
    struct buf out;

    buf_init(&out, sizeof(text) - 1);
    how(dump, &out);
    assert_false(buf_failed(&out));
    memcpy(text, out.data, out.size);
    text[out.size] = '\0';
    buf_finish(&out);
    return text;
}

#endif
