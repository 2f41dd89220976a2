/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.h - finds CPython's runtime state in a process, and which version it is.
 */
#ifndef UNWIND_FIND_H
#define UNWIND_FIND_H

#include "unwind/layout.h"
#include "unwind/mem.h"

struct found {
    cpy_addr runtime;
    uint32_t hexversion;
    struct layout layout;
};

/*
 * Finds the interpreter that runs in a process; `proc_fd` is its /proc directory.
 *
 * A process can have several CPythons mapped, of which one is in use: each is tried
 * until one holds live, consistent state.
 * Errors: CPY_FOREIGN, CPY_STARTING, CPY_GONE, CPY_DENIED, CPY_NOMEM.
 */
MUST_CHECK enum cpy_rc find_runtime(struct mem *mem, int proc_fd, struct found *out,
                                    struct err *err);

/*
 * Checks a runtime state at `out->runtime` and fills the rest of `out`. `hexversion` is
 * what Py_Version says, 0 where that is not known.
 */
MUST_CHECK enum cpy_rc find_accept(struct mem *mem, uint32_t hexversion, struct found *out,
                                   struct err *err);

#endif
