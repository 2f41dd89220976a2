/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images.h - which golden images can be read on this machine.
 *
 * They are of x86-64 processes. From 3.12 on that makes no difference; before, where the runtime's
 * fields lie depends on the size of a mutex, which is another on aarch64.
 */
#ifndef TESTS_UNIT_UNWIND_IMAGES_H
#define TESTS_UNIT_UNWIND_IMAGES_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__aarch64__)
enum { IMAGES_FROM_MINOR = 12, IMAGES_MUTEX_SHIFT = 16 };
#else
enum { IMAGES_FROM_MINOR = 0, IMAGES_MUTEX_SHIFT = 0 };
#endif

/* `path` ends with "/3.MINOR...". */
static inline bool image_fits(const char *path)
{
    const char *name = strrchr(path, '/');

    return name && strtol(name + strlen("/3."), NULL, 10) >= IMAGES_FROM_MINOR;
}

#endif
