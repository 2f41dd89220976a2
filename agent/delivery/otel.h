/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel.h - takes settings of exporters of type otlp from OpenTelemetry's environment variables,
 * OTEL_..., where the ini file does not set them.
 *
 * The variables are meant for the SDK of an application, so a bad value is not an error here: a
 * warning is given once, and the default is used.
 *
 * Shape:   otel_init once, otel_fill for each such exporter, otel_finish.
 * Threads: one.
 * Source:  the specification's "OpenTelemetry Protocol Exporter" and "Environment Variable
 *          Specification". The specification has variables for each signal, such as
 *          OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, but none for profiles yet. This code reads
 *          OTEL_EXPORTER_OTLP_PROFILES_... by analogy; these win over OTEL_EXPORTER_OTLP_... .
 */
#ifndef AGENT_DELIVERY_OTEL_H
#define AGENT_DELIVERY_OTEL_H

#include "base/arena.h"
#include "exporters/exporter.h"

struct otel {
    struct arena arena; /* owned: the arrays below and decoded texts, but no secrets. Only
                           otel_finish frees it */
    char *(*lookup)(const char *name);
    void (*warn)(const char *line);
    unsigned *warned; /* borrowed: a bit for each warning that was given */
    /* The headers of the last otel_fill, from ..._HEADERS. The array is in the arena; the values
     * are secrets, made by exporter_hide and owned. */
    struct exporter_secret_header *headers;
    size_t header_count;
    /* The pairs of OTEL_RESOURCE_ATTRIBUTES, in the arena; set by the first otel_fill. The caller
     * adds them to profiles, but the service.name of a profile wins over one that is here. */
    struct label *attributes;
    size_t attribute_count;
};

/* True if the agent should make an otlp exporter though none is configured: the variables name an
 * endpoint, and OTEL_SDK_DISABLED is not true. */
bool otel_makes_exporter(char *(*lookup)(const char *name));

/*
 * Prepares *out; reads no variable yet.
 *
 * `lookup` is getenv or a test's replacement; the texts that it returns must outlive *out. `warn`
 * gets one line without a newline, which names a variable but never its value. *warned records
 * which warnings were given, so that none is repeated; the caller sets it to 0 once per process.
 *
 * Gives: *out, which the caller ends with otel_finish.
 */
void otel_init(struct otel *out, char *(*lookup)(const char *name), void (*warn)(const char *line),
               unsigned *warned);

/*
 * Sets the fields of `settings` that have no value yet, each from its variable. Some are set only
 * together:
 * - the protocol only if the URL comes from a variable, too;
 * - the client's key only if the client's certificate comes from a variable, too;
 * - headers only if `settings` has no header, no user and no token: these are for another server.
 *
 * The first call also sets otel->attributes. A bad value, and one that there is no memory for, is
 * left out.
 *
 * Lends: the texts that it puts into `settings`, until the next otel_fill or otel_finish.
 */
void otel_fill(struct otel *otel, struct exporter_settings *settings);

/* Frees everything, and wipes the values of headers. */
void otel_finish(struct otel *otel);

#endif
