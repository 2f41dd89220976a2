/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.h - fetches the secrets that an exporter's settings only name: from environment variables
 * and from credentials of systemd.
 *
 * Shape:   secrets_fetch, exporter_open with its settings, secrets_release.
 * Threads: the main thread only.
 */
#ifndef AGENT_DELIVERY_SECRETS_H
#define AGENT_DELIVERY_SECRETS_H

#include "exporters/exporter.h"

enum { SECRETS_PATHS_MAX = 40 }; /* credentials of one exporter; with more secrets_fetch fails */

/* Memory that the settings point into until secrets_release. */
struct secrets {
    struct exporter_secret_header *headers; /* owned; the texts in it are not */
    char *paths[SECRETS_PATHS_MAX];         /* owned: of credentials */
    size_t path_count;
};

/*
 * Changes `settings`: a secret that names an environment variable gets its value as `text`, one
 * that names a credential of systemd gets its path as `file`. When a variable is first used, it is
 * overwritten with zeros in the environment; this and later uses get a copy, which is kept until
 * the process ends.
 *
 * Gives:  *out, ended with secrets_release, on failure too.
 * Errors: false: a variable is missing or empty, systemd has given no credentials, or out of
 *         memory; `err` names it. `settings` may be changed in part. Whether a credential's file is
 *         there is not checked.
 */
MUST_CHECK bool secrets_fetch(struct exporter_settings *settings, struct secrets *out,
                              struct err *err);

/* Frees what the settings point into. */
void secrets_release(struct secrets *secrets);

/*
 * As getenv. But if the name ends in _HEADERS, which usually holds a key, the value is overwritten
 * as by secrets_fetch, and the copy is given. NULL: it is not set, or out of memory.
 */
char *secrets_getenv(const char *name);

#endif
