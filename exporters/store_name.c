/* SPDX-License-Identifier: Apache-2.0 */
/* store_name.c - knows how a hostile service name becomes a harmless directory name. */
#include "exporters/store_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/time_units.h"

enum { HASH_DIGITS = 16 };

static const int64_t last_ms = INT64_C(253402300799999); /* 9999-12-31T23:59:59.999Z */
static const char digits[] = "0123456789ABCDEF";

static bool is_plain_name_char(char c, bool first)
{
    if (c == '.')
        return !first; /* no "..", nothing hidden, nothing like our temporaries */
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

void store_name_service(const char *service, char out[STORE_SERVICE_SIZE])
{
    size_t used = 0;

    for (const char *at = service; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        bool plain = is_plain_name_char(*at, at == service);

        if (used + (plain ? 1 : 3) > STORE_SERVICE_PLAIN) {
            /* Two services in one directory do no harm. */
            (void)snprintf(out + used, STORE_SERVICE_SIZE - used, "~%016" PRIx64,
                           hash_text(service));
            return;
        }
        if (!plain) {
            out[used++] = '%';
            out[used++] = digits[byte >> 4];
        }
        out[used++] = plain ? *at : digits[byte & 15];
    }
    if (used == 0) {
        memcpy(out, "%00", 3);
        used = 3;
    }
    out[used] = '\0';
}

/* The value of a hexadecimal digit of `set`, -1: it is none. */
static int digit(const char *set, char c)
{
    const char *at = c ? strchr(set, c) : NULL;

    return at ? (int)(at - set) : -1;
}

/* Reads the part that was not cut; gives where it ends. */
static const char *unescape_service_name(const char *name, char *out)
{
    const char *at = name;

    while (*at) {
        if (is_plain_name_char(*at, at == name)) {
            *out++ = *at++;
        } else if (at[0] == '%' && digit(digits, at[1]) >= 0 && digit(digits, at[2]) >= 0) {
            *out++ = (char)(digit(digits, at[1]) * 16 + digit(digits, at[2]));
            at += 3;
        } else {
            break;
        }
    }
    *out = '\0';
    return at;
}

static bool is_hash(const char *at)
{
    return at[0] == '~' && strspn(at + 1, "0123456789abcdef") == HASH_DIGITS &&
           at[1 + HASH_DIGITS] == '\0';
}

bool store_name_read_service(const char *name, char *out)
{
    char again[STORE_SERVICE_SIZE];

    if (strlen(name) > STORE_SERVICE_PLAIN || *unescape_service_name(name, out) != '\0')
        return false;
    store_name_service(out, again); /* one service has one name only: "%41" is none */
    return strcmp(again, name) == 0;
}

bool store_name_is_service(const char *name)
{
    char scratch[STORE_SERVICE_SIZE];
    size_t size = strlen(name);

    if (size <= STORE_SERVICE_PLAIN && !strchr(name, '~'))
        return store_name_read_service(name, scratch);
    return size < STORE_SERVICE_SIZE && size > STORE_SERVICE_PLAIN - 3 + HASH_DIGITS &&
           is_hash(unescape_service_name(name, scratch));
}

void store_name_start(int64_t ms, char out[STORE_START_SIZE])
{
    int64_t clamped = ms < 0 ? 0 : ms > last_ms ? last_ms : ms;
    time_t seconds = (time_t)(clamped / MS_PER_S);
    char date[32];
    struct tm tm;

    (void)gmtime_r(&seconds, &tm);
    (void)strftime(date, sizeof(date), "%Y%m%dT%H%M%S", &tm);
    (void)snprintf(out, STORE_START_SIZE, "%.15s.%03dZ", date, (int)(clamped % MS_PER_S));
}

void store_name_file(const struct store_file *file, bool temporary, char out[STORE_FILE_SIZE])
{
    char start[STORE_START_SIZE], owner[10] = "";

    store_name_start(file->start_ms, start);
    if (file->owner)
        (void)snprintf(owner, sizeof(owner), "-%08" PRIx32, file->owner);
    (void)snprintf(out, STORE_FILE_SIZE, "%s%s-%016" PRIx64 "%s%s", temporary ? "." : "", start,
                   file->id, owner, temporary ? ".tmp" : ".pb.gz");
}

/* `count` decimal digits at `at`; what is no digit fails when the name is made again. */
static int read_fixed_digits(const char *at, int count)
{
    int value = 0;

    for (int i = 0; i < count; i++)
        value = value * 10 + (at[i] - '0');
    return value;
}

static int64_t read_stamp(const char *at)
{
    struct tm tm = {
        .tm_year = read_fixed_digits(at, 4) - 1900,
        .tm_mon = read_fixed_digits(at + 4, 2) - 1,
        .tm_mday = read_fixed_digits(at + 6, 2),
        .tm_hour = read_fixed_digits(at + 9, 2),
        .tm_min = read_fixed_digits(at + 11, 2),
        .tm_sec = read_fixed_digits(at + 13, 2),
    };

    return (int64_t)timegm(&tm) * MS_PER_S + read_fixed_digits(at + 16, 3);
}

bool store_name_read_file(const char *name, bool temporary, struct store_file *file)
{
    const char *start = name + (temporary ? 1 : 0);
    char again[STORE_FILE_SIZE], *rest;
    struct store_file got;

    store_name_file(&(struct store_file){.owner = 0}, temporary, again);
    if (strlen(name) < strlen(again))
        return false;
    got.start_ms = read_stamp(start);
    got.id = strtoull(start + STORE_START_SIZE, &rest, 16);
    got.owner = *rest == '-' ? (uint32_t)strtoul(rest + 1, NULL, 16) : 0;
    store_name_file(&got, temporary, again);
    if (strcmp(name, again) != 0)
        return false;
    *file = got;
    return true;
}
