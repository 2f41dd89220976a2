/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel.h - what the OTEL_... variables of OpenTelemetry say to exporters of type otlp.
 *
 * Shape:   otel_read once, otel_fill for each such exporter, otel_finish.
 * Source:  the specification's "OpenTelemetry Protocol Exporter" and "Environment
 *          Variable Specification". It names no OTEL_EXPORTER_OTLP_PROFILES_... yet;
 *          they are read like those of the other signals, and win over the general ones.
 */
#ifndef AGENT_DELIVERY_OTEL_H
#define AGENT_DELIVERY_OTEL_H

#include "base/arena.h"
#include "exporters/exporter.h"

enum { OTEL_PAIRS_MAX = 32 };

struct otel_pairs {
    struct label items[OTEL_PAIRS_MAX];
    size_t count;
};

struct otel {
    struct arena arena;   /* owned: what is decoded, but for secrets */
    const char *endpoint; /* NULL: none is named. These are the environment's */
    bool endpoint_is_whole;
    const char *certificate, *client_certificate, *client_key;
    const char *compression;                               /* "gzip", "none"; NULL: not named */
    uint64_t timeout_ns;                                   /* 0: none is named */
    struct exporter_secret_header headers[OTEL_PAIRS_MAX]; /* texts owned: exporter_hide */
    size_t header_count;
    struct otel_pairs attributes; /* of all resources; their service.name is not ours to take */
};

/* True if an exporter is to be made where none is configured: there is an endpoint, and
 * OTEL_SDK_DISABLED is not true. */
bool otel_makes_exporter(char *(*lookup)(const char *name));

/*
 * Reads the variables. `lookup` is getenv or a test's own; what it gives must outlive *out.
 *
 * Gives:  *out, ended with otel_finish.
 * Errors: false: `err` names the variable that cannot be understood, never its value.
 */
MUST_CHECK bool otel_read(char *(*lookup)(const char *name), struct otel *out, struct err *err);

/* Fills in what the settings of an exporter leave open. Lends until otel_finish. */
void otel_fill(const struct otel *otel, struct exporter_settings *settings);

void otel_finish(struct otel *otel);

#endif
