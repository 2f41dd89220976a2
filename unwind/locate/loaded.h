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

enum { LOADED_FILES_MAX = 1024, LOADED_BYTES_MAX = 256 << 20 };

/*
 * The files that one search has looked into in vain, and what it may still read. A process can map
 * a file thousands of times, and as many files as it likes: a search takes a quarter of a second at
 * most. Made by loaded_files_init; nothing to free.
 */
struct loaded_files {
    struct {
        uint64_t device, inode;
    } seen[LOADED_FILES_MAX];
    size_t count;
    uint64_t bytes_left;
};

void loaded_files_init(struct loaded_files *files);

/* True if a file need not be looked into: it was, or the search has taken too much already. */
bool loaded_files_skip(const struct loaded_files *files, const struct proc_map *map);

/* Nothing was found in a file. */
void loaded_files_note(struct loaded_files *files, const struct proc_map *map);

/* True if the search has taken too much: there may be more that it has not seen. */
bool loaded_files_is_spent(const struct loaded_files *files);

/*
 * Finds a section of an object in the target's memory: by the symbol that starts it where
 * that is exported, else by the file's section headers and symbols.
 *
 * Errors: CPY_FOREIGN: not there, or cannot be looked into; CPY_NOMEM.
 */
MUST_CHECK enum cpy_rc loaded_find(struct mem *mem, int proc_fd, const struct proc_map *map,
                                   const struct elf_image *image, const char *section,
                                   const char *symbol, uint64_t *bytes_left, cpy_addr *out);

#endif
