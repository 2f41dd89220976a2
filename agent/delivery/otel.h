/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel.h - what the OTEL_... variables of OpenTelemetry say to exporters of type otlp.
 *
 * Shape:   otel_init once, otel_fill for each such exporter, otel_finish.
 *          They are there for the application's SDK as a rule, so none of them is a mistake of
 *          ours: what cannot be used is told once, and the default holds.
 * Source:  the specification's "OpenTelemetry Protocol Exporter" and "Environment
 *          Variable Specification". It names no OTEL_EXPORTER_OTLP_PROFILES_... yet;
 *          they are read like those of the other signals, and win over the general ones.
 */
#ifndef AGENT_DELIVERY_OTEL_H
#define AGENT_DELIVERY_OTEL_H

#include "base/arena.h"
#include "exporters/exporter.h"

struct otel {
    struct arena arena; /* owned: what is decoded, but for secrets */
    char *(*lookup)(const char *name);
    void (*warn)(const char *line);
    unsigned *told;                         /* borrowed: what was told already */
    struct exporter_secret_header *headers; /* texts owned: exporter_hide */
    size_t header_count;
    struct label *attributes; /* of all resources; their service.name is not ours to take */
    size_t attribute_count;
};

/* True if an exporter is to be made where none is configured: there is an endpoint, and
 * OTEL_SDK_DISABLED is not true. */
bool otel_makes_exporter(char *(*lookup)(const char *name));

/*
 * Begins. `lookup` is getenv or a test's own; what it gives must outlive *out. `warn` gets a line
 * that names a variable, never its value; *told is 0 at first, and keeps it from saying so again.
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
