/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_note.h - finds the build id in a note segment or section of an ELF file.
 *
 * Trust:   the bytes may be anything; none outside `size` is read.
 * Source:  elf(5), "Notes".
 */
#ifndef BASE_ELF_NOTE_H
#define BASE_ELF_NOTE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the GNU build id among the notes as a hex string. True: there is one; `out` is untouched
 * if it is empty or does not fit. False: there is none. */
bool elf_note_build_id(const unsigned char *notes, size_t size, char *out, size_t out_size);

#endif
