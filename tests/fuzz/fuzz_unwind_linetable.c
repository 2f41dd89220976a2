/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_unwind_linetable.c - any bytes as a line table: a line or none for every code unit. */
#include <stdlib.h>
#include <string.h>

#include <stdbool.h>

#include "unwind/linetable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* The first four bytes are the first line, the next two a code unit; the rest is the table. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int32_t first, index;
    uint16_t unit;

    if (size < 6)
        return 0;
    memcpy(&first, data, sizeof(first));
    memcpy(&unit, data + 4, sizeof(unit));
    data += 6;
    size -= 6;
    require(linetable_line(LINES_3_11, data, size, first, -1) == first);
    require(linetable_line(LINES_3_11, data, size, first, unit) >= 0);
    require(linetable_line(LINES_3_11, data, size, first, INT32_MAX) == 0);
    for (index = 0; index < 64; index++)
        require(linetable_line(LINES_3_11, data, size, first, index) >= 0);
    /* Each byte stands for 8 units at most. */
    if (size < INT32_MAX / 8)
        require(linetable_line(LINES_3_11, data, size, first, (int32_t)size * 8) == 0);
    return 0;
}
