/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_api.h - the functions of libcurl that are used, loaded when they are first needed:
 * base/library.h says how and why. libcurl.NAME(...) calls libcurl's curl_NAME.
 *
 * Threads: any.
 */
#ifndef EXPORTERS_HTTP_CURL_API_H
#define EXPORTERS_HTTP_CURL_API_H

#include <curl/curl.h>
#include <stdbool.h>

#include "base/library.h"

/* clang-format off */
#define CURL_FUNCTIONS(X, P) \
    X(P, global_init_mem) X(P, global_cleanup) X(P, version) X(P, version_info) X(P, getdate) \
    X(P, easy_init) X(P, easy_setopt) X(P, easy_getinfo) X(P, easy_strerror) X(P, easy_cleanup) \
    X(P, multi_init) X(P, multi_add_handle) X(P, multi_remove_handle) X(P, multi_perform) \
    X(P, multi_poll) X(P, multi_wakeup) X(P, multi_info_read) X(P, multi_cleanup) \
    X(P, slist_append) X(P, slist_free_all)
/* clang-format on */

struct curl_api {
    CURL_FUNCTIONS(LIBRARY_POINTER, curl_)
};

/* All pointers are NULL until curl_api_load has succeeded. */
extern struct curl_api libcurl;

/*
 * Numbers of options that the header may be too old for. The libcurl at run time may be older or
 * newer than the header, so no version is checked at compile time.
 */
enum {
    CURL_OPTION_PROTOCOLS = 181,        /* before 7.85 */
    CURL_OPTION_PROTOCOLS_STR = 10318,  /* its successor, from 7.85 on */
    CURL_OPTION_CA_CACHE_TIMEOUT = 321, /* from 7.87 on */
    CURL_OPTION_QUICK_EXIT = 322        /* from 7.87 on */
};

/*
 * Sets an option of `easy` if the variable `code` is CURLE_OK, and stores the outcome there. A
 * macro because each option has a value of its own type.
 */
#define CURL_SET(code, easy, option, value) \
    ((code) = (code) == CURLE_OK ? libcurl.easy_setopt((easy), (option), (value)) : (code))

/* Gives `code`, but CURLE_OK if it means that libcurl or its TLS library lacks the option. */
CURLcode curl_api_optional(CURLcode code);

/* Loads libcurl if it is not loaded yet. Errors: false: `err` says why, as library_load does. */
MUST_CHECK bool curl_api_load(struct err *err);

#endif
