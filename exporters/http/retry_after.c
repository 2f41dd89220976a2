/* SPDX-License-Identifier: Apache-2.0 */
/* retry_after.c - knows both forms of Retry-After, and that neither can be trusted. */
#include "exporters/http/retry_after.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/time_units.h"
#include "exporters/exporter.h"
#include "exporters/http/curl_api.h"

enum { DATE_MAX = 63 }; /* "Wednesday, 25-Nov-2026 10:00:00 GMT" and then some */

#define MAX_S ((int64_t)(EXPORTER_RETRY_AFTER_MAX_NS / NS_PER_S))

static uint64_t capped(int64_t seconds)
{
    if (seconds <= 0)
        return 0;
    return (uint64_t)(seconds < MAX_S ? seconds : MAX_S) * NS_PER_S;
}

/* Only digits; more of them than a pause may have are just "long". */
static bool read_seconds(const char *value, size_t size, int64_t *out)
{
    int64_t seconds = 0;

    for (size_t i = 0; i < size; i++) {
        if (value[i] < '0' || value[i] > '9')
            return false;
        if (seconds <= MAX_S)
            seconds = seconds * 10 + (value[i] - '0');
    }
    *out = seconds;
    return size > 0;
}

/* All three forms begin with the day of the week; curl would also read others. */
static bool read_date(const char *value, size_t size, int64_t *out)
{
    char text[DATE_MAX + 1];
    time_t date;

    if (size == 0 || size > DATE_MAX || !isalpha((unsigned char)value[0]))
        return false;
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)value[i] < 0x20 || (unsigned char)value[i] > 0x7e)
            return false;
        text[i] = value[i];
    }
    text[size] = '\0';
    if (!curl_api_load(NULL))
        return false;
    date = libcurl.getdate(text, NULL);
    *out = (int64_t)date;
    return date >= 0;
}

static bool is_header_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static void trim_header_value(const char **value, size_t *size)
{
    while (*size > 0 && is_header_space(**value)) {
        (*value)++;
        (*size)--;
    }
    while (*size > 0 && is_header_space((*value)[*size - 1]))
        (*size)--;
}

uint64_t retry_after_ns(const char *value, size_t size, int64_t now_ns)
{
    int64_t seconds, now_s = now_ns / (int64_t)NS_PER_S;

    trim_header_value(&value, &size);
    if (read_seconds(value, size, &seconds))
        return capped(seconds);
    if (!read_date(value, size, &seconds) || seconds <= now_s)
        return 0;
    return capped(now_s < 0 ? MAX_S : seconds - now_s);
}

bool http_header_find(const char *line, size_t size, const char *name, const char **value,
                      size_t *value_size)
{
    size_t length = strlen(name);

    if (size <= length || strncasecmp(line, name, length) != 0 || line[length] != ':')
        return false;
    *value = line + length + 1;
    *value_size = size - length - 1;
    trim_header_value(value, value_size);
    return true;
}

bool retry_after_date(const char *line, size_t size, int64_t *out_s)
{
    const char *value;
    size_t value_size;

    return http_header_find(line, size, "Date", &value, &value_size) &&
           read_date(value, value_size, out_s);
}
