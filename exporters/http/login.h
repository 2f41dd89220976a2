/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login.h - holds the secrets of one client, and gives them to libcurl.
 *
 * Shape:   http_login_open, http_login_apply and http_login_headers; http_login_renew when a server
 *          refuses (if true, apply again); http_login_close.
 * Threads: belongs to one thread at a time.
 * Memory:  secrets are kept only in hidden.h's memory.
 */
#ifndef EXPORTERS_HTTP_LOGIN_H
#define EXPORTERS_HTTP_LOGIN_H

#include <curl/curl.h>

#include "exporters/exporter.h"

struct http_login; /* private */

/*
 * Checks the combination of settings and reads all secrets. With settings->may_wait files may be
 * missing or unfit: `err` has a text then, and http_login_complete must succeed before first use.
 *
 * Gives:  *out, which the caller ends with http_login_close; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG; EXPORTER_RETRY: a file is missing or unfit; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_login_open(const struct exporter_settings *settings,
                                            struct http_login **out, struct err *err);

/*
 * Reads the secrets that are missing. *changed: at least one was read.
 *
 * Errors: EXPORTER_RETRY, EXPORTER_NOMEM; some secrets are still missing.
 */
MUST_CHECK enum exporter_rc http_login_complete(struct http_login *login, bool *changed,
                                                struct err *err);

/* Sets the user, the password, the token and the proxy's login on `easy`. */
MUST_CHECK CURLcode http_login_apply(const struct http_login *login, CURL *easy);

/*
 * Copies the header lines `plain` and appends those with secrets.
 *
 * Gives:  *out, which the caller ends with curl_slist_free_all; false: out of memory.
 */
MUST_CHECK bool http_login_headers(const struct http_login *login, const struct curl_slist *plain,
                                   struct curl_slist **out);

/* Reads all files again. Gives: true if a secret has changed. Ignores files that are unfit now. */
bool http_login_renew(struct http_login *login);

/*
 * Overwrites by '*' each secret of 4 bytes or more in a server's words, and any text after "basic "
 * or "bearer ". Some servers and proxies repeat the request that they refuse, and their words are
 * logged.
 */
void http_login_scrub(const struct http_login *login, void *words, size_t size);

/* Wipes and frees all secrets. NULL is fine. */
void http_login_close(struct http_login *login);

#endif
