/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf.h - finds a symbol or section of an ELF object of a target.
 *
 * There are two ways, because neither is enough. The dynamic symbols are in loaded memory,
 * and can be read there even if the file is deleted, in another root, or may not be opened.
 * The section headers are only in the file, and are the only trace in a program that has
 * CPython linked in without exporting it.
 * Source: the System V ABI, gABI 4.1, and the GNU hash table as binutils writes it.
 */
#ifndef UNWIND_LOCATE_ELF_H
#define UNWIND_LOCATE_ELF_H

#include "unwind/read/mem.h"

enum { ELF_NOTES_MAX = 4, ELF_READ_BYTES = 512 }; /* notes of an image; see elf_file_find */

/* A loaded object: where its first bytes are mapped. */
struct elf_image {
    cpy_addr bias;                 /* what to add to an address of the file; 0: not PIE */
    cpy_addr dynamic;              /* PT_DYNAMIC, in memory; 0: none */
    cpy_addr low, high;            /* from the first loaded segment to the end of the last */
    cpy_addr data_low, data_high;  /* the same of writable segments; both `bias`: none */
    cpy_addr notes[ELF_NOTES_MAX]; /* the first PT_NOTE segments, in memory */
    size_t note_sizes[ELF_NOTES_MAX], note_count;
};

/*
 * Reads the program headers of the object whose first page is mapped at `start`.
 * Errors: CPY_FOREIGN: no 64-bit ELF of this machine's kind; those of mem_read.
 */
MUST_CHECK enum cpy_rc elf_image_read(struct mem *mem, cpy_addr start, struct elf_image *out);

/* The address of an exported symbol. Errors: CPY_FOREIGN: it is not there; those of mem_read. */
MUST_CHECK enum cpy_rc elf_image_symbol(struct mem *mem, const struct elf_image *image,
                                        const char *name, cpy_addr *out);

/* Writes the build id in hexadecimal into `out`; "": none that fits, or it cannot be read. */
void elf_image_build_id(struct mem *mem, const struct elf_image *image, char *out, size_t size);

/*
 * Looks in the file `fd` for a section, and for a symbol in .dynsym or .symtab.
 * Gives: their addresses as the file has them (add the bias); 0: not there.
 * Cost:  0.5 ns a byte. Each read takes its bytes, at least ELF_READ_BYTES, off *bytes_left. If
 *        that is too little, it becomes 0, and nothing more is found.
 * Errors: CPY_FOREIGN: no 64-bit ELF file, a corrupt one, or no memory.
 */
MUST_CHECK enum cpy_rc elf_file_find(int fd, const char *section, const char *symbol,
                                     uint64_t *bytes_left, cpy_addr *out_section,
                                     cpy_addr *out_symbol);

#endif
