/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_note.h - the notes of an ELF file, as they lie in its memory.
 *
 * Trust:   the bytes may be anything.
 * Source:  elf(5), "Notes".
 */
#ifndef BASE_ELF_NOTE_H
#define BASE_ELF_NOTE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the build id that is among these notes, in hex, as a string. False: there is none. Of
 * one that does not fit nothing is written, and true is given. */
bool elf_note_build_id(const unsigned char *notes, size_t size, char *out, size_t out_size);

#endif
