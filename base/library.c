/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - see library.h. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

bool library_load(const struct library *library, void *functions, struct err *err)
{
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL), *found;
    size_t i;

    if (!handle) {
        err_set(err, "%s cannot be loaded (%s); install %s", library->file, dlerror(),
                library->packages);
        return false;
    }
    for (i = 0; i < library->count; i++)
        if (!dlsym(handle, library->names[i])) {
            err_set(err, "%s has no function %s: it is too old; install %s", library->file,
                    library->names[i], library->packages);
            return false;
        }
    for (i = 0; i < library->count; i++) {
        found = dlsym(handle, library->names[i]);
        memcpy((unsigned char *)functions + i * sizeof(found), &found, sizeof(found));
    }
    return true;
}
