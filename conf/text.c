/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. */
#include "conf/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The first byte of a UTF-8 sequence: its length, and the smallest character that needs it. */
struct lead {
    unsigned char mask, bits;
    unsigned size;
    unsigned long least;
};

static const struct lead leads[] = {
    {0x80, 0x00, 1, 0},
    {0xe0, 0xc0, 2, 0x80},
    {0xf0, 0xe0, 3, 0x800},
    {0xf8, 0xf0, 4, 0x10000},
};

/* Reads one character; its size in bytes, 0 if it is not UTF-8. */
static size_t read_char(const unsigned char *bytes, size_t size, unsigned long *out)
{
    const struct lead *lead = leads, *end = leads + sizeof(leads) / sizeof(leads[0]);
    unsigned long c;
    size_t i;

    while (lead < end && (bytes[0] & lead->mask) != lead->bits)
        lead++;
    if (lead == end || lead->size > size)
        return 0;
    c = bytes[0] & (unsigned char)~lead->mask;
    for (i = 1; i < lead->size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (bytes[i] & 0x3f);
    }
    if (c < lead->least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *out = c;
    return lead->size;
}

static bool is_control_char(unsigned long c)
{
    return (c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0);
}

enum conf_rc conf_text_check(const char *bytes, size_t size, struct err *err)
{
    const unsigned char *text = (const unsigned char *)bytes;
    unsigned long c = 0;
    size_t at, step;

    for (at = 0; at < size; at += step) {
        step = read_char(text + at, size - at, &c);
        if (step == 0)
            err_set(err, "has a byte that is not UTF-8: 0x%02x in column %zu", text[at], at + 1);
        else if (is_control_char(c))
            err_set(err, "has a control character: 0x%02lx in column %zu", c, at + 1);
        else
            continue;
        return CONF_BAD;
    }
    return CONF_OK;
}

const char *conf_quote(char out[CONF_QUOTE_MAX], const char *text)
{
    const unsigned char *from = (const unsigned char *)text;
    size_t left = strlen(text), used = 0, step;
    unsigned long c = 0;

    out[used++] = '"';
    for (; left > 0 && used < CONF_QUOTE_MAX - 16; from += step, left -= step) {
        step = read_char(from, left, &c);
        if (step == 0 || is_control_char(c)) {
            step = step ? step : 1;
            used += (size_t)snprintf(out + used, CONF_QUOTE_MAX - used, "\\x%02x", from[step - 1]);
            continue;
        }
        memcpy(out + used, from, step);
        used += step;
    }
    (void)snprintf(out + used, CONF_QUOTE_MAX - used, "%s", left ? "...\"" : "\"");
    return out;
}

enum { WORD_MAX = 32 }; /* longer words are not compared */

static char lower_ascii(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * Edits that make `a` into `b`: a letter added, dropped, changed, or two neighbours
 * swapped (optimal string alignment). Case costs nothing. Both up to WORD_MAX long.
 */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[WORD_MAX + 1][WORD_MAX + 1];
    size_t m = strlen(a), n = strlen(b), i, j;

    for (i = 0; i <= m; i++)
        for (j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = (unsigned)(i + j);
                continue;
            }
            rows[i][j] = least(rows[i - 1][j], rows[i][j - 1]) + 1;
            rows[i][j] = least(rows[i][j], rows[i - 1][j - 1] +
                                               (lower_ascii(a[i - 1]) != lower_ascii(b[j - 1])));
            if (i > 1 && j > 1 && lower_ascii(a[i - 1]) == lower_ascii(b[j - 2]) &&
                lower_ascii(a[i - 2]) == lower_ascii(b[j - 1]))
                rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
        }
    return rows[m][n];
}

/* "warn" for "warning", "queue_size" for "queue": as good as one edit. */
static bool is_start_of_other(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);

    return m >= 3 && n >= 3 && strncmp(a, b, m < n ? m : n) == 0;
}

void conf_nearest_try(struct conf_nearest *nearest, const char *candidate)
{
    size_t size = strlen(candidate);
    unsigned edits;

    if (size > WORD_MAX || strlen(nearest->word) > WORD_MAX)
        return;
    edits = distance(nearest->word, candidate);
    if (edits > 1 && is_start_of_other(nearest->word, candidate))
        edits = 1;
    if (edits > (size + 3) / 4 || (nearest->best && edits >= nearest->distance))
        return;
    nearest->best = candidate;
    nearest->distance = edits;
}
