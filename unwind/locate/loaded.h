/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaded.h - opens the files of the ELF objects that a process has mapped, and finds sections.
 *
 * Shape:   maps_read; then these functions for the mappings that it keeps.
 */
#ifndef UNWIND_LOCATE_LOADED_H
#define UNWIND_LOCATE_LOADED_H

#include "unwind/locate/elf.h"
#include "unwind/locate/maps.h"

/* The file name in a mapping's path; valid as long as the path. */
const char *loaded_name(const struct proc_map *map);

/*
 * Opens the file of a mapping: by map_files if that is permitted, as the process's executable, or
 * by its path, resolved inside the target's root.
 *
 * Gives:  *out, owned: a descriptor of a regular file with the mapping's inode number.
 * Errors: CPY_FOREIGN: it cannot be opened; CPY_NOMEM: no descriptors or memory left.
 */
MUST_CHECK enum cpy_rc loaded_open(int proc_fd, const struct proc_map *map, int *out);

enum { LOADED_FILES_MAX = 1024, LOADED_BYTES_MAX = 256 << 20 }; /* of one search */

/*
 * The files in which one search has found nothing, and the bytes that it may still read. A process
 * can map any number of files, each thousands of times: these limits end a search after a quarter
 * of a second. Made by loaded_files_init; nothing to free.
 */
struct loaded_files {
    struct {
        uint64_t device, inode;
    } seen[LOADED_FILES_MAX];
    size_t count;        /* of `seen` */
    uint64_t bytes_left; /* see elf_file_find */
};

void loaded_files_init(struct loaded_files *files);

/* True if a file need not be searched: it was, or the search is at a limit. */
bool loaded_files_skip(const struct loaded_files *files, const struct proc_map *map);

/* Notes that nothing was found in a file. */
void loaded_files_note(struct loaded_files *files, const struct proc_map *map);

/* True if the search is at a limit: files may be left that it has not seen. */
bool loaded_files_is_spent(const struct loaded_files *files);

/*
 * Finds the address of a section in the target's memory: by the exported symbol at its start, else
 * by the section headers and symbols of the file. `bytes_left`: see elf_file_find.
 *
 * Errors: CPY_FOREIGN: not there, or the file cannot be read; CPY_NOMEM; CPY_GONE, CPY_DENIED.
 */
MUST_CHECK enum cpy_rc loaded_find(struct mem *mem, int proc_fd, const struct proc_map *map,
                                   const struct elf_image *image, const char *section,
                                   const char *symbol, uint64_t *bytes_left, cpy_addr *out);

#endif
