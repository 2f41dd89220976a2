/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel.h - settings of exporters of type otlp that OpenTelemetry's OTEL_... variables give.
 *
 * Shape:   otel_init once, otel_fill for each such exporter, otel_finish.
 *          The variables are set for the application's SDK, so a bad one is no error here: it is
 *          reported once, and the default holds.
 * Source:  the specification's "OpenTelemetry Protocol Exporter" and "Environment
 *          Variable Specification". It names no OTEL_EXPORTER_OTLP_PROFILES_... yet;
 *          they are read like ..._TRACES_... and ..._METRICS_..., and win over the general ones.
 */
#ifndef AGENT_DELIVERY_OTEL_H
#define AGENT_DELIVERY_OTEL_H

#include "base/arena.h"
#include "exporters/exporter.h"

struct otel {
    struct arena arena; /* owned: decoded texts, but not secrets; grows until otel_finish */
    char *(*lookup)(const char *name);
    void (*warn)(const char *line);
    unsigned *warned;                       /* borrowed: a bit for each warning that was given */
    struct exporter_secret_header *headers; /* in the arena; values by exporter_hide, owned */
    size_t header_count;
    struct label *attributes; /* OTEL_RESOURCE_ATTRIBUTES; a profile's own service.name wins */
    size_t attribute_count;
};

/* True if an exporter is to be made where none is configured: there is an endpoint, and
 * OTEL_SDK_DISABLED is not true. */
bool otel_makes_exporter(char *(*lookup)(const char *name));

/*
 * Begins. `lookup` is getenv or a test's own; what it gives must outlive *out. `warn` gets a line
 * that names a variable, never its value. *warned, which the caller sets to 0 once, prevents
 * that a warning is given twice.
 *
 * Gives:  *out, ended with otel_finish.
 */
void otel_init(struct otel *out, char *(*lookup)(const char *name), void (*warn)(const char *line),
               unsigned *warned);

/*
 * Sets each setting that has no value yet from its variable: the protocol only together with the
 * URL, the client's key only together with its certificate, headers only if the section has no
 * header and no login. Reads `attributes`, too.
 * What is bad in a variable, or finds no memory, is left out.
 *
 * Lends:  what the settings point to, until the next otel_fill or otel_finish.
 */
void otel_fill(struct otel *otel, struct exporter_settings *settings);

/* Frees all, and wipes the values of headers. */
void otel_finish(struct otel *otel);

#endif
