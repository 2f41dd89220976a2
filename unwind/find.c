/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - see find.h. */
#include "unwind/find.h"

#include <string.h>
#include <unistd.h>

#include "unwind/loaded.h"

/* The first interpreter, its first thread, and that thread's interpreter must agree. */
static enum cpy_rc check_live(struct mem *mem, const struct found *found, struct err *err)
{
    const struct layout *l = &found->layout;
    cpy_addr interp, thread, back = 0;
    enum cpy_rc rc = mem_read_word(mem, found->runtime + l->runtime.interpreters_head, &interp);

    if (rc == CPY_OK && interp == 0) {
        err_set(err, "its interpreter is not up yet");
        return CPY_STARTING;
    }
    if (rc == CPY_OK)
        rc = mem_read_word(mem, interp + l->interp.threads_head, &thread);
    if (rc == CPY_OK && thread == 0) {
        err_set(err, "its interpreter has no thread yet");
        return CPY_STARTING;
    }
    if (rc == CPY_OK)
        rc = mem_read_word(mem, thread + l->thread.interp, &back);
    if (rc == CPY_RACED || (rc == CPY_OK && back != interp)) {
        err_set(err, "its interpreter's state is not consistent");
        return CPY_STARTING;
    }
    return rc;
}

enum cpy_rc find_accept(struct mem *mem, uint32_t hexversion, struct found *out, struct err *err)
{
    unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX];
    const struct layout *row;
    enum cpy_rc rc = mem_read(mem, out->runtime, table, sizeof(table));
    char text[32];

    if (rc != CPY_OK)
        return rc == CPY_RACED ? CPY_FOREIGN : rc;
    if (memcmp(table, LAYOUT_COOKIE, 8) == 0) {
        rc = layout_from_debug_offsets(table, &out->layout, &out->hexversion, err);
        return rc == CPY_OK ? check_live(mem, out, err) : rc;
    }
    row = layout_of_version(hexversion);
    if (!row) {
        layout_version_text(hexversion, text, sizeof(text));
        err_set(err, "CPython %s is not known to this pystrobe, which reads 3.11 to 3.15",
                hexversion ? text : "before 3.11");
        return CPY_FOREIGN;
    }
    out->layout = *row;
    out->hexversion = hexversion;
    return check_live(mem, out, err);
}

/* Tries the runtime that an object exports in its dynamic symbols. */
static enum cpy_rc try_memory(struct mem *mem, const struct elf_image *image, struct found *out,
                              struct err *err)
{
    cpy_addr version_at;
    uint32_t hexversion = 0;
    enum cpy_rc rc = elf_image_symbol(mem, image, "_PyRuntime", &out->runtime);

    if (rc == CPY_OK && elf_image_symbol(mem, image, "Py_Version", &version_at) == CPY_OK)
        rc = mem_read(mem, version_at, &hexversion, sizeof(hexversion));
    return rc == CPY_OK ? find_accept(mem, hexversion, out, err) : rc;
}

/* Tries the runtime of an object that does not export it, by its sections and symbols. */
static enum cpy_rc try_file(struct mem *mem, int proc_fd, const struct map *map, cpy_addr bias,
                            struct found *out, struct err *err)
{
    cpy_addr section = 0, symbol = 0, version_at = 0, unused;
    uint32_t hexversion = 0;
    int fd = loaded_open(proc_fd, map);
    enum cpy_rc rc;

    if (fd < 0)
        return CPY_FOREIGN;
    rc = elf_file_find(fd, ".PyRuntime", "_PyRuntime", &section, &symbol);
    if (rc == CPY_OK && (section || symbol))
        rc = elf_file_find(fd, ".PyRuntime", "Py_Version", &unused, &version_at);
    (void)close(fd);
    if (rc != CPY_OK || (!section && !symbol))
        return CPY_FOREIGN;
    if (version_at && mem_read(mem, bias + version_at, &hexversion, sizeof(hexversion)) != CPY_OK)
        return CPY_FOREIGN;
    out->runtime = bias + (section ? section : symbol);
    return find_accept(mem, hexversion, out, err);
}

static bool is_libpython(const struct map *map)
{
    return strncmp(loaded_name(map), "libpython", 9) == 0;
}

/* How the search goes: libpython by memory, all by memory, then the files. */
enum pass { PASS_LIBPYTHON, PASS_MEMORY, PASS_FILES, PASSES };

static enum cpy_rc try_object(struct mem *mem, int proc_fd, const struct map *map, enum pass pass,
                              struct found *out, struct err *err)
{
    struct elf_image image;
    enum cpy_rc rc;

    if (!loaded_is_start(map) ||
        (pass != PASS_FILES && is_libpython(map) != (pass == PASS_LIBPYTHON)))
        return CPY_FOREIGN;
    rc = elf_image_read(mem, map->start, &image);
    if (rc == CPY_OK)
        rc = pass == PASS_FILES ? try_file(mem, proc_fd, map, image.bias, out, err)
                                : try_memory(mem, &image, out, err);
    return rc == CPY_RACED ? CPY_FOREIGN : rc; /* what cannot be read is not it */
}

static enum cpy_rc search(struct mem *mem, int proc_fd, const struct maps *maps, struct found *out,
                          struct err *err)
{
    enum cpy_rc rc, best = CPY_FOREIGN;
    enum pass pass;
    size_t i;

    for (pass = PASS_LIBPYTHON; pass < PASSES; pass++)
        for (i = 0; i < maps->count; i++) {
            rc = try_object(mem, proc_fd, &maps->maps[i], pass, out, err);
            if (rc == CPY_STARTING)
                best = rc;
            else if (rc != CPY_FOREIGN)
                return rc;
        }
    return best;
}

enum cpy_rc find_runtime(struct mem *mem, int proc_fd, struct found *out, struct err *err)
{
    struct maps maps;
    enum cpy_rc rc = maps_read(proc_fd, &maps, err);

    if (rc != CPY_OK)
        return rc;
    if (err)
        err->text[0] = '\0';
    rc = search(mem, proc_fd, &maps, out, err);
    if (rc == CPY_FOREIGN && err && err->text[0] == '\0')
        err_set(err, "it runs no CPython");
    maps_finish(&maps);
    return rc;
}
