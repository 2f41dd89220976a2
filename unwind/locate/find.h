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
    cpy_addr runtime;     /* address of _PyRuntime; in 3.6, which has none, of interp_head */
    cpy_addr gil_current; /* address of the pointer to the GIL's holder, before 3.12; else 0 */
    uint32_t hexversion;
    struct layout layout;
    struct cpy_binary binary; /* the program or library that has it; "" in a memory image */
    cpy_addr object;          /* address where `binary` is mapped; 0 in a memory image */
};

/*
 * Finds the interpreter that runs in a process; `proc_fd` is its /proc directory.
 *
 * A process can have several CPythons mapped, of which one is in use: each is tried until one has
 * live, consistent state. First come exported symbols of the program and libpythons, then of all
 * other objects, then sections and symbols in the files.
 * Errors: CPY_FOREIGN, CPY_STARTING, CPY_GONE, CPY_DENIED, CPY_NOMEM.
 */
MUST_CHECK enum cpy_rc find_runtime(struct mem *mem, int proc_fd, struct found *out,
                                    struct err *err);

/*
 * Finds another interpreter that lives in the process beside `first`: the program's own, or one of
 * a libpython that exports its runtime.
 *
 * Errors: CPY_FOREIGN: there is none, or the process cannot be read.
 * Cost:   reads the memory map, and a few ELF tables of the program and of each other libpython.
 */
MUST_CHECK enum cpy_rc find_another(struct mem *mem, int proc_fd, const struct found *first,
                                    struct found *out);

/*
 * Checks the runtime state at out->runtime, and sets layout, hexversion and, from 3.7 to 3.11,
 * gil_current. `hexversion`: the version as known from elsewhere; from 3.13 on not used.
 *
 * Errors: as find_runtime.
 */
MUST_CHECK enum cpy_rc find_accept(struct mem *mem, uint32_t hexversion, struct found *out,
                                   struct err *err);

#endif
