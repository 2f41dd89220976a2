/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. */
#include "conf/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static bool is_forbidden_char(uint32_t c)
{
    return utf8_is_control(c) && c != '\t';
}

enum conf_rc conf_text_check(const char *bytes, size_t size, struct err *err)
{
    const unsigned char *text = (const unsigned char *)bytes;
    uint32_t c = 0;
    size_t at, step;

    for (at = 0; at < size; at += step) {
        step = utf8_decode(text + at, size - at, &c);
        if (step == 0)
            err_set(err, "has a byte that is not UTF-8: 0x%02x in column %zu", text[at], at + 1);
        else if (is_forbidden_char(c))
            err_set(err, "has a control character: 0x%02" PRIx32 " in column %zu", c, at + 1);
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
    uint32_t c = 0;

    out[used++] = '"';
    for (; left > 0 && used < CONF_QUOTE_MAX - 16; from += step, left -= step) {
        step = utf8_decode(from, left, &c);
        if (step == 0 || is_forbidden_char(c)) {
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

char conf_lower(char c)
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
            rows[i][j] = least(rows[i][j],
                               rows[i - 1][j - 1] + (conf_lower(a[i - 1]) != conf_lower(b[j - 1])));
            if (i > 1 && j > 1 && conf_lower(a[i - 1]) == conf_lower(b[j - 2]) &&
                conf_lower(a[i - 2]) == conf_lower(b[j - 1]))
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
