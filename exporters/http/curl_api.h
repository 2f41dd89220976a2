/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_api.h - the functions of libcurl that we call, loaded when they are first needed:
 * base/library.h says how and why. A call reads libcurl.NAME(...), where libcurl itself has
 * curl_NAME.
 *
 * Threads: any.
 */
#ifndef EXPORTERS_HTTP_CURL_API_H
#define EXPORTERS_HTTP_CURL_API_H

#include <curl/curl.h>
#include <stdbool.h>

#include "base/err.h"

/* clang-format off */
#define CURL_FUNCTIONS(X) \
    X(global_init_mem) X(global_cleanup) X(version) X(version_info) \
    X(getdate) X(free) X(easy_init) X(easy_setopt) \
    X(easy_getinfo) X(easy_strerror) X(easy_cleanup) X(multi_init) \
    X(multi_add_handle) X(multi_remove_handle) X(multi_perform) X(multi_poll) \
    X(multi_wakeup) X(multi_info_read) X(multi_cleanup) X(slist_append) \
    X(slist_free_all) X(url) X(url_set) X(url_get) \
    X(url_cleanup)
/* clang-format on */

struct curl_api {
#define CURL_POINTER(name) __typeof__(curl_##name) *name;
    CURL_FUNCTIONS(CURL_POINTER)
#undef CURL_POINTER
};

/* All of it is NULL until curl_api_load has succeeded. */
extern struct curl_api libcurl;

/*
 * Options that the header may be too old for, by number. libcurl itself is another one at run time,
 * older or newer: so its version is not asked when this is compiled.
 */
enum {
    CURL_OPTION_PROTOCOLS = 181,        /* until 7.85, from when on it is */
    CURL_OPTION_PROTOCOLS_STR = 10318,  /* this one */
    CURL_OPTION_CA_CACHE_TIMEOUT = 321, /* 7.87 */
    CURL_OPTION_QUICK_EXIT = 322        /* 7.87 */
};

/* What setting an option came to, if it may be unknown to this libcurl or its TLS library. */
CURLcode curl_api_optional(CURLcode code);

/* Loads libcurl if it is not loaded yet. Errors: false: `err` says why, as library_load does. */
MUST_CHECK bool curl_api_load(struct err *err);

#endif
