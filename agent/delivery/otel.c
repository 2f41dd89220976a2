/* SPDX-License-Identifier: Apache-2.0 */
/* otel.c - see otel.h. */
#include "agent/delivery/otel.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/time_units.h"

enum { NAME_MAX_BYTES = 64, TEXT_MAX = 64 * 1024, TIMEOUT_MAX_MS = 10 * 60 * 1000 };

typedef char *(*lookup_fn)(const char *name);

/* A variable that is set to nothing counts as not set, says the specification. */
static const char *lookup_nonempty(lookup_fn lookup, const char *name)
{
    const char *value = lookup(name);

    return value && value[0] ? value : NULL;
}

/* OTEL_EXPORTER_OTLP_PROFILES_<end>, else OTEL_EXPORTER_OTLP_<end>; `used` is which. */
static const char *look_twice(lookup_fn lookup, const char *end, char used[NAME_MAX_BYTES])
{
    const char *value;

    (void)snprintf(used, NAME_MAX_BYTES, "OTEL_EXPORTER_OTLP_PROFILES_%s", end);
    value = lookup_nonempty(lookup, used);
    if (value)
        return value;
    (void)snprintf(used, NAME_MAX_BYTES, "OTEL_EXPORTER_OTLP_%s", end);
    return lookup_nonempty(lookup, used);
}

static int read_attribute_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copies text without blanks around it, and with %XX decoded; NULL: no memory, or a zero byte. */
static const char *decode_attribute_text(struct arena *arena, const char *text, const char *end)
{
    char *copy, *to;

    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    copy = to = arena_alloc(arena, (size_t)(end - text) + 1);
    if (!copy)
        return NULL;
    while (text < end) {
        if (*text == '%' && end - text >= 3 && read_attribute_hex_digit(text[1]) >= 0 &&
            read_attribute_hex_digit(text[2]) >= 0) {
            *to =
                (char)(read_attribute_hex_digit(text[1]) << 4 | read_attribute_hex_digit(text[2]));
            text += 3;
        } else {
            *to = *text++;
        }
        if (*to++ == '\0')
            return NULL;
    }
    *to = '\0';
    return copy;
}

/* "k=v,k2=v2" as W3C baggage has it: what follows a ";" are properties, which mean nothing here. */
static bool read_pairs(struct otel *otel, const char *text, struct otel_pairs *out)
{
    struct label pair;
    const char *end, *stop, *equals;

    for (; text && *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, ",");
        stop = text + strcspn(text, ",;");
        equals = memchr(text, '=', (size_t)(stop - text));
        if (text + strspn(text, " \t") == end)
            continue;
        if (!equals || out->count == OTEL_PAIRS_MAX)
            return false;
        pair.name = decode_attribute_text(&otel->arena, text, equals);
        pair.value = decode_attribute_text(&otel->arena, equals + 1, stop);
        if (!pair.name || !pair.value || !pair.name[0])
            return false;
        out->items[out->count++] = pair;
    }
    return true;
}

/* Moves the headers to where secrets are. Those without a value say nothing. */
static bool read_headers(struct otel *otel, const char *text)
{
    struct otel_pairs pairs = {.count = 0};
    bool good = read_pairs(otel, text, &pairs);
    char *value, *hidden;

    for (size_t i = 0; i < pairs.count; i++) {
        value = (char *)(uintptr_t)pairs.items[i].value; /* it lies in the arena */
        hidden = value[0] ? exporter_hide(value) : NULL;
        good = good && (hidden || !value[0]);
        explicit_bzero(value, strlen(value));
        if (hidden)
            otel->headers[otel->header_count++] =
                (struct exporter_secret_header){pairs.items[i].name, {.text = hidden}};
    }
    return good;
}

static bool read_timeout(const char *text, uint64_t *out_ns)
{
    char *end;
    long ms;

    errno = 0;
    ms = strtol(text, &end, 10);
    if (errno || *end || ms < 1 || ms > TIMEOUT_MAX_MS)
        return false;
    *out_ns = (uint64_t)ms * NS_PER_MS;
    return true;
}

static bool refuse_variable(struct err *err, const char *name, const char *wanted)
{
    err_set(err, "%s: is to be %s", name, wanted);
    return false;
}

static bool read_endpoint(struct otel *otel, lookup_fn lookup, struct err *err)
{
    char name[NAME_MAX_BYTES];
    const char *value;

    otel->endpoint = look_twice(lookup, "ENDPOINT", name);
    otel->endpoint_is_whole = strstr(name, "_PROFILES_") != NULL;
    otel->certificate = look_twice(lookup, "CERTIFICATE", name);
    otel->client_certificate = look_twice(lookup, "CLIENT_CERTIFICATE", name);
    otel->client_key = look_twice(lookup, "CLIENT_KEY", name);
    value = look_twice(lookup, "TIMEOUT", name);
    if (value && !read_timeout(value, &otel->timeout_ns))
        return refuse_variable(err, name, "1 to 600000 milliseconds");
    value = otel->compression = look_twice(lookup, "COMPRESSION", name);
    if (value && strcmp(value, "none") != 0 && strcmp(value, "gzip") != 0)
        return refuse_variable(err, name, "gzip or none");
    value = look_twice(lookup, "PROTOCOL", name);
    if (value && otel->endpoint && strcmp(value, "http/protobuf") != 0)
        return refuse_variable(err, name, "http/protobuf, which is all that pystrobe speaks");
    value = look_twice(lookup, "HEADERS", name);
    if (!read_headers(otel, value))
        return refuse_variable(err, name, "NAME=VALUE,NAME=VALUE with at most 32 pairs");
    return true;
}

bool otel_makes_exporter(char *(*lookup)(const char *name))
{
    const char *disabled = lookup_nonempty(lookup, "OTEL_SDK_DISABLED");
    char name[NAME_MAX_BYTES];

    return look_twice(lookup, "ENDPOINT", name) && !(disabled && strcasecmp(disabled, "true") == 0);
}

bool otel_read(char *(*lookup)(const char *name), struct otel *out, struct err *err)
{
    static const char attributes[] = "OTEL_RESOURCE_ATTRIBUTES";

    *out = (struct otel){0};
    arena_init(&out->arena, TEXT_MAX);
    if (!read_endpoint(out, lookup, err))
        return false;
    if (!read_pairs(out, lookup_nonempty(lookup, attributes), &out->attributes))
        return refuse_variable(err, attributes, "NAME=VALUE,NAME=VALUE with at most 32 pairs");
    return true;
}

/* True if a section has headers of its own, or a login: they are for another server than ours. */
static bool has_headers(const struct exporter_settings *settings)
{
    return settings->header_count > 0 || settings->secret_header_count > 0 || settings->user ||
           settings->token.text || settings->token.file;
}

void otel_fill(const struct otel *otel, struct exporter_settings *settings)
{
    if (!settings->url) {
        settings->url = otel->endpoint;
        settings->url_is_whole = otel->endpoint_is_whole;
    }
    if (!settings->compression)
        settings->compression = otel->compression;
    if (settings->timeout_ns == 0)
        settings->timeout_ns = otel->timeout_ns;
    if (!has_headers(settings)) {
        settings->secret_headers = otel->headers;
        settings->secret_header_count = otel->header_count;
    }
    if (!settings->ca_file)
        settings->ca_file = otel->certificate;
    if (!settings->cert_file) {
        settings->cert_file = otel->client_certificate;
        settings->key_file = otel->client_key;
    }
}

void otel_finish(struct otel *otel)
{
    for (size_t i = 0; i < otel->header_count; i++)
        exporter_forget((char *)(uintptr_t)otel->headers[i].value.text);
    otel->header_count = 0;
    arena_finish(&otel->arena);
}
