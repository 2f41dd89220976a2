/* SPDX-License-Identifier: Apache-2.0 */
/* elf_note.c - see elf_note.h. */
#include "base/elf_note.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

bool elf_note_build_id(const unsigned char *notes, size_t size, char *out, size_t out_size)
{
    Elf64_Nhdr head;
    size_t at, name, text, end;

    for (at = 0; size - at >= sizeof(head); at = end) {
        memcpy(&head, notes + at, sizeof(head));
        name = at + sizeof(head);
        text = name + (((size_t)head.n_namesz + 3) & ~(size_t)3);
        end = text + (((size_t)head.n_descsz + 3) & ~(size_t)3);
        if (end > size)
            break;
        if (head.n_type != NT_GNU_BUILD_ID || head.n_namesz != sizeof(ELF_NOTE_GNU) ||
            memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0)
            continue;
        for (size_t i = 0; i < head.n_descsz && 2 * head.n_descsz < out_size; i++)
            (void)snprintf(out + 2 * i, 3, "%02x", notes[text + i]);
        return true;
    }
    return false;
}
