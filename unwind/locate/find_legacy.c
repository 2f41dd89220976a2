/* SPDX-License-Identifier: Apache-2.0 */
/* find_legacy.c - see find_legacy.h. */
#include "unwind/locate/find_legacy.h"

#include <string.h>

enum { SCAN_MAX = 32 << 20, BLOCK = 4096, TEXT_MAX = 64 };

/* A number of at most three digits; gives how many there were. */
static size_t digits(const char *text, size_t size, uint32_t *out)
{
    size_t i;

    *out = 0;
    for (i = 0; i < size && i < 3 && text[i] >= '0' && text[i] <= '9'; i++)
        *out = *out * 10 + (uint32_t)(text[i] - '0');
    return i;
}

/* "a1", "b2", "rc1" or nothing, as the last byte of sys.hexversion. */
static size_t level(const char *text, size_t size, uint32_t *out)
{
    size_t used, letters = size > 1 && text[0] == 'r' && text[1] == 'c' ? 2 : 1;
    uint32_t serial = 0, code = 0xF;

    if (size > 1 && (text[0] == 'a' || text[0] == 'b' || letters == 2))
        code = text[0] == 'a' ? 0xA : text[0] == 'b' ? 0xB : 0xC;
    used = code == 0xF ? 0 : letters + digits(text + letters, size - letters, &serial);
    *out = code << 4 | (serial & 0xF);
    return used;
}

/* The version that such a text begins with; 0: it is none. `size` bytes are there. */
static uint32_t parse_version(const char *text, size_t size)
{
    uint32_t minor, micro, last;
    size_t at = 2, used;

    if (size < 8 || text[0] != '3' || text[1] != '.')
        return 0;
    used = digits(text + at, size - at, &minor);
    at += used;
    if (used == 0 || at >= size || text[at++] != '.')
        return 0;
    used = digits(text + at, size - at, &micro);
    at += used;
    if (used == 0 || minor > 0xFF || micro > 0xFF)
        return 0;
    at += level(text + at, size - at, &last);
    if (at < size && text[at] == '+') /* a development build */
        at++;
    if (size - at < 2 || text[at] != ' ' || text[at + 1] != '(')
        return 0;
    return 3U << 24 | minor << 16 | micro << 8 | last;
}

/* Looks for a version's text in the first BLOCK bytes of `bytes`. */
static uint32_t find_in(const char *bytes, size_t size)
{
    const char *at = bytes, *end = bytes + (size < BLOCK ? size : BLOCK);
    uint32_t version;

    for (; at < end && (at = memchr(at, '3', (size_t)(end - at))); at++) {
        version = parse_version(at, (size_t)(bytes + size - at));
        if (version != 0)
            return version;
    }
    return 0;
}

uint32_t find_legacy_version(struct mem *mem, const struct elf_image *image)
{
    char bytes[BLOCK + TEXT_MAX];
    cpy_addr at = image->data_low & ~(cpy_addr)(BLOCK - 1);
    uint32_t version;
    size_t size;

    if (image->data_high - image->data_low > SCAN_MAX)
        return 0;
    for (; at < image->data_high; at += BLOCK) {
        size = sizeof(bytes);
        if (mem_read(mem, at, bytes, size) != CPY_OK) {
            size = BLOCK; /* the last page */
            if (mem_read(mem, at, bytes, size) != CPY_OK)
                continue;
        }
        version = find_in(bytes, size);
        if (version != 0)
            return version;
    }
    return 0;
}

enum cpy_rc find_legacy_interp_head(struct mem *mem, const struct elf_image *image, cpy_addr *out)
{
    /* x86-64: endbr64 (or not), mov rax, [rip + distance], ret */
    static const unsigned char endbr[] = {0xF3, 0x0F, 0x1E, 0xFA}, load[] = {0x48, 0x8B, 0x05};
    unsigned char code[16], *at = code;
    cpy_addr function;
    int32_t distance;
    enum cpy_rc rc = elf_image_symbol(mem, image, "PyInterpreterState_Head", &function);

    if (rc == CPY_OK)
        rc = mem_read(mem, function, code, sizeof(code));
    if (rc != CPY_OK)
        return rc;
    if (memcmp(at, endbr, sizeof(endbr)) == 0)
        at += sizeof(endbr);
    if (memcmp(at, load, sizeof(load)) != 0 || at[7] != 0xC3)
        return CPY_FOREIGN;
    memcpy(&distance, at + sizeof(load), sizeof(distance));
    *out = function + (cpy_addr)(at - code) + 7 + (cpy_addr)(int64_t)distance;
    return CPY_OK;
}
