/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h - turns an exporter's settings into what an HTTP request needs.
 *
 * Threads: functions of their arguments alone.
 */
#ifndef EXPORTERS_HTTP_SETUP_H
#define EXPORTERS_HTTP_SETUP_H

#include <curl/curl.h>

#include "exporters/http/client.h"

/*
 * Checks the base URL `url` and puts `path` (without a slash in front) behind it, unless
 * that is NULL.
 *
 * Gives:  *out, which the caller frees; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG: not http(s), no host, a user or password in it, a
 *         query or a fragment; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_setup_url(const char *url, const char *path, char **out,
                                           struct err *err);

/*
 * Makes the header lines: what the resource is, the tenant and the settings' own.
 *
 * Gives:  *out, which the caller ends with curl_slist_free_all; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG: a name or value that HTTP has no room for, or a
 *         header that is not the user's to set; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_setup_headers(const struct exporter_settings *settings,
                                               const struct http_resource *resource,
                                               struct curl_slist **out, struct err *err);

/* Checks a header of the user's. Errors: EXPORTER_BAD_CONFIG. */
MUST_CHECK enum exporter_rc http_setup_check_header(const struct exporter_settings *settings,
                                                    const struct label *header, struct err *err);

/* Checks that libcurl speaks HTTP/2. Errors: EXPORTER_BAD_CONFIG. */
MUST_CHECK enum exporter_rc http_setup_check_http2(struct err *err);

/* True if this libcurl, 7.87 to 7.88, can use a connection of HTTP/2 without TLS but once. */
bool http_setup_breaks_http2(void);

/* Checks a proxy: NULL, "none", or its URL. Errors: EXPORTER_BAD_CONFIG, EXPORTER_NOMEM. */
MUST_CHECK enum exporter_rc http_setup_check_proxy(const char *proxy, struct err *err);

#endif
