/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.h - finds CPython's runtime state in a process, and its version.
 *
 * The folder unwind/locate/ knows memory maps and ELF files: where the interpreter and its symbols
 * are in a process. It knows no frames, threads or objects.
 */
#ifndef UNWIND_LOCATE_FIND_H
#define UNWIND_LOCATE_FIND_H

#include "unwind/layouts/layout.h"
#include "unwind/read/mem.h"

struct found {
    cpy_addr runtime;     /* _PyRuntime; in 3.6, which has none, interp_head */
    cpy_addr gil_current; /* word with the thread state that holds the only GIL; 0: none */
    uint32_t hexversion;
    struct layout layout;
    struct cpy_binary binary; /* where it was found; "" in a memory image */
    cpy_addr object;          /* where that is mapped; 0 in a memory image */
};

/*
 * Finds the interpreter that runs in a process; `proc_fd` is its /proc directory.
 *
 * A process can have several CPythons mapped, of which one is in use: each is tried until one holds
 * live, consistent state. The program's own comes first, then those of libpythons.
 * Errors: CPY_FOREIGN, CPY_STARTING, CPY_GONE, CPY_DENIED, CPY_NOMEM.
 */
MUST_CHECK enum cpy_rc find_runtime(struct mem *mem, int proc_fd, struct found *out,
                                    struct err *err);

/*
 * Finds another interpreter that lives in the process beside `first`: the program's own, or one of
 * a libpython that exports its runtime.
 *
 * Errors: CPY_FOREIGN: there is none, or the process cannot be looked into.
 * Cost:   reads the memory map, and a few ELF tables of the program and of each other libpython.
 */
MUST_CHECK enum cpy_rc find_another(struct mem *mem, int proc_fd, const struct found *first,
                                    struct found *out);

/*
 * Checks a runtime state at `out->runtime` and fills the rest of `out`; gil_current is left
 * where the version has no place for it. `hexversion` is the version as far as it is known
 * from elsewhere: debug offsets tell it themselves.
 */
MUST_CHECK enum cpy_rc find_accept(struct mem *mem, uint32_t hexversion, struct found *out,
                                   struct err *err);

#endif
