/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_fail.h - lets a test count allocations and make the n-th one fail.
 *
 * Include it in one source file of a test program: it defines malloc, calloc and
 * realloc for the whole program, libraries included, and passes on to the next
 * ones (those of libc, of valgrind, of a sanitizer), so leaks are still seen.
 *
 *     alloc_fail_at(3);          the third allocation from here gives NULL, once
 *     alloc_fail_from(3);        that one and all later ones do
 *     alloc_fail_all();          all of them do
 *     n = alloc_fail_stop();     back to normal; how many there were
 *
 * Threads: arm it only while one thread runs.
 */
#ifndef TESTS_UNIT_ALLOC_FAIL_H
#define TESTS_UNIT_ALLOC_FAIL_H

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * A sanitizer's runtime allocates before it can watch anybody: what runs then must
 * not be instrumented, nor call what is (memcpy).
 */
#define ALLOC_RAW  __attribute__((no_sanitize("address", "undefined", "thread")))
#define ALLOC_SEEN ALLOC_RAW __attribute__((visibility("default")))

static void *(*alloc_next_malloc)(size_t);
static void *(*alloc_next_calloc)(size_t, size_t);
static void *(*alloc_next_realloc)(void *, size_t);
static unsigned long alloc_seen;
static unsigned long alloc_first_bad = ULONG_MAX;
static unsigned long alloc_last_bad = ULONG_MAX;

/* What is asked for while the next functions are being looked up; never freed. */
static _Alignas(max_align_t) unsigned char alloc_early[16384];
static size_t alloc_early_used;
static int alloc_looking;

ALLOC_RAW static void *alloc_from_early(size_t size)
{
    size_t at = alloc_early_used;

    if (size > sizeof(alloc_early) - at - sizeof(max_align_t))
        abort();
    alloc_early_used +=
        (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    return alloc_early + at;
}

/* An address sanitizer's own, there only if one is linked in. */
void *__interceptor_malloc(size_t) __attribute__((weak));
void *__interceptor_calloc(size_t, size_t) __attribute__((weak));
void *__interceptor_realloc(void *, size_t) __attribute__((weak));

ALLOC_RAW static void alloc_look(void)
{
    if (__interceptor_malloc && __interceptor_calloc && __interceptor_realloc) {
        alloc_next_malloc = __interceptor_malloc;
        alloc_next_calloc = __interceptor_calloc;
        alloc_next_realloc = __interceptor_realloc;
        return;
    }
    alloc_looking = 1; /* the casts are dlsym's own idiom */
    *(void **)&alloc_next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&alloc_next_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&alloc_next_realloc = dlsym(RTLD_NEXT, "realloc");
    alloc_looking = 0;
}

ALLOC_RAW static int alloc_is_bad(void)
{
    alloc_seen++;
    if (alloc_seen < alloc_first_bad || alloc_seen > alloc_last_bad)
        return 0;
    errno = ENOMEM;
    return 1;
}

ALLOC_SEEN void *malloc(size_t size)
{
    if (!alloc_next_malloc) {
        if (alloc_looking)
            return alloc_from_early(size);
        alloc_look();
    }
    return alloc_is_bad() ? NULL : alloc_next_malloc(size);
}

ALLOC_SEEN void *calloc(size_t count, size_t size)
{
    if (!alloc_next_calloc) {
        if (alloc_looking)
            return alloc_from_early(count * size); /* static memory: it is 0 */
        alloc_look();
    }
    return alloc_is_bad() ? NULL : alloc_next_calloc(count, size);
}

ALLOC_SEEN void *realloc(void *old, size_t size)
{
    if (!alloc_next_realloc)
        alloc_look();
    return alloc_is_bad() ? NULL : alloc_next_realloc(old, size);
}

/* The n-th allocation from here on (1 is the next) fails, and only that one. */
static inline void alloc_fail_at(unsigned long n)
{
    alloc_seen = 0;
    alloc_first_bad = n;
    alloc_last_bad = n;
}

/* The n-th allocation from here on fails, and every one after it. */
static inline void alloc_fail_from(unsigned long n)
{
    alloc_seen = 0;
    alloc_first_bad = n;
    alloc_last_bad = ULONG_MAX;
}

/* Every allocation from here on fails. */
static inline void alloc_fail_all(void)
{
    alloc_fail_from(1);
}

/* Lets allocations pass again. Gives how many were asked for since they were armed. */
static inline unsigned long alloc_fail_stop(void)
{
    alloc_first_bad = ULONG_MAX;
    alloc_last_bad = ULONG_MAX;
    return alloc_seen;
}

#endif
