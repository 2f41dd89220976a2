/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - see library.h. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

static bool load_functions(const struct library *library, struct err *err)
{
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL), *found;
    unsigned char *functions = library->functions;

    if (!handle) {
        err_set(err, "%s cannot be loaded (%s); needed by %s; install %s", library->file, dlerror(),
                library->needed_by, library->packages);
        return false;
    }
    for (size_t i = 0; i < library->count; i++) {
        found = dlsym(handle, library->names[i]);
        if (!found) {
            err_set(err, "%s has no function %s: it is too old; needed by %s; install %s",
                    library->file, library->names[i], library->needed_by, library->packages);
            memset(functions, 0, i * sizeof(found));
            return false;
        }
        memcpy(functions + i * sizeof(found), &found, sizeof(found));
    }
    return true;
}

bool library_load(struct library *library, struct err *err)
{
    bool loaded;

    (void)pthread_mutex_lock(&library->lock);
    loaded = library->loaded = library->loaded || load_functions(library, err);
    (void)pthread_mutex_unlock(&library->lock);
    return loaded;
}
