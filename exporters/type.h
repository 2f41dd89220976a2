/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type.h - what one kind of exporter gives exporter.c to call.
 *
 * Shape:   one row in the table of exporter.c points to each; `self` is what
 *          its open gave. The outcomes and rules are those of exporter.h.
 */
#ifndef EXPORTERS_TYPE_H
#define EXPORTERS_TYPE_H

#include "exporters/exporter.h"

struct http_client; /* client.h */

struct exporter_type {
    const char *name;                                /* as in `type = NAME` */
    enum exporter_form form;                         /* where form_of is NULL */
    enum exporter_form (*form_of)(const void *self); /* where the settings decide */
    enum exporter_rc (*open)(const struct exporter_settings *settings, void **out, struct err *err);
    enum exporter_rc (*send)(void *self, const struct exporter_profile *profile, int64_t now_ns,
                             struct exporter_answer *answer); /* all zero before; never NULL */
    struct http_client *(*client)(void *self);                /* NULL: it speaks with no server */
    void (*cancel)(void *self);                               /* from any thread */
    void (*close)(void *self);                                /* NULL is fine */
};

extern const struct exporter_type store_type;
extern const struct exporter_type pyroscope_type;
extern const struct exporter_type file_type;
extern const struct exporter_type otlp_type;

#endif
