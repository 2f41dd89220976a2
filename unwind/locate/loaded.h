/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaded.h - the ELF objects that a process has mapped, and what lies where in them.
 *
 * Shape:   maps_read; each mapping that loaded_is_start is the first of an object.
 */
#ifndef UNWIND_LOCATE_LOADED_H
#define UNWIND_LOCATE_LOADED_H

#include "unwind/locate/elf.h"
#include "unwind/locate/maps.h"

/* True if a mapping is the start of a file that may be a loaded object. */
bool loaded_is_start(const struct map *map);

/* The file name of a mapping's path. Lends as the path. */
const char *loaded_name(const struct map *map);

/*
 * Opens the file of a mapping: the exact inode where the kernel lets us (map_files),
 * the executable itself, or its path inside the target's root, without following
 * links out of it. Gives a descriptor of a regular file that is the mapped one, or -1.
 */
MUST_CHECK int loaded_open(int proc_fd, const struct map *map);

/*
 * Finds a section of an object in the target's memory: by the symbol that starts it where
 * that is exported, else by the file's section headers and symbols.
 *
 * Errors: CPY_FOREIGN: not there, or cannot be looked into.
 */
MUST_CHECK enum cpy_rc loaded_find(struct mem *mem, int proc_fd, const struct map *map,
                                   const struct elf_image *image, const char *section,
                                   const char *symbol, cpy_addr *out);

#endif
