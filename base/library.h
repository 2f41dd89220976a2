/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - loads a shared library when it is first needed, and finds the functions in it.
 *
 * libcurl, libmicrohttpd and ncurses bring thirty more libraries; to load these takes longer than
 * everything else that `pystrobe exec` does before its command runs, and most commands need none.
 *
 * The folder that uses a library has one X-list of the functions that it calls. The list makes a
 * struct of pointers, one for each function, and the list of their names:
 *
 *     #define ZLIB_FUNCTIONS(X) X(inflate) X(deflate)
 *     struct zlib_api {
 *     #define LIBRARY_POINTER(name) __typeof__(name) *name;
 *         ZLIB_FUNCTIONS(LIBRARY_POINTER)
 *     };
 *
 * Compiled with -DLINKED, the struct has the addresses of a library that is linked in: packagers'
 * tools find out from build/pystrobe-linked what a package depends on.
 *
 * Threads: library_load may be called from any thread.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct library {
    const char *file;         /* static: as the dynamic linker finds it, e.g. "libz.so.1" */
    const char *packages;     /* static: that have it, for a message: "zlib1g (Debian)" */
    const char *const *names; /* static: of the functions */
    size_t count;             /* of them */
};

/*
 * Loads the library, which stays loaded to the end of the process: threads may be in it.
 *
 * Gives:  `functions`, which is `count` pointers to functions, in the order of the names.
 * Errors: false: the library or a function is missing; `err` says which, and the packages. Nothing
 *         was written then.
 * Cost:   some milliseconds at the first call.
 */
MUST_CHECK bool library_load(const struct library *library, void *functions, struct err *err);

#endif
