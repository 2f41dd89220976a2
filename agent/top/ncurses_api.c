/* SPDX-License-Identifier: Apache-2.0 */
/* ncurses_api.c - see ncurses_api.h. */
#include "agent/top/ncurses_api.h"

#include <pthread.h>

#include "base/library.h"

#ifdef LINKED
#define NCURSES_ADDRESS(name) .name = name,
struct ncurses_api ncurses = {NCURSES_FUNCTIONS(NCURSES_ADDRESS)};

bool ncurses_api_load(struct err *err)
{
    (void)err;
    return true;
}
#else
#define NCURSES_NAME(name) #name,
static const char *const names[] = {NCURSES_FUNCTIONS(NCURSES_NAME)};
static const struct library library = {
    .file = "libncursesw.so.6",
    .packages = "libncursesw6 (Debian) or ncurses-libs (Fedora)",
    .names = names,
    .count = sizeof(names) / sizeof(names[0]),
};

struct ncurses_api ncurses;
static bool loaded;
static struct err failure;

static void load_ncurses_once(void)
{
    loaded = library_load(&library, &ncurses, &failure);
}

bool ncurses_api_load(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load_ncurses_once);
    if (!loaded)
        err_set(err, "%s", failure.text);
    return loaded;
}
#endif
