/* SPDX-License-Identifier: Apache-2.0 */
/* build_id.c - see build_id.h. */
#include "agent/host/build_id.h"

#include <link.h>
#include <stddef.h>
#include <stdio.h>

#include "agent/host/version.h"
#include "base/elf_note.h"

/* The first object is the program itself. */
static int read_own_notes(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_NOTE &&
            elf_note_build_id((const unsigned char *)info->dlpi_addr + segment->p_vaddr,
                              segment->p_memsz, out, BUILD_ID_MAX))
            break;
    }
    return 1;
}

void build_id(char out[BUILD_ID_MAX])
{
    out[0] = '\0';
    (void)dl_iterate_phdr(read_own_notes, out);
    if (out[0] == '\0')
        (void)snprintf(out, BUILD_ID_MAX, "%s %s", version_number, version_revision);
}
