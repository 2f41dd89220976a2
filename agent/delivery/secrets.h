/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.h - fetches the secrets of exporters that are in no file: from the
 * environment, and from systemd.
 *
 * Shape:   secrets_fetch, exporter_open with its settings, secrets_release.
 * Threads: the main thread only.
 */
#ifndef AGENT_DELIVERY_SECRETS_H
#define AGENT_DELIVERY_SECRETS_H

#include "exporters/exporter.h"

enum { SECRETS_PATHS_MAX = 40 };

/* What the settings borrow until secrets_release. */
struct secrets {
    struct exporter_secret_header *headers; /* owned */
    char *paths[SECRETS_PATHS_MAX];         /* owned: of credentials */
    size_t path_count;
};

/*
 * Gives the secrets of `settings` the text or the file that they name. A variable is taken out
 * of the environment with its first use, and remembered for later ones.
 *
 * Gives:  *out, ended with secrets_release, on failure too.
 * Errors: false; `err` says what is missing.
 */
MUST_CHECK bool secrets_fetch(struct exporter_settings *settings, struct secrets *out,
                              struct err *err);

void secrets_release(struct secrets *secrets);

/*
 * As getenv. A variable of HTTP headers, which as a rule has a key among them, is taken out
 * of the environment as those of secrets_fetch are.
 */
char *secrets_getenv(const char *name);

#endif
