/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.h - knows how a client verifies servers, and how it shows who it is.
 *
 * Shape:   http_tls_open, http_tls_set once, http_tls_load before each post,
 *          http_tls_close.
 * Memory:  a private key is read into hidden.h's memory and handed to libcurl there: by
 *          its name, OpenSSL would read it through a buffer of libc's, which nobody wipes.
 */
#ifndef EXPORTERS_HTTP_TLS_H
#define EXPORTERS_HTTP_TLS_H

#include <curl/curl.h>

#include "exporters/exporter.h"

struct http_tls {
    char *ca_file, *cert_file, *key_file; /* owned; NULL: none */
    bool checked;                         /* they were there, and fit */
};

/*
 * Checks the files that the settings name, as libcurl looks at them only when it connects. With
 * `may_wait` they need not be there, which `err` tells.
 *
 * Gives:  *out, ended with http_tls_close, on failure too.
 * Errors: EXPORTER_BAD_CONFIG, EXPORTER_RETRY: one is not there, or not fit; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_tls_open(const struct exporter_settings *settings,
                                          struct http_tls *out, struct err *err);

/* Gives libcurl what stays the same. */
MUST_CHECK CURLcode http_tls_set(const struct exporter_settings *settings, CURL *easy);

/*
 * Gives libcurl the certificate and the key as they are now: they may have been renewed.
 *
 * Errors: EXPORTER_RETRY: they cannot be read; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_tls_load(struct http_tls *tls, CURL *easy, struct err *err);

void http_tls_close(struct http_tls *tls);

#endif
