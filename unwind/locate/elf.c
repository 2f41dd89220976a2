/* SPDX-License-Identifier: Apache-2.0 */
/* elf.c - the ELF object as it lies in the target's memory; elffile.c has the file. */
#include "unwind/locate/elf.h"

#include <elf.h>
#include <string.h>

#include "base/elf_note.h"

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#else
#error "pystrobe reads x86-64 and aarch64 processes only"
#endif

enum { SEGMENTS_MAX = 64, DYNAMIC_MAX = 256, CHAIN_MAX = 4096 };
enum { NAME_MAX_BYTES = 64, NOTES_MAX_BYTES = 1024 };

static enum cpy_rc read_segments(struct mem *mem, cpy_addr at, size_t count, struct elf_image *out)
{
    Elf64_Phdr segments[SEGMENTS_MAX];
    cpy_addr low = UINT64_MAX, high = 0, end, dynamic = 0, data_low = UINT64_MAX, data_high = 0;
    enum cpy_rc rc = mem_read(mem, at, segments, count * sizeof(segments[0]));

    if (rc != CPY_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        if (segments[i].p_type == PT_DYNAMIC)
            dynamic = segments[i].p_vaddr;
        if (segments[i].p_type == PT_NOTE && out->note_count < ELF_NOTES_MAX) {
            out->notes[out->note_count] = segments[i].p_vaddr;
            out->note_sizes[out->note_count++] = segments[i].p_memsz;
        }
        if (segments[i].p_type != PT_LOAD)
            continue;
        end = segments[i].p_vaddr + segments[i].p_memsz;
        if (end < segments[i].p_vaddr)
            return CPY_FOREIGN;
        low = segments[i].p_vaddr < low ? segments[i].p_vaddr : low;
        high = end > high ? end : high;
        if (!(segments[i].p_flags & PF_W))
            continue;
        data_low = segments[i].p_vaddr < data_low ? segments[i].p_vaddr : data_low;
        data_high = end > data_high ? end : data_high;
    }
    if (low == UINT64_MAX)
        return CPY_FOREIGN;
    out->low = low;
    out->high = high;
    out->dynamic = dynamic;
    out->data_low = data_high ? data_low : 0;
    out->data_high = data_high;
    return CPY_OK;
}

enum cpy_rc elf_image_read(struct mem *mem, cpy_addr start, struct elf_image *out)
{
    Elf64_Ehdr head;
    struct elf_image image = {0};
    enum cpy_rc rc = mem_read(mem, start, &head, sizeof(head));

    if (rc != CPY_OK)
        return rc;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_machine != OUR_MACHINE ||
        (head.e_type != ET_EXEC && head.e_type != ET_DYN) ||
        head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum == 0 ||
        head.e_phnum > SEGMENTS_MAX || head.e_phoff > UINT32_MAX)
        return CPY_FOREIGN;
    rc = read_segments(mem, start + head.e_phoff, head.e_phnum, &image);
    if (rc != CPY_OK)
        return rc;
    /* `start` maps file offset 0, which the first segment holds from its page's start. */
    image.bias = start - (image.low & ~UINT64_C(0xFFF));
    image.low += image.bias;
    image.high += image.bias;
    image.data_low += image.bias;
    image.data_high += image.bias;
    image.dynamic += image.dynamic ? image.bias : 0;
    for (size_t i = 0; i < image.note_count; i++)
        image.notes[i] += image.bias;
    *out = image;
    return CPY_OK;
}

void elf_image_build_id(struct mem *mem, const struct elf_image *image, char *out, size_t size)
{
    unsigned char notes[NOTES_MAX_BYTES];
    size_t notes_size;

    out[0] = '\0';
    for (size_t i = 0; i < image->note_count; i++) {
        notes_size = image->note_sizes[i] < sizeof(notes) ? image->note_sizes[i] : sizeof(notes);
        if (mem_read(mem, image->notes[i], notes, notes_size) == CPY_OK &&
            elf_note_build_id(notes, notes_size, out, size))
            return;
    }
}

/* The tables that PT_DYNAMIC points to; 0: not there. */
struct dynamic {
    cpy_addr symbols, strings, gnu_hash, hash;
    uint64_t strings_size;
};

/* glibc turns these into addresses when it loads an object, musl leaves them as they are. */
static cpy_addr absolute(const struct elf_image *image, uint64_t value)
{
    return value >= image->low && value < image->high ? value : value + image->bias;
}

static enum cpy_rc read_dynamic(struct mem *mem, const struct elf_image *image, struct dynamic *out)
{
    Elf64_Dyn entry;
    enum cpy_rc rc;

    *out = (struct dynamic){0};
    for (size_t i = 0; image->dynamic && i < DYNAMIC_MAX; i++) {
        rc = mem_read(mem, image->dynamic + i * sizeof(entry), &entry, sizeof(entry));
        if (rc != CPY_OK)
            return rc;
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_SYMTAB)
            out->symbols = absolute(image, entry.d_un.d_ptr);
        if (entry.d_tag == DT_STRTAB)
            out->strings = absolute(image, entry.d_un.d_ptr);
        if (entry.d_tag == DT_STRSZ)
            out->strings_size = entry.d_un.d_val;
        if (entry.d_tag == DT_GNU_HASH)
            out->gnu_hash = absolute(image, entry.d_un.d_ptr);
        if (entry.d_tag == DT_HASH)
            out->hash = absolute(image, entry.d_un.d_ptr);
    }
    return out->symbols && out->strings && (out->gnu_hash || out->hash) ? CPY_OK : CPY_FOREIGN;
}

/* CPY_OK: symbol number `index` is defined and called `name`; CPY_FOREIGN: it is another. */
static enum cpy_rc symbol_is(struct mem *mem, const struct dynamic *dynamic, uint64_t index,
                             const char *name, Elf64_Sym *out)
{
    char text[NAME_MAX_BYTES];
    size_t size = strlen(name) + 1;
    enum cpy_rc rc = mem_read(mem, dynamic->symbols + index * sizeof(*out), out, sizeof(*out));

    if (rc != CPY_OK)
        return rc;
    if (out->st_name >= dynamic->strings_size || dynamic->strings_size - out->st_name < size ||
        size > sizeof(text) || out->st_shndx == SHN_UNDEF)
        return CPY_FOREIGN;
    rc = mem_read(mem, dynamic->strings + out->st_name, text, size);
    if (rc != CPY_OK)
        return rc;
    return memcmp(text, name, size) == 0 ? CPY_OK : CPY_FOREIGN;
}

static enum cpy_rc find_by_gnu_hash(struct mem *mem, const struct dynamic *dynamic,
                                    const char *name, Elf64_Sym *out)
{
    uint32_t head[4], hash = 5381, index, link, steps; /* buckets, first symbol, bloom words */
    cpy_addr buckets, chain;
    const char *c;
    enum cpy_rc rc = mem_read(mem, dynamic->gnu_hash, head, sizeof(head));

    if (rc != CPY_OK || head[0] == 0)
        return rc != CPY_OK ? rc : CPY_FOREIGN;
    for (c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    buckets = dynamic->gnu_hash + sizeof(head) + (uint64_t)head[2] * 8;
    chain = buckets + (uint64_t)head[0] * 4;
    rc = mem_read(mem, buckets + (uint64_t)(hash % head[0]) * 4, &index, sizeof(index));
    if (rc != CPY_OK || index < head[1])
        return rc != CPY_OK ? rc : CPY_FOREIGN;
    for (steps = 0; steps < CHAIN_MAX; steps++, index++) {
        rc = mem_read(mem, chain + (uint64_t)(index - head[1]) * 4, &link, sizeof(link));
        if (rc == CPY_OK && (link | 1) == (hash | 1)) {
            rc = symbol_is(mem, dynamic, index, name, out);
            if (rc != CPY_FOREIGN)
                return rc;
            rc = CPY_OK;
        }
        if (rc != CPY_OK)
            return rc;
        if (link & 1) /* the end of the chain */
            return CPY_FOREIGN;
    }
    return CPY_FOREIGN;
}

static enum cpy_rc find_by_hash(struct mem *mem, const struct dynamic *dynamic, const char *name,
                                Elf64_Sym *out)
{
    uint32_t head[2], hash = 0, high, index, steps; /* buckets, chains */
    const char *c;
    enum cpy_rc rc = mem_read(mem, dynamic->hash, head, sizeof(head));

    if (rc != CPY_OK || head[0] == 0)
        return rc != CPY_OK ? rc : CPY_FOREIGN;
    for (c = name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        high = hash & 0xF0000000;
        hash = (hash ^ high >> 24) & ~high;
    }
    rc = mem_read(mem, dynamic->hash + 8 + (uint64_t)(hash % head[0]) * 4, &index, 4);
    for (steps = 0; rc == CPY_OK && index != 0 && steps < CHAIN_MAX; steps++) {
        rc = symbol_is(mem, dynamic, index, name, out);
        if (rc != CPY_FOREIGN)
            return rc;
        rc = mem_read(mem, dynamic->hash + 8 + ((uint64_t)head[0] + index) * 4, &index, 4);
    }
    return rc != CPY_OK ? rc : CPY_FOREIGN;
}

enum cpy_rc elf_image_symbol(struct mem *mem, const struct elf_image *image, const char *name,
                             cpy_addr *out)
{
    struct dynamic dynamic;
    Elf64_Sym symbol;
    enum cpy_rc rc = read_dynamic(mem, image, &dynamic);

    if (rc == CPY_OK)
        rc = dynamic.gnu_hash ? find_by_gnu_hash(mem, &dynamic, name, &symbol)
                              : find_by_hash(mem, &dynamic, name, &symbol);
    if (rc == CPY_OK)
        *out = image->bias + symbol.st_value;
    return rc;
}
