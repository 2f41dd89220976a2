/* SPDX-License-Identifier: Apache-2.0 */
/* microhttpd_api.c - see microhttpd_api.h. */
#include "agent/serve/microhttpd_api.h"

#include <pthread.h>

#include "base/library.h"

#ifdef LINKED
#define MICROHTTPD_ADDRESS(name) .name = MHD_##name,
struct microhttpd_api microhttpd = {MICROHTTPD_FUNCTIONS(MICROHTTPD_ADDRESS)};

bool microhttpd_api_load(struct err *err)
{
    (void)err;
    return true;
}
#else
#define MICROHTTPD_NAME(name) "MHD_" #name,
static const char *const names[] = {MICROHTTPD_FUNCTIONS(MICROHTTPD_NAME)};
static const struct library library = {
    .file = "libmicrohttpd.so.12",
    .packages = "libmicrohttpd12 (Debian) or libmicrohttpd (Fedora)",
    .names = names,
    .count = sizeof(names) / sizeof(names[0]),
};

struct microhttpd_api microhttpd;
static bool loaded;
static struct err failure;

static void load_microhttpd_once(void)
{
    loaded = library_load(&library, &microhttpd, &failure);
}

bool microhttpd_api_load(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load_microhttpd_once);
    if (!loaded)
        err_set(err, "%s", failure.text);
    return loaded;
}
#endif
