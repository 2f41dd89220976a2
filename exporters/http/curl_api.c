/* SPDX-License-Identifier: Apache-2.0 */
/* curl_api.c - see curl_api.h. */
#include "exporters/http/curl_api.h"

static const char *const names[] = {CURL_FUNCTIONS(LIBRARY_NAME, curl_)};
struct curl_api libcurl = {CURL_FUNCTIONS(LIBRARY_ADDRESS, curl_)};

static struct library library = {
    LIBRARY_TABLE(names, libcurl),
    .file = "libcurl.so.4",
    .packages = "libcurl4 (Debian) or libcurl (Fedora)",
    .needed_by = "exporters to servers",
};

bool curl_api_load(struct err *err)
{
    return library_load(&library, err);
}

CURLcode curl_api_optional(CURLcode code)
{
    return code == CURLE_UNKNOWN_OPTION || code == CURLE_NOT_BUILT_IN ? CURLE_OK : code;
}
