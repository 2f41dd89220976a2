/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaded.h - the ELF objects that a process has mapped, and what lies where in them.
 *
 * Shape:   maps_read; each mapping that it keeps may be the first of an object.
 */
#ifndef UNWIND_LOCATE_LOADED_H
#define UNWIND_LOCATE_LOADED_H

#include "unwind/locate/elf.h"
#include "unwind/locate/maps.h"

/* The file name of a mapping's path. Lends as the path. */
const char *loaded_name(const struct proc_map *map);

/*
 * Opens the file of a mapping: the exact inode where the kernel lets us (map_files),
 * the executable itself, or its path inside the target's root, without following
 * links out of it.
 *
 * Gives:  *out, a descriptor of a regular file that is the mapped one.
 * Errors: CPY_FOREIGN: it cannot be had; CPY_NOMEM: there are no descriptors left.
 */
MUST_CHECK enum cpy_rc loaded_open(int proc_fd, const struct proc_map *map, int *out);

/*
 * Finds a section of an object in the target's memory: by the symbol that starts it where
 * that is exported, else by the file's section headers and symbols.
 *
 * Errors: CPY_FOREIGN: not there, or cannot be looked into; CPY_NOMEM.
 */
MUST_CHECK enum cpy_rc loaded_find(struct mem *mem, int proc_fd, const struct proc_map *map,
                                   const struct elf_image *image, const char *section,
                                   const char *symbol, cpy_addr *out);

#endif
