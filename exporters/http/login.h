/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login.h - holds the secrets of one client, and brings them to libcurl.
 *
 * Shape:   http_login_open, http_login_apply, http_login_renew when a server says
 *          no (then apply again), http_login_close.
 * Threads: belongs to one thread at a time.
 * Memory:  secrets lie in hidden.h's memory only.
 */
#ifndef EXPORTERS_HTTP_LOGIN_H
#define EXPORTERS_HTTP_LOGIN_H

#include <curl/curl.h>

#include "exporters/exporter.h"

struct http_login; /* private */

/*
 * Checks that the settings go together and reads all secrets. With `may_wait` some may be missing,
 * which `err` tells; then http_login_complete comes before the first use.
 *
 * Gives:  *out, which the caller ends with http_login_close; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG, EXPORTER_RETRY: as secret_read has it; EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc http_login_open(const struct exporter_settings *settings,
                                            struct http_login **out, struct err *err);

/*
 * Reads the secrets that are missing. `changed`: there are more than before.
 *
 * Errors: as secret_read has them; some are still missing.
 */
MUST_CHECK enum exporter_rc http_login_complete(struct http_login *login, bool *changed,
                                                struct err *err);

/* Gives libcurl the user, the password, the token and the proxy's login. */
MUST_CHECK CURLcode http_login_apply(const struct http_login *login, CURL *easy);

/*
 * Copies the header lines `plain` and appends those with secrets.
 *
 * Gives:  *out, which the caller ends with curl_slist_free_all; false: out of memory.
 */
MUST_CHECK bool http_login_headers(const struct http_login *login, const struct curl_slist *plain,
                                   struct curl_slist **out);

/* Reads all files again. Gives: true if a secret is another one than before. */
bool http_login_renew(struct http_login *login);

/*
 * Overwrites what a server's words repeat of the secrets, and of any login: some servers and
 * proxies show the request that they refuse, and their words go into the log.
 */
void http_login_scrub(const struct http_login *login, void *words, size_t size);

/* Wipes and frees it. NULL is fine. */
void http_login_close(struct http_login *login);

#endif
