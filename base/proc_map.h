/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_map.h - one line of /proc/PID/maps.
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
    uint64_t start, end;
    uint64_t offset, inode;
    uint64_t device; /* of the inode; the same number in each line of this kernel */
    bool readable, writable, executable;
    const char *path; /* borrowed from the line; "" if none; without " (deleted)" */
};

/* Parses a line without its newline, which is changed. False: the kernel prints no such line. */
MUST_CHECK bool proc_map_parse(char *line, struct proc_map *out);

#endif
