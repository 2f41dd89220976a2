/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.h - what a type of exporter gives exporter.c to call.
 *
 * Shape:   a line in the table of exporter.c names each; `self` is what its open gave. The
 *          outcomes and rules are those of exporter.h. A type has either `write` and `cancel`, or
 *          `client`, `encode`, `judge` and `empty`.
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
    bool (*is_whole)(const void *self);       /* EXPORTER_WHOLE after all; NULL: as the row says */
    size_t (*profiles_max)(const void *self); /* in one batch; NULL: BATCH_PROFILES_MAX */

    /* Where there is no server. *answer is all zero before. */
    enum exporter_rc (*write)(void *self, const struct exporter_profile *profile, int64_t now_ns,
                              struct exporter_answer *answer);
    void (*cancel)(void *self); /* from any thread */

    /* Where there is one. What is encoded lies in the request's buffer, or in the batch. */
    struct http_client *(*client)(void *self);
    enum exporter_rc (*encode)(void *self, const struct batch *batch, struct http_request *request,
                               struct http_body *out, struct exporter_answer *answer);
    const void *empty; /* what `encode` takes for a profile without a sample */
    size_t empty_size;
    enum exporter_rc (*judge)(void *self, const struct batch *batch, const struct http_reply *reply,
                              struct exporter_answer *answer);
};

/* How the directory of an exporter is opened. What root knows of all processes is not to end up
 * with the user that a directory happens to belong to. */
static inline unsigned ops_folder_flags(const struct exporter_settings *settings)
{
    return geteuid() == 0 && !settings->any_owner ? FOLDER_MAKE | FOLDER_OWN : FOLDER_MAKE;
}

extern const struct exporter_ops store_ops;
extern const struct exporter_ops pyroscope_ops;
extern const struct exporter_ops file_ops;
extern const struct exporter_ops otlp_ops;

#endif
