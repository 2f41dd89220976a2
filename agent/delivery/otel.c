/* SPDX-License-Identifier: Apache-2.0 */
/* otel.c - see otel.h. */
#include "agent/delivery/otel.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/percent.h"
#include "base/time_units.h"

enum {
    NAME_MAX_BYTES = 64,
    TEXT_MAX = 64 * 1024, /* bytes of a list of pairs */
    ARENA_MAX = 16 * 1024 * 1024,
    TIMEOUT_MAX_MS = 10 * 60 * 1000
};

/* The warnings, a bit each: each is given once a process. */
enum warning {
    WARNED_TIMEOUT = 1,
    WARNED_COMPRESSION = 2,
    WARNED_PROTOCOL = 4,
    WARNED_HEADERS = 8,
    WARNED_ATTRIBUTES = 16
};

struct pairs {
    struct label *items; /* in the arena */
    size_t count, bad;   /* `bad`: passed over */
};

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

/* Copies text without blanks around it, and with %XX decoded; NULL: no memory, or a zero byte. It
 * may be a secret: nothing of what cannot be used stays. */
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
        int byte = percent_byte(text, (size_t)(end - text));

        *to = byte >= 0 ? (char)byte : *text;
        text += byte >= 0 ? PERCENT_SIZE : 1;
        if (*to++ == '\0') {
            explicit_bzero(copy, (size_t)(to - copy));
            return NULL;
        }
    }
    *to = '\0';
    return copy;
}

static void warn_once(const struct otel *otel, enum warning what, const char *name,
                      const char *text)
{
    struct err line;

    if (*otel->warned & what)
        return;
    *otel->warned |= what;
    err_set(&line, "%s: %s", name, text);
    otel->warn(line.text);
}

static void warn_of_pairs(const struct otel *otel, enum warning what, const char *name, size_t bad)
{
    struct err text;

    if (bad == 0)
        return;
    err_set(&text,
            "%zu of its pairs cannot be used and are passed over; NAME=VALUE,NAME=VALUE is wanted",
            bad);
    warn_once(otel, what, name, text.text);
}

static bool decode_pair(struct otel *otel, const char *text, const char *stop, struct label *out)
{
    const char *equals = memchr(text, '=', (size_t)(stop - text));

    if (!equals)
        return false;
    out->name = decode_attribute_text(&otel->arena, text, equals);
    if (!out->name || !out->name[0])
        return false;
    out->value = decode_attribute_text(&otel->arena, equals + 1, stop);
    return out->value != NULL;
}

/* "k=v,k2=v2" as W3C baggage has it: what follows a ";" are properties, which mean nothing here. */
static struct pairs read_pairs(struct otel *otel, const char *text)
{
    struct pairs out = {.items = NULL};
    size_t most = 1;
    const char *end;

    for (const char *at = text; (at = strchr(at, ',')); at++)
        most++;
    if (strlen(text) <= TEXT_MAX)
        out.items = arena_alloc(&otel->arena, most * sizeof(*out.items));
    if (!out.items) {
        out.bad = most;
        return out;
    }
    for (; *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, ",");
        if (text + strspn(text, " \t") == end)
            continue;
        if (decode_pair(otel, text, text + strcspn(text, ",;"), &out.items[out.count]))
            out.count++;
        else
            out.bad++;
    }
    return out;
}

static void forget_headers(struct otel *otel)
{
    for (size_t i = 0; i < otel->header_count; i++)
        exporter_forget((char *)(uintptr_t)otel->headers[i].value.text);
    otel->header_count = 0;
}

/* Moves one header to where secrets are, or wipes it. One without a value says nothing. */
static bool take_header(struct otel *otel, const struct exporter_settings *settings,
                        const struct label *header)
{
    char *value = (char *)(uintptr_t)header->value; /* it lies in the arena */
    bool good = otel->headers && exporter_takes_header(settings, header);
    char *hidden = good && value[0] ? exporter_hide(value) : NULL;

    good = good && (hidden || !value[0]);
    explicit_bzero(value, strlen(value));
    if (hidden)
        otel->headers[otel->header_count++] =
            (struct exporter_secret_header){header->name, {.text = hidden}};
    return good;
}

/* Fills in the headers that the exporter can send. */
static void fill_headers(struct otel *otel, struct exporter_settings *settings)
{
    char name[NAME_MAX_BYTES];
    const char *text = look_twice(otel->lookup, "HEADERS", name);
    struct pairs pairs;

    forget_headers(otel);
    if (!text)
        return;
    pairs = read_pairs(otel, text);
    otel->headers = arena_alloc(&otel->arena, (pairs.count + 1) * sizeof(*otel->headers));
    for (size_t i = 0; i < pairs.count; i++)
        if (!take_header(otel, settings, &pairs.items[i]))
            pairs.bad++;
    warn_of_pairs(otel, WARNED_HEADERS, name, pairs.bad);
    settings->secret_headers = otel->headers;
    settings->secret_header_count = otel->header_count;
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

static void fill_timeout(const struct otel *otel, struct exporter_settings *settings)
{
    char name[NAME_MAX_BYTES];
    const char *value = look_twice(otel->lookup, "TIMEOUT", name);

    if (value && !read_timeout(value, &settings->timeout_ns))
        warn_once(otel, WARNED_TIMEOUT, name,
                  "is not 1 to 600000, in milliseconds; the default is used");
}

static void fill_compression(const struct otel *otel, struct exporter_settings *settings)
{
    char name[NAME_MAX_BYTES];
    const char *value = look_twice(otel->lookup, "COMPRESSION", name);

    if (value && strcmp(value, "none") != 0 && strcmp(value, "gzip") != 0)
        warn_once(otel, WARNED_COMPRESSION, name, "is neither gzip nor none; the default is used");
    else
        settings->compression = value;
}

static void fill_protocol(const struct otel *otel, struct exporter_settings *settings)
{
    char name[NAME_MAX_BYTES];
    const char *value = look_twice(otel->lookup, "PROTOCOL", name);

    if (value && strcmp(value, "http/protobuf") != 0 && strcmp(value, "grpc") != 0)
        warn_once(otel, WARNED_PROTOCOL, name,
                  "is neither http/protobuf nor grpc; http/protobuf is used, whose port is 4318 as "
                  "a rule");
    else
        settings->protocol = value;
}

/* An endpoint of gRPC may be HOST:PORT alone; whether there is TLS, says another variable. */
static const char *endpoint_with_scheme(struct otel *otel, const char *endpoint)
{
    char name[NAME_MAX_BYTES];
    const char *insecure = look_twice(otel->lookup, "INSECURE", name);
    const char *scheme = insecure && strcasecmp(insecure, "true") == 0 ? "http://" : "https://";
    size_t size = strlen(scheme) + strlen(endpoint) + 1;
    char *out = arena_alloc(&otel->arena, size);

    if (out)
        (void)snprintf(out, size, "%s%s", scheme, endpoint);
    return out;
}

/* The endpoint, which the protocol goes with unless a key says it. */
static void fill_url(struct otel *otel, struct exporter_settings *settings)
{
    char name[NAME_MAX_BYTES];

    settings->url = look_twice(otel->lookup, "ENDPOINT", name);
    if (!settings->url)
        return;
    settings->url_is_whole = strstr(name, "_PROFILES_") != NULL;
    if (!settings->protocol)
        fill_protocol(otel, settings);
    if (!strstr(settings->url, "://") && exporter_is_grpc(settings))
        settings->url = endpoint_with_scheme(otel, settings->url);
}

bool otel_makes_exporter(char *(*lookup)(const char *name))
{
    const char *disabled = lookup_nonempty(lookup, "OTEL_SDK_DISABLED");
    char name[NAME_MAX_BYTES];

    return look_twice(lookup, "ENDPOINT", name) && !(disabled && strcasecmp(disabled, "true") == 0);
}

void otel_init(struct otel *out, char *(*lookup)(const char *name), void (*warn)(const char *line),
               unsigned *warned)
{
    *out = (struct otel){.lookup = lookup, .warn = warn, .warned = warned};
    arena_init(&out->arena, ARENA_MAX);
}

/* Reads what holds for the resources of all exporters. */
static void read_attributes(struct otel *otel)
{
    static const char name[] = "OTEL_RESOURCE_ATTRIBUTES";
    const char *text = lookup_nonempty(otel->lookup, name);
    struct pairs pairs;

    if (!text || otel->attributes)
        return;
    pairs = read_pairs(otel, text);
    warn_of_pairs(otel, WARNED_ATTRIBUTES, name, pairs.bad);
    otel->attributes = pairs.items;
    otel->attribute_count = pairs.count;
}

/* True if a section has headers of its own, or a login: they are for another server than ours. */
static bool has_headers(const struct exporter_settings *settings)
{
    return settings->header_count > 0 || settings->secret_header_count > 0 || settings->user ||
           settings->token.text || settings->token.file;
}

void otel_fill(struct otel *otel, struct exporter_settings *settings)
{
    char name[NAME_MAX_BYTES];

    read_attributes(otel);
    if (!settings->url)
        fill_url(otel, settings);
    if (!settings->compression)
        fill_compression(otel, settings);
    if (settings->timeout_ns == 0)
        fill_timeout(otel, settings);
    if (!has_headers(settings))
        fill_headers(otel, settings);
    if (!settings->ca_file)
        settings->ca_file = look_twice(otel->lookup, "CERTIFICATE", name);
    if (!settings->cert_file) {
        settings->cert_file = look_twice(otel->lookup, "CLIENT_CERTIFICATE", name);
        if (settings->cert_file)
            settings->key_file = look_twice(otel->lookup, "CLIENT_KEY", name);
    }
}

void otel_finish(struct otel *otel)
{
    forget_headers(otel);
    arena_finish(&otel->arena);
}
