/* SPDX-License-Identifier: Apache-2.0 */
/* test_find.c - what a search for the interpreter may cost, whatever a process has mapped. */
#include "unwind/locate/find.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/elf_blob.h"
#include "unwind/locate/loaded.h"

enum { MIB = 1 << 20, SYMBOLS = 1 << 20, STRINGS = 8 * MIB, PAGE = 4096 };

/* A sparse ELF file with as many symbols as it likes, none of them Python's. */
static int make_sparse_elf(char *path)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segment;
        Elf64_Shdr sections[3];
    } elf;
    int fd = mkstemp(path);

    memset(&elf, 0, sizeof(elf));
    memcpy(elf.head.e_ident, ELFMAG, SELFMAG);
    elf.head.e_ident[EI_CLASS] = ELFCLASS64;
    elf.head.e_ident[EI_DATA] = ELFDATA2LSB;
    elf.head.e_type = ET_DYN;
    elf.head.e_machine = BLOB_MACHINE;
    elf.head.e_phoff = sizeof(elf.head);
    elf.head.e_phentsize = sizeof(elf.segment);
    elf.head.e_phnum = 1;
    elf.head.e_shoff = sizeof(elf.head) + sizeof(elf.segment);
    elf.head.e_shentsize = sizeof(elf.sections[0]);
    elf.head.e_shnum = 3;
    elf.segment.p_type = PT_LOAD;
    elf.segment.p_memsz = PAGE;
    elf.sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                   .sh_link = 2,
                                   .sh_offset = PAGE,
                                   .sh_size = SYMBOLS * sizeof(Elf64_Sym)};
    elf.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = PAGE, .sh_size = STRINGS};
    assert_true(fd >= 0);
    assert_int_equal(write(fd, &elf, sizeof(elf)), sizeof(elf));
    assert_int_equal(ftruncate(fd, PAGE + SYMBOLS * sizeof(Elf64_Sym)), 0);
    return fd;
}

static void map_elf(int fd, size_t times)
{
    for (size_t i = 0; i < times; i++)
        assert_true(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
}

/* Bytes that this process has read from files so far. */
static uint64_t bytes_read(void)
{
    FILE *file = fopen("/proc/self/io", "re");
    char line[64];

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_memory_equal(line, "rchar: ", 7);
    (void)fclose(file);
    return strtoull(line + 7, NULL, 10);
}

/* Looks for CPython in this process, which has none; gives how many bytes of files that read. */
static uint64_t search_cost(char *why, size_t size)
{
    int proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t before = bytes_read();
    struct err err = {""};
    struct found found;
    struct mem *mem;

    assert_int_equal(mem_open_process(getpid(), proc_fd, &mem, NULL), CPY_OK);
    assert_int_equal(find_runtime(mem, proc_fd, &found, &err), CPY_FOREIGN);
    mem_close(mem);
    (void)close(proc_fd);
    (void)snprintf(why, size, "%s", err.text);
    return bytes_read() - before;
}

static void looks_into_a_file_once_however_often_it_is_mapped(void **state)
{
    char path[] = "/tmp/test_find-XXXXXX", why[sizeof(((struct err *)NULL)->text)];
    uint64_t without = search_cost(why, sizeof(why)), with;
    int fd = make_sparse_elf(path);

    (void)state;
    map_elf(fd, 2000);
    with = search_cost(why, sizeof(why));
    (void)unlink(path);
    (void)close(fd);

    assert_true(with - without >= SYMBOLS * sizeof(Elf64_Sym)); /* else it tests nothing */
    assert_in_range(with - without, 0, SYMBOLS * sizeof(Elf64_Sym) + STRINGS + 2 * MIB);
    assert_string_equal(why, "it runs no CPython");
}

static void ends_with_a_reason_on_files_without_end(void **state)
{
    enum { FILES = 20 }; /* 32 MiB to read each */
    char paths[FILES][32], why[sizeof(((struct err *)NULL)->text)];
    uint64_t cost;

    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        int fd;

        (void)snprintf(paths[i], sizeof(paths[i]), "/tmp/test_find-XXXXXX");
        fd = make_sparse_elf(paths[i]);
        map_elf(fd, 1);
        (void)close(fd);
    }
    cost = search_cost(why, sizeof(why));
    for (size_t i = 0; i < FILES; i++)
        (void)unlink(paths[i]);

    assert_in_range(cost, LOADED_BYTES_MAX / 2, LOADED_BYTES_MAX + 4 * MIB);
    assert_non_null(strstr(why, "it has mapped so much that its CPython cannot be found"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_into_a_file_once_however_often_it_is_mapped),
        cmocka_unit_test(ends_with_a_reason_on_files_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
