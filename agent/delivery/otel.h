/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel.h - takes settings of exporters of type otlp from OpenTelemetry's environment variables,
 * OTEL_..., where the ini file does not set them.
 *
 * The variables are meant for the SDK of an application, so a value that cannot be parsed is no
 * error: the default is used, and each kind causes one warning. URLs and files are not checked.
 *
 * Shape:   otel_init once, otel_fill for each such exporter, otel_finish.
 * Threads: one.
 * Source:  the specification's "OpenTelemetry Protocol Exporter" and "Environment Variable
 *          Specification". The specification has variables for each signal, such as
 *          OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, but none for profiles yet. This code reads
 *          OTEL_EXPORTER_OTLP_PROFILES_... by analogy. If that variable is not set or is empty, it
 *          reads the general OTEL_EXPORTER_OTLP_... .
 */
#ifndef AGENT_DELIVERY_OTEL_H
#define AGENT_DELIVERY_OTEL_H

#include "base/arena.h"
#include "exporters/exporter.h"

struct otel {
    struct arena arena; /* owned: the arrays below and decoded texts, but no secrets. It grows with
                           each otel_fill; only otel_finish frees it */
    char *(*lookup)(const char *name); /* see otel_init */
    void (*warn)(const char *line);    /* see otel_init */
    unsigned *warned;                  /* borrowed: a bit for each warning that was given */
    /* Headers that the last otel_fill has read from the variable ..._HEADERS. The array and the
     * names are in the arena. The values are secrets: owned copies, made with exporter_hide. */
    struct exporter_secret_header *headers;
    size_t header_count;
    /* The pairs of OTEL_RESOURCE_ATTRIBUTES, in the arena; the first otel_fill reads them. The
     * caller adds them to each OTLP profile, except those whose name the profile already has, such
     * as service.name. */
    struct label *attributes;
    size_t attribute_count;
};

/* True if the variables name an endpoint, and OTEL_SDK_DISABLED is not "true". If the settings then
 * have no exporter, the agent should make one of type otlp. */
bool otel_makes_exporter(char *(*lookup)(const char *name));

/*
 * Prepares *out; reads no variable yet.
 *
 * `lookup` is getenv or a test's replacement; the texts that it returns must outlive *out. `warn`
 * gets one line without a newline, which names a variable but never its value. *warned holds a bit
 * for each kind of warning; a set bit means that this warning was given, and is not repeated. All
 * struct otel of a process share *warned; it is 0 at first.
 *
 * Gives: *out, which the caller ends with otel_finish.
 */
void otel_init(struct otel *out, char *(*lookup)(const char *name), void (*warn)(const char *line),
               unsigned *warned);

/*
 * Sets each field of `settings` (of type otlp) from its variable, if it has no value yet. Three
 * fields have a further condition:
 * - the protocol is set only if the URL comes from a variable, too;
 * - the client's key is set only if the client's certificate comes from a variable, too;
 * - headers are set only if `settings` has no header, no user and no token, because otherwise the
 *   headers of the variable may be meant for another server.
 *
 * The first call also sets otel->attributes. A bad value is skipped with a warning; a value for
 * which there is no memory is skipped, too.
 *
 * Lends: the texts that it puts into `settings`, until otel_finish; the headers only until the next
 *        otel_fill.
 */
void otel_fill(struct otel *otel, struct exporter_settings *settings);

/* Frees everything, and wipes the values of headers. */
void otel_finish(struct otel *otel);

#endif
