/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_unwind_elf.c - any bytes as an ELF object, in memory and as a file: an answer in bounds. */
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include "unwind/locate/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOADED_AT UINT64_C(0x555555554000)
enum { READS_MAX = 40000 }; /* three searches of chains of 4096, three reads a link */

/* The input as memory from LOADED_AT on. */
struct bytes_mem {
    struct mem mem;
    const uint8_t *data;
    size_t size;
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static enum cpy_rc read_bytes(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    const struct bytes_mem *bytes = (const struct bytes_mem *)mem;
    uint64_t skip;
    size_t i;

    require(++mem->reads < READS_MAX);
    for (i = 0; i < count; i++) {
        skip = ranges[i].from - LOADED_AT;
        if (skip > bytes->size || bytes->size - skip < ranges[i].size)
            return CPY_RACED;
        memcpy(ranges[i].into, bytes->data + skip, ranges[i].size);
    }
    return CPY_OK;
}

static void find_in_memory(const uint8_t *data, size_t size)
{
    struct bytes_mem bytes = {.mem = {.read = read_bytes}, .data = data, .size = size};
    struct elf_image image;
    char build_id[44];
    cpy_addr at;

    if (elf_image_read(&bytes.mem, LOADED_AT, &image) != CPY_OK)
        return;
    if (elf_image_symbol(&bytes.mem, &image, "_PyRuntime", &at) == CPY_OK)
        require(elf_image_symbol(&bytes.mem, &image, "_PyRuntime", &at) == CPY_OK);
    (void)!elf_image_symbol(&bytes.mem, &image, "Py_Version", &at);
    memset(build_id, '/', sizeof(build_id));
    elf_image_build_id(&bytes.mem, &image, build_id, sizeof(build_id));
    require(strspn(build_id, "0123456789abcdef") == strnlen(build_id, sizeof(build_id)) &&
            memchr(build_id, '\0', sizeof(build_id)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    cpy_addr section = 0, symbol = 0;
    uint64_t left = 64 << 20;

    if (fd < 0)
        fd = memfd_create("elf", MFD_CLOEXEC);
    require(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    if (elf_file_find(fd, ".PyRuntime", "_PyRuntime", &left, &section, &symbol) != CPY_OK)
        require(section == 0 && symbol == 0);
    find_in_memory(data, size);
    return 0;
}
