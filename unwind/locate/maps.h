/* SPDX-License-Identifier: Apache-2.0 */
/* maps.h - the files that a process has mapped, in order of address. */
#ifndef UNWIND_LOCATE_MAPS_H
#define UNWIND_LOCATE_MAPS_H

#include "base/arena.h"
#include "base/proc_map.h"
#include "unwind/cpy.h"

enum {
    MAPS_LINES_MAX = 1 << 20, /* of the memory map */
    MAPS_MAX = 65536,         /* that are kept, */
    MAPS_BYTES_MAX = 32 << 20 /* and bytes of their paths */
};

/* The mappings that may be the first of a loaded object: readable, of a file, from its start. */
struct maps {
    struct proc_map *maps; /* owned */
    size_t count, capacity;
    struct arena paths; /* owned */
};

/*
 * Reads the memory map of the process whose /proc directory is `proc_fd`. The map may be longer
 * than what is kept of it: it is read line by line.
 *
 * Gives:  *out, ended with maps_finish; nothing to end on failure.
 * Errors: CPY_GONE, CPY_DENIED, CPY_FOREIGN (a line that is not understood, or too many),
 * CPY_NOMEM.
 */
MUST_CHECK enum cpy_rc maps_read(int proc_fd, struct maps *out, struct err *err);

/* The same from an open maps file. */
MUST_CHECK enum cpy_rc maps_read_file(int fd, struct maps *out, struct err *err);

/* Frees what it holds. */
void maps_finish(struct maps *maps);

#endif
