/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.h - reads a password or a token from its file.
 *
 * Memory:  secrets are kept only in hidden.h's memory.
 * Needs:   a regular file of at most SECRET_FILE_MAX bytes that others (o+r) cannot read.
 */
#ifndef EXPORTERS_HTTP_SECRET_H
#define EXPORTERS_HTTP_SECRET_H

#include "exporters/exporter.h"

enum { SECRET_FILE_MAX = 64 * 1024 }; /* bytes */

/*
 * Reads the first line of the file `path`, without the blanks at its end.
 *
 * Gives:  *out, which the caller ends with secret_free; untouched on failure.
 * Errors: EXPORTER_RETRY: it is missing or unfit, or its first line is empty or has control
 *         characters; `err` says which, never the secret. EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc secret_read(const char *path, char **out, struct err *err);

/*
 * Copies the first line of a secret in memory, likewise; `what` names it in `err`.
 *
 * Gives:  *out, which the caller ends with secret_free; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG: empty, too long, or with control characters; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc secret_copy(const char *what, const char *text, char **out,
                                        struct err *err);

/* Wipes and frees a secret. NULL is fine. */
void secret_free(char *secret);

#endif
