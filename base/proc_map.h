/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_map.h - parses one line of /proc/PID/maps.
 *
 * Shape:  proc_file_lines with a function that calls proc_map_parse.
 * Source: Documentation/filesystems/proc.rst of the kernel. A path is printed as the
 *         reader's mount namespace sees it and may contain any byte but a newline
 *         (that is shown as \012); " (deleted)" follows the path of a removed file.
 */
#ifndef BASE_PROC_MAP_H
#define BASE_PROC_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct proc_map {
    uint64_t start, end;    /* addresses: the first one, and the one behind the last */
    uint64_t offset, inode; /* of the mapped file: offset in bytes, inode number; 0: no file */
    uint64_t device;        /* of the inode: major number << 32 | minor number */
    bool readable, writable, executable;
    const char *path; /* borrowed from the line; "" if none; without " (deleted)" */
};

/* Parses a line that has no newline, and changes it. False: it is no such line; *out is invalid. */
MUST_CHECK bool proc_map_parse(char *line, struct proc_map *out);

#endif
