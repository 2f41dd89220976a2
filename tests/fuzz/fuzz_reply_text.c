/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_reply_text.c - what a server says becomes one line of valid, printable UTF-8 in its room. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "exporters/http/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_line(const char *text, size_t size)
{
    uint32_t c;

    while (size > 0) {
        size_t step = utf8_decode(text, size, &c);

        require(step > 0 && step <= size);
        require(c >= 0x20 && (c < 0x7f || c >= 0xa0));
        text += step;
        size -= step;
    }
}

static void check_copy(const uint8_t *data, size_t size, size_t max)
{
    char in[1025], out[1025];
    uint32_t c;

    size = size < sizeof(in) ? size : sizeof(in) - 1;
    max = max < sizeof(out) ? max : sizeof(out) - 1;
    memcpy(in, data, size);
    in[size] = '\0';
    text_utf8_copy(in, max, out);
    require(strlen(out) <= max && strlen(out) <= strlen(in));
    for (size_t at = 0, step; out[at]; at += step) {
        step = utf8_decode(out + at, UTF8_CHAR_MAX, &c);
        require(step > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t room, used;
    char *out;

    if (size == 0)
        return 0;
    room = (size_t)data[0] * 4;
    out = malloc(room + 1); /* exact, so that a sanitizer sees one byte too many */
    require(out != NULL);
    used = text_printable(data + 1, size - 1, out, room);
    require(room == 0 ? used == 0 : used < room && out[used] == '\0' && strlen(out) == used);
    check_line(out, used);
    free(out);
    check_copy(data + 1, size - 1, room);
    return 0;
}
