/* SPDX-License-Identifier: Apache-2.0 */
/* percent.c - see percent.h. */
#include "base/percent.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int percent_byte(const char *text, size_t size)
{
    if (size < PERCENT_SIZE || text[0] != '%' || hex_digit(text[1]) < 0 || hex_digit(text[2]) < 0)
        return -1;
    return hex_digit(text[1]) << 4 | hex_digit(text[2]);
}
