/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps.h - the memory map of a process, as /proc/PID/maps tells it.
 *
 * Source: Documentation/filesystems/proc.rst of the kernel. A path is printed as the
 *         reader's mount namespace sees it and may contain any byte but a newline
 *         (that is shown as \012); " (deleted)" follows the path of a removed file.
 */
#ifndef UNWIND_LOCATE_MAPS_H
#define UNWIND_LOCATE_MAPS_H

#include "unwind/cpy.h"

enum { MAPS_MAX = 65536, MAPS_BYTES_MAX = 32 << 20 };

struct map {
    cpy_addr start, end;
    uint64_t offset, inode;
    uint32_t dev_major, dev_minor;
    bool readable, writable;
    const char *path; /* borrowed from the struct maps; "" if none; without " (deleted)" */
};

struct maps {
    struct map *maps; /* owned; by address */
    size_t count;
    char *text; /* owned: the paths */
};

/* Parses the text of a maps file; takes over nothing. Errors: CPY_FOREIGN, CPY_NOMEM. */
MUST_CHECK enum cpy_rc maps_parse(const char *text, size_t size, struct maps *out, struct err *err);

/* Reads the maps of the process whose /proc directory is `proc_fd`. */
MUST_CHECK enum cpy_rc maps_read(int proc_fd, struct maps *out, struct err *err);

/* Frees what it holds. */
void maps_finish(struct maps *maps);

#endif
