/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - which pystrobe this is. */
#ifndef AGENT_HOST_VERSION_H
#define AGENT_HOST_VERSION_H

#include <stdbool.h>

#include "base/err.h"

extern const char version_number[];   /* "0.1.0" */
extern const char version_revision[]; /* of the source: "1a2b3c4d5e6f" */

/* "pystrobe/0.1.0": for HTTP and for profiles. */
extern const char version_agent[];

/* Prints what --version shows; `curl_version` is libcurl's text. False: it cannot be written. */
MUST_CHECK bool version_print(bool as_json, const char *curl_version);

#endif
