/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h - makes the URL and the headers of a request, and checks the headers of the settings.
 *
 * Threads: all functions may be called from any thread; they keep no state.
 */
#ifndef EXPORTERS_HTTP_SETUP_H
#define EXPORTERS_HTTP_SETUP_H

#include <curl/curl.h>

#include "exporters/http/client.h"

/*
 * Appends "/" and `path` to the base URL `url`, unless `path` is NULL.
 *
 * Gives:  *out, which the caller frees; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG: `url` is NULL or empty; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_setup_url(const char *url, const char *path, char **out,
                                           struct err *err);

/*
 * Makes the header lines of the resource, the tenant and the settings. Secret headers are left out,
 * but their names are checked.
 *
 * Gives:  *out, which the caller ends with curl_slist_free_all; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG: a name or value that HTTP does not allow, or a header that users may
 *         not set; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_setup_headers(const struct exporter_settings *settings,
                                               const struct http_resource *resource,
                                               struct curl_slist **out, struct err *err);

/* Checks a header that a user has set. Errors: EXPORTER_BAD_CONFIG. */
MUST_CHECK enum exporter_rc http_setup_check_header(const struct exporter_settings *settings,
                                                    const struct label *header, struct err *err);

/* Checks that libcurl speaks HTTP/2. Errors: EXPORTER_BAD_CONFIG. */
MUST_CHECK enum exporter_rc http_setup_check_http2(struct err *err);

/* True if this libcurl (7.87, 7.88) fails when it reuses an HTTP/2 connection without TLS. */
bool http_setup_breaks_http2(void);

#endif
