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
 *     #define ZLIB_POINTER(name) __typeof__(name) *name;
 *         ZLIB_FUNCTIONS(ZLIB_POINTER)
 *     };
 *
 *     #define ZLIB_NAME(name) #name,
 *     #define ZLIB_ADDRESS(name) .name = LIBRARY_FUNCTION(name),
 *     static const char *const names[] = {ZLIB_FUNCTIONS(ZLIB_NAME)};
 *     struct zlib_api zlib = {ZLIB_FUNCTIONS(ZLIB_ADDRESS)};
 *     static struct library library = {LIBRARY_TABLE(names, zlib), .file = "libz.so.1", ...};
 *
 * After library_load(&library, err) a call reads zlib.inflate(...).
 *
 * Compiled with -DLINKED, the struct has the addresses of a library that is linked in: packagers'
 * tools find out from build/pystrobe-linked what a package depends on.
 *
 * Threads: library_load may be called from any thread.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#ifdef LINKED
#define LIBRARY_FUNCTION(function) (function)
#define LIBRARY_IS_LINKED          true
#else
#define LIBRARY_FUNCTION(function) NULL
#define LIBRARY_IS_LINKED          false
#endif

struct library {
    const char *file;         /* static: as the dynamic linker finds it, e.g. "libz.so.1" */
    const char *packages;     /* static: that have it, for a message: "zlib1g (Debian)" */
    const char *needed_by;    /* static: for a message: "pystrobe top" */
    const char *const *names; /* static: of the functions */
    size_t count;             /* of them */
    void *functions;          /* static: a pointer for each of them, in the order of the names */
    pthread_mutex_t lock;     /* of `loaded`, and of `functions` until it is true */
    bool loaded;
};

/* The members of a struct library that its array of names and its struct of pointers give. */
#define LIBRARY_TABLE(names_array, pointers)                                         \
    .names = (names_array), .count = sizeof(names_array) / sizeof((names_array)[0]), \
    .functions = &(pointers), .lock = PTHREAD_MUTEX_INITIALIZER, .loaded = LIBRARY_IS_LINKED

/*
 * Loads the library, which stays loaded to the end of the process: threads may be in it.
 *
 * Gives:  all of `functions`.
 * Errors: false: the library or a function is missing; `err` says which, what needs it, and the
 *         packages. All of `functions` is NULL then, and the next call tries again.
 * Cost:   some milliseconds at the first call, a lock at the others.
 */
MUST_CHECK bool library_load(struct library *library, struct err *err);

#endif
