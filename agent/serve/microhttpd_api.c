/* SPDX-License-Identifier: Apache-2.0 */
/* microhttpd_api.c - see microhttpd_api.h. */
#include "agent/serve/microhttpd_api.h"

static const char *const names[] = {MICROHTTPD_FUNCTIONS(LIBRARY_NAME, MHD_)};
struct microhttpd_api microhttpd = {MICROHTTPD_FUNCTIONS(LIBRARY_ADDRESS, MHD_)};

static struct library library = {
    LIBRARY_TABLE(names, microhttpd),
    .file = "libmicrohttpd.so.12",
    .packages = "libmicrohttpd12 (Debian) or libmicrohttpd (Fedora)",
    .needed_by = "[http] listen",
};

bool microhttpd_api_load(struct err *err)
{
    return library_load(&library, err);
}
