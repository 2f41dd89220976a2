/* SPDX-License-Identifier: Apache-2.0 */
/* curl_api.c - see curl_api.h. */
#include "exporters/http/curl_api.h"

#include <pthread.h>

#include "base/library.h"

#ifdef LINKED
#define CURL_ADDRESS(name) .name = curl_##name,
struct curl_api libcurl = {CURL_FUNCTIONS(CURL_ADDRESS)};

bool curl_api_load(struct err *err)
{
    (void)err;
    return true;
}
#else
#define CURL_NAME(name) "curl_" #name,
static const char *const names[] = {CURL_FUNCTIONS(CURL_NAME)};
static const struct library library = {
    .file = "libcurl.so.4",
    .packages = "libcurl4 (Debian) or libcurl (Fedora)",
    .names = names,
    .count = sizeof(names) / sizeof(names[0]),
};

struct curl_api libcurl;
static bool loaded;
static struct err failure;

static void load_libcurl_once(void)
{
    loaded = library_load(&library, &libcurl, &failure);
}

bool curl_api_load(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load_libcurl_once);
    if (!loaded)
        err_set(err, "%s", failure.text);
    return loaded;
}
#endif
