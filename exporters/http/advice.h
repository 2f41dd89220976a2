/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice.h - knows the cure for what libcurl complains of.
 *
 * Threads: functions of their arguments alone.
 */
#ifndef EXPORTERS_HTTP_ADVICE_H
#define EXPORTERS_HTTP_ADVICE_H

#include <curl/curl.h>

/* What to do about a failure that libcurl described as `text`, e.g. " (...)"; "": nothing known. */
const char *http_advice(CURLcode code, const char *text);

#endif
