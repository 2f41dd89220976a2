/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.h - the functions of a type of exporter, which exporter.c calls.
 *
 * Shape:   the table in exporter.c has a line for each type. `self` is the object that `open` made.
 *          Outcomes and rules are those of exporter.h. A type without a server has `write`; one
 *          with a server has `client`, `encode`, `judge`, `empty` and `empty_size`.
 */
#ifndef EXPORTERS_OPS_H
#define EXPORTERS_OPS_H

#include <unistd.h>

#include "base/folder.h"
#include "exporters/exporter.h"
#include "exporters/http/client.h"

struct exporter_ops {
    enum exporter_rc (*open)(const struct exporter_settings *settings, void **out, struct err *err);
    void (*close)(void *self);                /* NULL is fine */
    bool (*is_whole)(const void *self);       /* true: EXPORTER_WHOLE; NULL: exporter_types says */
    size_t (*profiles_max)(const void *self); /* in one batch; NULL: BATCH_PROFILES_MAX */

    /* Without a server. Writes one profile; *answer is zeroed by the caller. */
    enum exporter_rc (*write)(void *self, const struct exporter_profile *profile, int64_t now_ns,
                              struct exporter_answer *answer);

    /* With a server. `out` of encode points into the request's buffer or into the batch. */
    struct http_client *(*client)(void *self);
    enum exporter_rc (*encode)(void *self, const struct batch *batch, struct http_request *request,
                               struct http_body *out, struct exporter_answer *answer);
    const void *empty; /* static: bytes of a profile without samples, as `encode` takes it */
    size_t empty_size;
    enum exporter_rc (*judge)(void *self, const struct batch *batch, const struct http_reply *reply,
                              struct exporter_answer *answer);
};

/* Gives the flags of folder_open for an exporter's directory. FOLDER_OWN keeps root from writing
 * the profiles of all users into a directory of one of them. */
static inline unsigned ops_folder_flags(const struct exporter_settings *settings)
{
    return geteuid() == 0 && !settings->any_owner ? FOLDER_MAKE | FOLDER_OWN : FOLDER_MAKE;
}

extern const struct exporter_ops store_ops;
extern const struct exporter_ops pyroscope_ops;
extern const struct exporter_ops file_ops;
extern const struct exporter_ops otlp_ops;

#endif
