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

enum { SECRETS_PATHS_MAX = 40 };

/* What the settings borrow until secrets_release. */
struct secrets {
    struct exporter_secret_header *headers; /* owned */
    char *paths[SECRETS_PATHS_MAX];         /* owned: of credentials */
    size_t path_count;
};

/*
 * Gives the secrets of `settings` the text or the file that they name. The value of a variable
 * is wiped from the environment at its first use, and remembered until the program ends.
 *
 * Gives:  *out, ended with secrets_release, on failure too.
 * Errors: false; `err` says what is missing.
 */
MUST_CHECK bool secrets_fetch(struct exporter_settings *settings, struct secrets *out,
                              struct err *err);

void secrets_release(struct secrets *secrets);

/*
 * As getenv. The value of a variable whose name ends in _HEADERS, which as a rule holds a key, is
 * wiped from the environment as those of secrets_fetch are.
 */
char *secrets_getenv(const char *name);

#endif
