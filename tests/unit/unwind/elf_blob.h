/* SPDX-License-Identifier: Apache-2.0 */
/* elf_blob.h - a small ELF object made by hand. Include string.h before it. */
#ifndef TESTS_UNIT_UNWIND_ELF_BLOB_H
#define TESTS_UNIT_UNWIND_ELF_BLOB_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)
enum { BLOB_MACHINE = EM_AARCH64 };
#else
enum { BLOB_MACHINE = EM_X86_64 };
#endif

enum {
    BLOB_SYMBOLS = 4,
    BLOB_RUNTIME = 0x4560, /* the address of _PyRuntime, and of .PyRuntime */
    BLOB_VERSION = 0x4550, /* of Py_Version */
    BLOB_LOCAL = 0x4540    /* of local_name, in .symtab only */
};
enum { BLOB_STR_RUNTIME = 1, BLOB_STR_VERSION = 12, BLOB_STR_UNDEFINED = 23, BLOB_STR_LOCAL = 33 };
enum {
    BLOB_SEC_NONE,
    BLOB_SEC_RUNTIME,
    BLOB_SEC_DYNSYM,
    BLOB_SEC_SYMTAB,
    BLOB_SEC_STRINGS,
    BLOB_SEC_NAMES,
    BLOB_SECTIONS
};

/* File offsets and addresses are the same; loaded at any page it is whole in memory. */
struct blob {
    Elf64_Ehdr head;
    Elf64_Phdr segments[2];
    Elf64_Dyn dynamic[8];
    Elf64_Sym symbols[BLOB_SYMBOLS];
    Elf64_Sym local_symbols[2];
    uint32_t hash[2 + 1 + BLOB_SYMBOLS];
    uint32_t gnu_hash[4 + 2 + 1 + BLOB_SYMBOLS - 1];
    char strings[64];
    Elf64_Shdr sections[BLOB_SECTIONS];
    char names[64];
};

static inline uint32_t blob_gnu_hash(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static inline void blob_make_symbols(struct blob *b)
{
    static const char strings[] = "\0_PyRuntime\0Py_Version\0undefined\0local_name";
    static const uint32_t names[] = {0, BLOB_STR_RUNTIME, BLOB_STR_VERSION, BLOB_STR_UNDEFINED};
    uint32_t i;

    memcpy(b->strings, strings, sizeof(strings));
    for (i = 0; i < BLOB_SYMBOLS; i++)
        b->symbols[i] = (Elf64_Sym){.st_name = names[i], .st_shndx = 1};
    b->symbols[1].st_value = BLOB_RUNTIME;
    b->symbols[2].st_value = BLOB_VERSION;
    b->symbols[3].st_shndx = SHN_UNDEF;
    b->local_symbols[1] =
        (Elf64_Sym){.st_name = BLOB_STR_LOCAL, .st_value = BLOB_LOCAL, .st_shndx = 1};
    /* One bucket with all of them in a chain. */
    b->hash[0] = 1;
    b->hash[1] = BLOB_SYMBOLS;
    b->hash[2] = 1;
    b->hash[3 + 1] = 2;
    b->hash[3 + 2] = 3;
    b->gnu_hash[0] = b->gnu_hash[1] = b->gnu_hash[2] = b->gnu_hash[6] = 1;
    for (i = 1; i < BLOB_SYMBOLS; i++)
        b->gnu_hash[6 + i] = (blob_gnu_hash(strings + names[i]) & ~1U) | (i + 1 == BLOB_SYMBOLS);
}

static inline void blob_make_sections(struct blob *b)
{
    static const char names[] = "\0.PyRuntime\0.dynsym\0.symtab\0.strtab\0.shstrtab";

    memcpy(b->names, names, sizeof(names));
    b->sections[BLOB_SEC_RUNTIME] =
        (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addr = BLOB_RUNTIME, .sh_size = 64};
    b->sections[BLOB_SEC_DYNSYM] = (Elf64_Shdr){.sh_name = 12,
                                                .sh_type = SHT_DYNSYM,
                                                .sh_offset = offsetof(struct blob, symbols),
                                                .sh_size = sizeof(b->symbols),
                                                .sh_link = BLOB_SEC_STRINGS};
    b->sections[BLOB_SEC_SYMTAB] = (Elf64_Shdr){.sh_name = 20,
                                                .sh_type = SHT_SYMTAB,
                                                .sh_offset = offsetof(struct blob, local_symbols),
                                                .sh_size = sizeof(b->local_symbols),
                                                .sh_link = BLOB_SEC_STRINGS};
    b->sections[BLOB_SEC_STRINGS] = (Elf64_Shdr){.sh_name = 28,
                                                 .sh_type = SHT_STRTAB,
                                                 .sh_offset = offsetof(struct blob, strings),
                                                 .sh_size = sizeof(b->strings)};
    b->sections[BLOB_SEC_NAMES] = (Elf64_Shdr){.sh_name = 36,
                                               .sh_type = SHT_STRTAB,
                                               .sh_offset = offsetof(struct blob, names),
                                               .sh_size = sizeof(b->names)};
}

/* With both hash tables; take DT_GNU_HASH away to have the older one used. */
static inline void blob_make(struct blob *b)
{
    memset(b, 0, sizeof(*b));
    memcpy(b->head.e_ident, ELFMAG, SELFMAG);
    b->head.e_ident[EI_CLASS] = ELFCLASS64;
    b->head.e_ident[EI_DATA] = ELFDATA2LSB;
    b->head.e_type = ET_DYN;
    b->head.e_machine = BLOB_MACHINE;
    b->head.e_phoff = offsetof(struct blob, segments);
    b->head.e_phentsize = sizeof(Elf64_Phdr);
    b->head.e_phnum = 2;
    b->head.e_shoff = offsetof(struct blob, sections);
    b->head.e_shentsize = sizeof(Elf64_Shdr);
    b->head.e_shnum = BLOB_SECTIONS;
    b->head.e_shstrndx = BLOB_SEC_NAMES;
    b->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_memsz = 0x5000};
    b->segments[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = offsetof(struct blob, dynamic)};
    b->dynamic[0] = (Elf64_Dyn){DT_SYMTAB, {offsetof(struct blob, symbols)}};
    b->dynamic[1] = (Elf64_Dyn){DT_STRTAB, {offsetof(struct blob, strings)}};
    b->dynamic[2] = (Elf64_Dyn){DT_STRSZ, {sizeof(b->strings)}};
    b->dynamic[3] = (Elf64_Dyn){DT_HASH, {offsetof(struct blob, hash)}};
    b->dynamic[4] = (Elf64_Dyn){DT_GNU_HASH, {offsetof(struct blob, gnu_hash)}};
    blob_make_symbols(b);
    blob_make_sections(b);
}

#endif
