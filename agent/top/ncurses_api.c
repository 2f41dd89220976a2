/* SPDX-License-Identifier: Apache-2.0 */
/* ncurses_api.c - see ncurses_api.h. */
#include "agent/top/ncurses_api.h"

static const char *const names[] = {NCURSES_FUNCTIONS(LIBRARY_NAME, )};
struct ncurses_api ncurses = {NCURSES_FUNCTIONS(LIBRARY_ADDRESS, )};

static struct library library = {
    LIBRARY_TABLE(names, ncurses),
    .file = "libncursesw.so.6",
    .packages = "libncursesw6 (Debian) or ncurses-libs (Fedora)",
    .needed_by = "pystrobe top",
};

bool ncurses_api_load(struct err *err)
{
    return library_load(&library, err);
}
