/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps.h - the objects (programs and libraries) that a process has loaded, in order of address.
 *
 * A memory map may have a million lines: data files, heaps, stacks and parts of one mapping whose
 * protections differ. It is read line by line, and only what may be the start of an object is
 * kept, so that memory is needed for the objects, and not for the lines.
 *
 * Cost: 0.7 us a line, most of it the kernel's.
 */
#ifndef UNWIND_LOCATE_MAPS_H
#define UNWIND_LOCATE_MAPS_H

#include "base/arena.h"
#include "base/proc_map.h"
#include "unwind/cpy.h"

enum { MAPS_BYTES_MAX = 8 << 20 }; /* of what is kept: enough for 50,000 objects */

/*
 * The mappings that may be the first of a loaded object. Such a mapping is readable and begins at
 * the start of a file; it is executable, or another part of the same file follows before another
 * file begins. That leaves out data files, of which a process may have mapped a hundred thousand.
 */
struct maps {
    struct proc_map *maps; /* owned */
    size_t count, capacity;
    size_t lines;       /* of the memory map, kept or not: measure of what reading it cost */
    size_t bytes;       /* of `maps` and their paths */
    struct arena paths; /* owned */
};

/*
 * Reads the memory map of the process whose /proc directory is `proc_fd`.
 *
 * Gives:  *out, ended with maps_finish; nothing to end on failure.
 * Errors: CPY_GONE (also a kernel thread), CPY_DENIED, CPY_FOREIGN (a malformed line, or more to
 *         keep than MAPS_BYTES_MAX), CPY_NOMEM; `err` says why.
 */
MUST_CHECK enum cpy_rc maps_read(int proc_fd, struct maps *out, struct err *err);

/* The same from an open maps file. */
MUST_CHECK enum cpy_rc maps_read_file(int fd, struct maps *out, struct err *err);

/* Frees what it holds. */
void maps_finish(struct maps *maps);

#endif
