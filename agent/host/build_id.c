/* SPDX-License-Identifier: Apache-2.0 */
/* build_id.c - see build_id.h. */
#include "agent/host/build_id.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/host/version.h"

/* Parts of a note are padded to this. */
static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static void write_hex(const unsigned char *bytes, size_t size, char out[BUILD_ID_MAX])
{
    for (size_t i = 0; i < size && 2 * i + 2 < BUILD_ID_MAX; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* Looks for the build id among the notes of a segment. */
static bool find_in_notes(const unsigned char *notes, size_t size, char out[BUILD_ID_MAX])
{
    ElfW(Nhdr) head;
    size_t name_size, description_size;

    while (size >= sizeof(head)) {
        memcpy(&head, notes, sizeof(head));
        name_size = padded(head.n_namesz);
        description_size = padded(head.n_descsz);
        notes += sizeof(head);
        size -= sizeof(head);
        if (name_size > size || description_size > size - name_size)
            return false;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof("GNU") &&
            memcmp(notes, "GNU", sizeof("GNU")) == 0 && head.n_descsz > 0) {
            write_hex(notes + name_size, head.n_descsz, out);
            return true;
        }
        notes += name_size + description_size;
        size -= name_size + description_size;
    }
    return false;
}

/* The first object is the program itself. */
static int read_own_notes(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_NOTE &&
            find_in_notes((const unsigned char *)info->dlpi_addr + segment->p_vaddr,
                          segment->p_memsz, out))
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
