/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel.h - what the OTEL_... variables of OpenTelemetry say to exporters of type otlp.
 *
 * Shape:   otel_init once, otel_fill for each such exporter, otel_finish.
 *          The variables are set for the application's SDK, so a bad one is no error here: it is
 *          reported once, and the default holds.
 * Source:  the specification's "OpenTelemetry Protocol Exporter" and "Environment
 *          Variable Specification". It names no OTEL_EXPORTER_OTLP_PROFILES_... yet;
 *          they are read like those of the other signals, and win over the general ones.
 */
#ifndef AGENT_DELIVERY_OTEL_H
#define AGENT_DELIVERY_OTEL_H

#include "base/arena.h"
#include "exporters/exporter.h"

struct otel {
    struct arena arena; /* owned: decoded texts, but not secrets */
    char *(*lookup)(const char *name);
    void (*warn)(const char *line);
    unsigned *told;                         /* borrowed: a bit for each warning that was given */
    struct exporter_secret_header *headers; /* texts owned: exporter_hide */
    size_t header_count;
    struct label *attributes; /* OTEL_RESOURCE_ATTRIBUTES; a profile's own service.name wins */
    size_t attribute_count;
};

/* True if an exporter is to be made where none is configured: there is an endpoint, and
 * OTEL_SDK_DISABLED is not true. */
bool otel_makes_exporter(char *(*lookup)(const char *name));

/*
 * Begins. `lookup` is getenv or a test's own; what it gives must outlive *out. `warn` gets a line
 * that names a variable, never its value; *told is 0 at first, and keeps each from being given
 * again.
 *
 * Gives:  *out, ended with otel_finish.
 */
void otel_init(struct otel *out, char *(*lookup)(const char *name), void (*warn)(const char *line),
               unsigned *told);

/*
 * Fills in what the settings of an exporter leave open; only those variables are looked at. Reads
 * the attributes, too. Lends until the next otel_fill.
 */
void otel_fill(struct otel *otel, struct exporter_settings *settings);

void otel_finish(struct otel *otel);

#endif
