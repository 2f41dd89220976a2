/* SPDX-License-Identifier: Apache-2.0 */
/* elffile.c - the ELF object as a file: sections and the full symbol table. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/locate/elf.h"

enum { SECTIONS_MAX = 4096, STRINGS_MAX = 32 << 20, SYMBOLS_MAX = 4 << 20, NAME_MAX_BYTES = 64 };

struct file {
    int fd;
    uint64_t *bytes_left; /* borrowed: that may be read */
    size_t count, names;  /* sections, and which of them has the sections' names */
    Elf64_Shdr *sections; /* owned */
};

/* Reads exactly `size` bytes at `offset`. The file may shrink at any time: never mapped. */
static bool read_at(const struct file *file, uint64_t offset, void *into, size_t size)
{
    const size_t cost = size > ELF_READ_BYTES ? size : ELF_READ_BYTES;

    if (cost > *file->bytes_left) {
        *file->bytes_left = 0;
        return false;
    }
    *file->bytes_left -= cost;
    return offset <= INT64_MAX && pread(file->fd, into, size, (off_t)offset) == (ssize_t)size;
}

static bool read_sections(struct file *file)
{
    Elf64_Ehdr head;

    if (!read_at(file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum == 0 ||
        head.e_shnum > SECTIONS_MAX || head.e_shstrndx >= head.e_shnum)
        return false;
    file->count = head.e_shnum;
    file->sections = calloc(file->count, sizeof(Elf64_Shdr));
    file->names = head.e_shstrndx;
    return file->sections &&
           read_at(file, head.e_shoff, file->sections, file->count * sizeof(Elf64_Shdr));
}

/* True if the NUL-terminated name at `offset` of a string section is `name`. */
static bool name_is(const struct file *file, const Elf64_Shdr *strings, uint64_t offset,
                    const char *name)
{
    char text[NAME_MAX_BYTES];
    size_t size = strlen(name) + 1;

    return size <= sizeof(text) && offset < strings->sh_size && strings->sh_size - offset >= size &&
           read_at(file, strings->sh_offset + offset, text, size) && memcmp(text, name, size) == 0;
}

static cpy_addr find_section(const struct file *file, const char *name)
{
    for (size_t i = 1; i < file->count; i++)
        if (file->sections[i].sh_addr != 0 &&
            name_is(file, &file->sections[file->names], file->sections[i].sh_name, name))
            return file->sections[i].sh_addr;
    return 0;
}

/* Looks through one symbol table, a block at a time. */
static cpy_addr find_symbol_in(const struct file *file, const Elf64_Shdr *table,
                               const char *strings, uint64_t strings_size, const char *name)
{
    enum { BLOCK = 256 };
    Elf64_Sym symbols[BLOCK];
    uint64_t i, base, count = table->sh_size / sizeof(symbols[0]);
    size_t block, size = strlen(name) + 1;

    for (base = 0; base < count && base < SYMBOLS_MAX; base += BLOCK) {
        block = count - base < BLOCK ? (size_t)(count - base) : BLOCK;
        if (!read_at(file, table->sh_offset + base * sizeof(symbols[0]), symbols,
                     block * sizeof(symbols[0])))
            return 0;
        for (i = 0; i < block; i++)
            if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < strings_size &&
                strings_size - symbols[i].st_name >= size &&
                memcmp(strings + symbols[i].st_name, name, size) == 0)
                return symbols[i].st_value;
    }
    return 0;
}

static cpy_addr find_symbol(const struct file *file, uint32_t type, const char *name)
{
    const Elf64_Shdr *table = NULL, *names;
    cpy_addr found = 0;
    char *strings;

    for (size_t i = 1; i < file->count && !table; i++)
        if (file->sections[i].sh_type == type)
            table = &file->sections[i];
    if (!table || table->sh_link == 0 || table->sh_link >= file->count)
        return 0;
    names = &file->sections[table->sh_link];
    if (names->sh_size == 0 || names->sh_size > STRINGS_MAX)
        return 0;
    strings = malloc(names->sh_size);
    if (strings && read_at(file, names->sh_offset, strings, names->sh_size))
        found = find_symbol_in(file, table, strings, names->sh_size, name);
    free(strings);
    return found;
}

enum cpy_rc elf_file_find(int fd, const char *section, const char *symbol, uint64_t *bytes_left,
                          cpy_addr *out_section, cpy_addr *out_symbol)
{
    struct file file = {.fd = fd, .bytes_left = bytes_left};
    bool good = read_sections(&file);

    if (good) {
        *out_section = find_section(&file, section);
        *out_symbol = find_symbol(&file, SHT_DYNSYM, symbol);
        if (*out_symbol == 0)
            *out_symbol = find_symbol(&file, SHT_SYMTAB, symbol);
    }
    free(file.sections);
    return good ? CPY_OK : CPY_FOREIGN;
}
