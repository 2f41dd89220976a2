/* SPDX-License-Identifier: Apache-2.0 */
/* test_elf.c - symbols and sections are found in memory and in files, damaged ones refused.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/elf_blob.h"
#include "unwind/locate/elf.h"
#include "unwind/locate/maps.h"

int test_unwind_elf_marker = 1; /* looked for in the test's own file */

enum { LOADED_AT = 0x3000 };
#define BIAS (FAKE_BASE + LOADED_AT)

static struct fake *fake_with(const struct blob *blob)
{
    struct fake *fake = fake_new(NULL);

    fake_put(fake, BIAS, blob, sizeof(*blob));
    return fake;
}

static enum cpy_rc find_in_memory(const struct blob *blob, const char *name, cpy_addr *out)
{
    struct fake *fake = fake_with(blob);
    struct elf_image image;
    enum cpy_rc rc = elf_image_read(&fake->mem, BIAS, &image);

    if (rc == CPY_OK)
        rc = elf_image_symbol(&fake->mem, &image, name, out);
    assert_true(fake->mem.reads < 10000);
    mem_close(&fake->mem);
    return rc;
}

static int file_of(const void *bytes, size_t size)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    return fd;
}

static enum cpy_rc find_in_file(const void *bytes, size_t size, const char *symbol,
                                cpy_addr *out_section, cpy_addr *out_symbol)
{
    int fd = file_of(bytes, size);
    uint64_t left = UINT64_MAX;
    enum cpy_rc rc = elf_file_find(fd, ".PyRuntime", symbol, &left, out_section, out_symbol);

    (void)close(fd);
    return rc;
}

static void remove_gnu_hash(struct blob *blob)
{
    memset(&blob->dynamic[4], 0, sizeof(blob->dynamic[4]));
}

static void finds_symbols_in_memory_by_either_hash_table(void **state)
{
    struct blob blob;
    cpy_addr at = 0;

    (void)state;
    for (int round = 0; round < 2; round++) {
        blob_make(&blob);
        if (round == 1)
            remove_gnu_hash(&blob);
        assert_int_equal(find_in_memory(&blob, "_PyRuntime", &at), CPY_OK);
        assert_true(at == BIAS + BLOB_RUNTIME);
        assert_int_equal(find_in_memory(&blob, "Py_Version", &at), CPY_OK);
        assert_true(at == BIAS + BLOB_VERSION);
    }
}

static void finds_no_symbol_that_is_undefined_or_absent(void **state)
{
    static const char *const names[] = {"undefined", "local_name", "_PyRuntim", "_PyRuntime2", ""};
    struct blob blob;
    cpy_addr at = 7;

    (void)state;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            blob_make(&blob);
            if (round == 1)
                remove_gnu_hash(&blob);
            assert_int_equal(find_in_memory(&blob, names[i], &at), CPY_FOREIGN);
            assert_int_equal(at, 7);
        }
}

/* The build id of a blob whose notes are these bytes. */
static void read_build_id(const void *notes, size_t size, char out[12])
{
    struct blob blob;
    struct fake *fake;
    struct elf_image image;

    blob_make(&blob);
    memcpy(blob.strings, notes, size);
    blob.segments[1] =
        (Elf64_Phdr){.p_type = PT_NOTE, .p_vaddr = offsetof(struct blob, strings), .p_memsz = size};
    fake = fake_with(&blob);
    assert_int_equal(elf_image_read(&fake->mem, BIAS, &image), CPY_OK);
    elf_image_build_id(&fake->mem, &image, out, 12);
    mem_close(&fake->mem);
}

static void finds_the_build_id_among_notes(void **state)
{
    static const struct {
        uint32_t words[12];
        size_t words_used;
        const char *id;
    } cases[] = {
#define GNU 0x554e47 /* "GNU" */
        {{4, 4, 3, GNU, 0x12efcdab}, 5, "abcdef12"},
        {{4, 3, 3, GNU, 0x12efcdab}, 5, "abcdef"},
        {{4, 4, 1, GNU, 7, 4, 4, 3, GNU, 0x0000efab}, 10, "abef0000"}, /* behind another note */
        {{4, 5, 3, GNU, 0x12efcdab, 0x34}, 6, "abcdef1234"},
        {{4, 6, 3, GNU, 0x12efcdab, 0x34}, 6, ""}, /* does not fit */
        {{4, 4, 3, GNU + 1, 0x12efcdab}, 5, ""},   /* another's note */
        {{3, 4, 3, GNU, 0x12efcdab}, 5, ""},       /* no NUL in the name */
        {{4, 8, 3, GNU, 0x12efcdab}, 5, ""},       /* longer than the segment */
        {{UINT32_MAX, UINT32_MAX, 3, GNU, 0x12efcdab}, 5, ""},
        {{0, 0, 0, 4, 4, 3, GNU, 0x12efcdab}, 8, "abcdef12"}, /* an empty one before it */
        {{4, 4}, 2, ""},
        {{0}, 0, ""},
#undef GNU
    };
    char id[12];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        read_build_id(cases[i].words, cases[i].words_used * sizeof(uint32_t), id);
        assert_string_equal(id, cases[i].id);
    }
}

static void takes_addresses_that_the_loader_has_made_absolute(void **state)
{
    struct blob blob;
    cpy_addr at = 0;

    (void)state;
    blob_make(&blob);
    for (size_t i = 0; i < 5; i++)
        if (blob.dynamic[i].d_tag != DT_STRSZ)
            blob.dynamic[i].d_un.d_ptr += BIAS;
    assert_int_equal(find_in_memory(&blob, "_PyRuntime", &at), CPY_OK);
    assert_true(at == BIAS + BLOB_RUNTIME);
}

static void refuses_objects_of_another_kind(void **state)
{
    struct blob blob;
    cpy_addr at = 0;

    (void)state;
#define REFUSES(field, value) \
    blob_make(&blob);         \
    blob.field = (value);     \
    assert_int_equal(find_in_memory(&blob, "_PyRuntime", &at), CPY_FOREIGN)
    REFUSES(head.e_ident[0], 'E');
    REFUSES(head.e_ident[EI_CLASS], ELFCLASS32);
    REFUSES(head.e_ident[EI_DATA], ELFDATA2MSB);
    REFUSES(head.e_machine, EM_RISCV);
    REFUSES(head.e_type, ET_CORE);
    REFUSES(head.e_phentsize, 32);
    REFUSES(head.e_phnum, 0);
    REFUSES(head.e_phnum, 65);
    REFUSES(head.e_phnum, UINT16_MAX);
    REFUSES(head.e_phoff, UINT64_MAX);
    REFUSES(segments[0].p_type, PT_NOTE);
    REFUSES(segments[1].p_type, PT_NOTE);
    REFUSES(segments[0].p_vaddr, UINT64_MAX - 10);
    REFUSES(dynamic[0].d_tag, DT_DEBUG);
    REFUSES(dynamic[2].d_un.d_val, 0);
    REFUSES(gnu_hash[0], 0);
#undef REFUSES
}

static void ends_on_hash_chains_that_loop(void **state)
{
    struct blob blob;
    cpy_addr at = 0;
    struct fake *fake;
    struct elf_image image;

    (void)state;
    blob_make(&blob);
    remove_gnu_hash(&blob);
    blob.hash[3 + 3] = 1;
    fake = fake_with(&blob);
    assert_int_equal(elf_image_read(&fake->mem, BIAS, &image), CPY_OK);
    assert_int_equal(elf_image_symbol(&fake->mem, &image, "none", &at), CPY_FOREIGN);
    mem_close(&fake->mem);
}

static void finds_sections_and_symbols_in_a_file(void **state)
{
    struct blob blob;
    cpy_addr section = 0, symbol = 0;

    (void)state;
    blob_make(&blob);
    assert_int_equal(find_in_file(&blob, sizeof(blob), "_PyRuntime", &section, &symbol), CPY_OK);
    assert_int_equal(section, BLOB_RUNTIME);
    assert_int_equal(symbol, BLOB_RUNTIME);
    assert_int_equal(find_in_file(&blob, sizeof(blob), "local_name", &section, &symbol), CPY_OK);
    assert_int_equal(symbol, BLOB_LOCAL);
    assert_int_equal(find_in_file(&blob, sizeof(blob), "undefined", &section, &symbol), CPY_OK);
    assert_int_equal(symbol, 0);
    blob.sections[BLOB_SEC_RUNTIME].sh_addr = 0; /* not loaded */
    assert_int_equal(find_in_file(&blob, sizeof(blob), "_PyRuntim", &section, &symbol), CPY_OK);
    assert_int_equal(section, 0);
    assert_int_equal(symbol, 0);
}

static void refuses_files_with_a_hostile_head(void **state)
{
    struct blob blob;
    cpy_addr section = 7, symbol = 7;

    (void)state;
#define REFUSES(field, value)  \
    blob_make(&blob);          \
    blob.head.field = (value); \
    assert_int_equal(find_in_file(&blob, sizeof(blob), "x", &section, &symbol), CPY_FOREIGN)
    REFUSES(e_ident[1], 0);
    REFUSES(e_ident[EI_CLASS], ELFCLASS32);
    REFUSES(e_ident[EI_DATA], ELFDATA2MSB);
    REFUSES(e_shentsize, 63);
    REFUSES(e_shnum, 0);
    REFUSES(e_shnum, BLOB_SECTIONS + 60);
    REFUSES(e_shnum, 4097);
    REFUSES(e_shnum, UINT16_MAX);
    REFUSES(e_shstrndx, BLOB_SECTIONS);
    REFUSES(e_shstrndx, UINT16_MAX);
    REFUSES(e_shoff, UINT64_MAX);
    REFUSES(e_shoff, INT64_MAX);
#undef REFUSES
    assert_int_equal(section, 7);
    assert_int_equal(symbol, 7);
}

static void finds_nothing_through_hostile_sections(void **state)
{
    static const uint64_t values[] = {UINT64_MAX, INT64_MAX, UINT64_C(1) << 40, (64 << 20) + 1};
    struct blob blob;
    cpy_addr section, symbol;

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        blob_make(&blob);
        blob.sections[BLOB_SEC_STRINGS].sh_size = values[i];
        assert_int_equal(find_in_file(&blob, sizeof(blob), "_PyRuntime", &section, &symbol),
                         CPY_OK);
        assert_int_equal(symbol, 0);
        blob_make(&blob);
        blob.sections[BLOB_SEC_DYNSYM].sh_link = (uint32_t)values[i];
        blob.sections[BLOB_SEC_SYMTAB].sh_offset = values[i];
        assert_int_equal(find_in_file(&blob, sizeof(blob), "local_name", &section, &symbol),
                         CPY_OK);
        assert_int_equal(symbol, 0);
        blob_make(&blob);
        blob.sections[BLOB_SEC_NAMES].sh_offset = values[i];
        assert_int_equal(find_in_file(&blob, sizeof(blob), "x", &section, &symbol), CPY_OK);
        assert_int_equal(section, 0);
    }
}

static void finds_the_right_address_or_none_in_a_truncated_file(void **state)
{
    struct blob blob;
    cpy_addr section, symbol;
    size_t whole = 0;

    (void)state;
    blob_make(&blob);
    for (size_t size = 0; size <= sizeof(blob); size++) {
        section = symbol = 0;
        if (find_in_file(&blob, size, "_PyRuntime", &section, &symbol) != CPY_OK)
            continue;
        assert_true(section == BLOB_RUNTIME || section == 0);
        assert_true(symbol == BLOB_RUNTIME || symbol == 0);
        whole += section && symbol;
    }
    assert_true(whole > 0 && whole < sizeof(blob.names));
}

static void survives_any_damaged_byte(void **state)
{
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    struct blob blob;
    cpy_addr section, symbol;
    enum cpy_rc rc;
    size_t failed = 0;

    (void)state;
    for (size_t at = 0; at < sizeof(blob); at++)
        for (size_t i = 0; i < sizeof(flips); i++) {
            blob_make(&blob);
            ((unsigned char *)&blob)[at] ^= flips[i];
            rc = find_in_file(&blob, sizeof(blob), "_PyRuntime", &section, &symbol);
            assert_true(rc == CPY_OK || rc == CPY_FOREIGN);
            rc = find_in_memory(&blob, "_PyRuntime", &symbol);
            assert_true(rc == CPY_OK || rc == CPY_FOREIGN || rc == CPY_RACED);
            failed += rc != CPY_OK;
        }
    assert_true(failed > 100);
}

/* Where the object that holds `at` begins: the last start of one before it. */
static cpy_addr start_of_object(const void *at)
{
    int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cpy_addr start = 0;
    struct maps maps;
    size_t i;

    assert_int_equal(maps_read(fd, &maps, NULL), CPY_OK);
    (void)close(fd);
    for (i = 0; i < maps.count && maps.maps[i].start <= (uintptr_t)at; i++)
        start = maps.maps[i].start;
    maps_finish(&maps);
    assert_true(start != 0);
    return start;
}

static void finds_nothing_beyond_what_it_may_read(void **state)
{
    struct blob blob;
    cpy_addr section = 0, symbol = 0;
    uint64_t left = 4 * ELF_READ_BYTES;
    int fd;

    (void)state;
    blob_make(&blob);
    fd = file_of(&blob, sizeof(blob));
    assert_int_equal(elf_file_find(fd, ".PyRuntime", "_PyRuntime", &left, &section, &symbol),
                     CPY_OK);
    (void)close(fd);

    assert_int_equal(left, 0);
    assert_true(symbol == 0);
}

static void finds_a_symbol_of_its_own_file(void **state)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct elf_image image;
    struct mem *mem;
    cpy_addr section = 0, symbol = 0;
    uint64_t left = UINT64_MAX;

    (void)state;
    assert_int_equal(mem_open_process(getpid(), -1, &mem, NULL), CPY_OK);
    assert_int_equal(elf_image_read(mem, start_of_object(&test_unwind_elf_marker), &image), CPY_OK);
    assert_int_equal(elf_file_find(fd, ".data", "test_unwind_elf_marker", &left, &section, &symbol),
                     CPY_OK);

    assert_true(image.bias + symbol == (uintptr_t)&test_unwind_elf_marker);
    assert_true(section <= symbol && section != 0);
    assert_true((uintptr_t)&test_unwind_elf_marker >= image.low);
    assert_true((uintptr_t)&test_unwind_elf_marker < image.high);
    mem_close(mem);
    (void)close(fd);
}

static void finds_a_symbol_of_a_library_in_its_own_memory(void **state)
{
    void *wanted = dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests");
    struct elf_image image;
    struct mem *mem;
    cpy_addr at = 0;

    (void)state;
    assert_non_null(wanted);
    assert_int_equal(mem_open_process(getpid(), -1, &mem, NULL), CPY_OK);
    assert_int_equal(elf_image_read(mem, start_of_object(wanted), &image), CPY_OK);
    assert_int_equal(elf_image_symbol(mem, &image, "_cmocka_run_group_tests", &at), CPY_OK);

    assert_true(at == (uintptr_t)wanted);
    assert_int_equal(elf_image_symbol(mem, &image, "_PyRuntime", &at), CPY_FOREIGN);
    mem_close(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_symbols_in_memory_by_either_hash_table),
        cmocka_unit_test(finds_no_symbol_that_is_undefined_or_absent),
        cmocka_unit_test(finds_the_build_id_among_notes),
        cmocka_unit_test(takes_addresses_that_the_loader_has_made_absolute),
        cmocka_unit_test(refuses_objects_of_another_kind),
        cmocka_unit_test(ends_on_hash_chains_that_loop),
        cmocka_unit_test(finds_sections_and_symbols_in_a_file),
        cmocka_unit_test(refuses_files_with_a_hostile_head),
        cmocka_unit_test(finds_nothing_through_hostile_sections),
        cmocka_unit_test(finds_the_right_address_or_none_in_a_truncated_file),
        cmocka_unit_test(survives_any_damaged_byte),
        cmocka_unit_test(finds_nothing_beyond_what_it_may_read),
        cmocka_unit_test(finds_a_symbol_of_its_own_file),
        cmocka_unit_test(finds_a_symbol_of_a_library_in_its_own_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
