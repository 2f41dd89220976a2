/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - loads a shared library when it is first needed, and finds the functions in it.
 *
 * libcurl, libmicrohttpd and ncurses depend on thirty more libraries. Loading them takes longer
 * than all else that `pystrobe exec` does before its command runs; most commands need none.
 *
 * The folder that uses a library has one X-list of the functions that it calls. The list makes a
 * struct of pointers, one for each function, and the list of their names. P is the prefix of the
 * library's names, which the pointers do not have:
 *
 *     #define ZLIB_FUNCTIONS(X, P) X(P, open) X(P, read)
 *     struct zlib_api {
 *         ZLIB_FUNCTIONS(LIBRARY_POINTER, gz)
 *     };
 *
 *     static const char *const names[] = {ZLIB_FUNCTIONS(LIBRARY_NAME, gz)};
 *     struct zlib_api zlib = {ZLIB_FUNCTIONS(LIBRARY_ADDRESS, gz)};
 *     static struct library library = {LIBRARY_TABLE(names, zlib), .file = "libz.so.1", ...};
 *
 * After library_load(&library, err) a call reads zlib.open(...).
 *
 * With -DLINKED the struct has the addresses of a library that is linked in, for the binary
 * build/pystrobe-linked: from it packagers' tools find out what a package depends on.
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

/* What an X-list makes of a function: pointer in the struct, name, and the pointer's value. */
#define LIBRARY_POINTER(prefix, name) __typeof__(prefix##name) *name;
#define LIBRARY_NAME(prefix, name)    #prefix #name,
#define LIBRARY_ADDRESS(prefix, name) .name = LIBRARY_FUNCTION(prefix##name),

struct library {
    const char *file;         /* static: name for dlopen, e.g. "libz.so.1" */
    const char *packages;     /* static: packages that have it, for messages: "zlib1g (Debian)" */
    const char *needed_by;    /* static: part that needs it, for messages: "pystrobe top" */
    const char *const *names; /* static: names of the functions */
    size_t count;             /* number of functions */
    void *functions;          /* static: struct of `count` pointers, in the order of the names */
    pthread_mutex_t lock;     /* guards `loaded`, and `functions` until `loaded` is true */
    bool loaded;              /* all of `functions` is set */
};

/* Initialises the members of a struct library that follow from its names and its pointers. */
#define LIBRARY_TABLE(names_array, pointers)                                         \
    .names = (names_array), .count = sizeof(names_array) / sizeof((names_array)[0]), \
    .functions = &(pointers), .lock = PTHREAD_MUTEX_INITIALIZER, .loaded = LIBRARY_IS_LINKED

/*
 * Loads the library, which stays loaded until the process ends, because threads may be in it.
 *
 * Gives:  true: all of `functions` is set.
 * Errors: false: the library or a function is missing; `err` says which, what needs it, and the
 *         packages. All of `functions` is NULL then, and the next call tries again.
 * Cost:   some milliseconds for the first call, a lock for each later one.
 */
MUST_CHECK bool library_load(struct library *library, struct err *err);

#endif
