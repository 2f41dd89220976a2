/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.h - sets the CAs that a client trusts, and its own certificate and key.
 *
 * Shape:   http_tls_open; http_tls_set once for each curl handle, http_tls_load before each post;
 *          http_tls_close.
 * Memory:  a private key is read into hidden.h's memory and given to libcurl from there. If libcurl
 *          got the file's name, OpenSSL would read it through a buffer of libc that is not wiped.
 */
#ifndef EXPORTERS_HTTP_TLS_H
#define EXPORTERS_HTTP_TLS_H

#include <curl/curl.h>

#include "exporters/exporter.h"

struct http_tls {
    char *ca_file, *cert_file, *key_file; /* owned; NULL: none */
    bool checked;                         /* all files were found and fit */
};

/*
 * Checks the files that the settings name, because libcurl reads them only when it connects. With
 * settings->may_wait a missing or unfit file is no error, but `err` has a text.
 *
 * Gives:  *out, which the caller ends with http_tls_close, on failure too.
 * Errors: EXPORTER_BAD_CONFIG; EXPORTER_RETRY: a file is missing or unfit; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_tls_open(const struct exporter_settings *settings,
                                          struct http_tls *out, struct err *err);

/* Sets TLS 1.2 or later, verification and the CAs on `easy`. */
MUST_CHECK CURLcode http_tls_set(const struct exporter_settings *settings, CURL *easy);

/*
 * Sets the certificate and the key on `easy`. Reads the files each time, because they may have been
 * renewed; checks all files first if that has not succeeded yet.
 *
 * Errors: EXPORTER_RETRY: a file is missing, unfit or unreadable; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_tls_load(struct http_tls *tls, CURL *easy, struct err *err);

/* Frees the paths. */
void http_tls_close(struct http_tls *tls);

#endif
