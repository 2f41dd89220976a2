/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.h - what a type of exporter gives exporter.c to call.
 *
 * Shape:   a line in the table of exporter.c names each; `self` is what its open gave. The
 *          outcomes and rules are those of exporter.h.
 */
#ifndef EXPORTERS_OPS_H
#define EXPORTERS_OPS_H

#include "exporters/exporter.h"

struct http_client; /* client.h */

struct exporter_ops {
    enum exporter_rc (*open)(const struct exporter_settings *settings, void **out, struct err *err);
    enum exporter_rc (*send)(void *self, const struct exporter_profile *profile, int64_t now_ns,
                             struct exporter_answer *answer); /* all zero before; never NULL */
    bool (*is_whole)(const void *self);        /* EXPORTER_WHOLE after all; NULL: as the row says */
    struct http_client *(*client)(void *self); /* NULL: it speaks with no server */
    void (*cancel)(void *self);                /* from any thread; NULL: its client's */
    void (*close)(void *self);                 /* NULL is fine */
};

extern const struct exporter_ops store_ops;
extern const struct exporter_ops pyroscope_ops;
extern const struct exporter_ops file_ops;
extern const struct exporter_ops otlp_ops;

#endif
