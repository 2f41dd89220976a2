/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice.h - knows remedies for libcurl's errors.
 *
 * Threads: all functions may be called from any thread; they keep no state.
 */
#ifndef EXPORTERS_HTTP_ADVICE_H
#define EXPORTERS_HTTP_ADVICE_H

#include <curl/curl.h>

/* Gives a remedy for a failure that libcurl described as `text`: " (...)"; "": none. Static. */
const char *http_advice(CURLcode code, const char *text);

#endif
