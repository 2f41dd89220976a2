/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - see find.h. */
#include "unwind/locate/find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "unwind/locate/find_legacy.h"
#include "unwind/locate/loaded.h"

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

/* Takes the layout that the target carries itself. */
static enum cpy_rc accept_own_table(struct mem *mem, struct found *out, struct err *err)
{
    unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX];
    enum cpy_rc rc = mem_read(mem, out->runtime, table, sizeof(table));

    if (rc == CPY_OK)
        rc = layout_from_debug_offsets(table, &out->layout, &out->hexversion, err);
    return rc == CPY_RACED ? CPY_FOREIGN : rc;
}

/* Takes the layout of a version that is known from elsewhere. */
static enum cpy_rc accept_row(uint32_t hexversion, struct found *out, struct err *err)
{
    const struct layout *row = layout_of_version(hexversion);
    char text[32];

    layout_version_text(hexversion, text, sizeof(text));
    if (!row) {
        err_set(err, "CPython %s is not known to this pystrobe, which reads 3.6 to 3.15",
                hexversion ? text : "of an unknown version");
        return CPY_FOREIGN;
    }
    if (!layout_fits(row, err))
        return CPY_FOREIGN;
    out->layout = *row;
    out->hexversion = hexversion;
    if (row->runtime.tstate_current != NO_FIELD)
        out->gil_current = out->runtime + row->runtime.tstate_current;
    return CPY_OK;
}

enum cpy_rc find_accept(struct mem *mem, uint32_t hexversion, struct found *out, struct err *err)
{
    char cookie[8] = "";
    enum cpy_rc rc = mem_read(mem, out->runtime, cookie, sizeof(cookie));

    if (rc == CPY_OK)
        rc = memcmp(cookie, LAYOUT_COOKIE, sizeof(cookie)) == 0 ? accept_own_table(mem, out, err)
                                                                : accept_row(hexversion, out, err);
    if (rc != CPY_OK)
        return rc == CPY_RACED ? CPY_FOREIGN : rc;
    return check_live(mem, out, err);
}

/* CPython 3.6: no _PyRuntime, but exported functions and variables. */
static enum cpy_rc try_oldest(struct mem *mem, const struct elf_image *image, struct found *out,
                              struct err *err)
{
    uint32_t hexversion;
    enum cpy_rc rc = elf_image_symbol(mem, image, "_PyThreadState_Current", &out->gil_current);

    if (rc == CPY_OK)
        rc = find_legacy_interp_head(mem, image, &out->runtime);
    if (rc != CPY_OK)
        return rc;
    hexversion = find_legacy_version(mem, image);
    return hexversion >> 16 == 0x306 ? find_accept(mem, hexversion, out, err) : CPY_FOREIGN;
}

/* Tries the runtime that an object exports in its dynamic symbols. */
static enum cpy_rc try_memory(struct mem *mem, const struct elf_image *image, struct found *out,
                              struct err *err)
{
    cpy_addr version_at;
    uint32_t hexversion = 0;
    enum cpy_rc rc = elf_image_symbol(mem, image, "_PyRuntime", &out->runtime);

    out->gil_current = 0;
    if (rc == CPY_FOREIGN)
        return try_oldest(mem, image, out, err);
    if (rc != CPY_OK)
        return rc;
    if (elf_image_symbol(mem, image, "Py_Version", &version_at) != CPY_OK)
        hexversion = find_legacy_version(mem, image);
    else if (mem_read(mem, version_at, &hexversion, sizeof(hexversion)) != CPY_OK)
        return CPY_FOREIGN;
    return find_accept(mem, hexversion, out, err);
}

/* A search as it goes. */
struct search {
    struct mem *mem;
    int proc_fd;
    struct loaded_files files;
    uint64_t reads_max; /* of `mem` */
};

/* How many system calls one search may take to read memory: some 0.2 s. */
enum { SEARCH_READS_MAX = 200000 };

static bool is_search_spent(const struct search *search)
{
    return search->mem->reads >= search->reads_max || loaded_files_is_spent(&search->files);
}

/* Looks for an unexported runtime and its version in the file of an object. */
static enum cpy_rc find_in_file(struct search *search, const struct proc_map *map,
                                cpy_addr *out_runtime, cpy_addr *out_version, struct err *err)
{
    uint64_t *left = &search->files.bytes_left;
    cpy_addr section = 0, symbol = 0, unused;
    int fd;
    enum cpy_rc rc = loaded_open(search->proc_fd, map, &fd);

    if (rc == CPY_NOMEM)
        err_set(err, "%s cannot be opened: no file descriptors or no memory left", map->path);
    if (rc != CPY_OK)
        return rc;
    rc = elf_file_find(fd, ".PyRuntime", "_PyRuntime", left, &section, &symbol);
    if (rc == CPY_OK && (section || symbol))
        rc = elf_file_find(fd, ".PyRuntime", "Py_Version", left, &unused, out_version);
    (void)close(fd);
    *out_runtime = section ? section : symbol;
    return rc == CPY_OK && *out_runtime ? CPY_OK : CPY_FOREIGN;
}

/* Tries the runtime of an object that does not export it, by its sections and symbols. */
static enum cpy_rc try_unexported_runtime(struct search *search, const struct proc_map *map,
                                          const struct elf_image *image, struct found *out,
                                          struct err *err)
{
    struct mem *mem = search->mem;
    cpy_addr runtime = 0, version_at = 0;
    uint32_t hexversion = 0;
    enum cpy_rc rc;

    if (loaded_files_skip(&search->files, map))
        return CPY_FOREIGN;
    rc = find_in_file(search, map, &runtime, &version_at, err);
    if (rc == CPY_FOREIGN)
        loaded_files_note(&search->files, map);
    if (rc != CPY_OK)
        return rc;
    if (version_at &&
        mem_read(mem, image->bias + version_at, &hexversion, sizeof(hexversion)) != CPY_OK)
        return CPY_FOREIGN;
    if (!version_at)
        hexversion = find_legacy_version(mem, image);
    out->runtime = image->bias + runtime;
    out->gil_current = 0;
    return find_accept(mem, hexversion, out, err);
}

static bool is_libpython(const struct proc_map *map)
{
    return strncmp(loaded_name(map), "libpython", 9) == 0;
}

static void note_binary(struct mem *mem, const struct proc_map *map, const struct elf_image *image,
                        struct cpy_binary *out)
{
    bool fits = strlen(map->path) < sizeof(out->file);

    (void)snprintf(out->file, sizeof(out->file), "%s", fits ? map->path : loaded_name(map));
    elf_image_build_id(mem, image, out->build_id, sizeof(out->build_id));
}

/* How the search goes: the program and libpythons by memory, all else by memory, then the files. */
enum pass { PASS_LIKELY, PASS_MEMORY, PASS_FILES, PASSES };

/* The program is the lowest of all objects. */
static bool is_likely(const struct maps *maps, size_t index)
{
    return index == 0 || is_libpython(&maps->maps[index]);
}

static enum cpy_rc try_object(struct search *search, const struct proc_map *map, enum pass pass,
                              struct found *out, struct err *err)
{
    struct elf_image image;
    enum cpy_rc rc;

    rc = elf_image_read(search->mem, map->start, &image);
    if (rc == CPY_OK)
        rc = pass == PASS_FILES ? try_unexported_runtime(search, map, &image, out, err)
                                : try_memory(search->mem, &image, out, err);
    if (rc == CPY_OK)
        note_binary(search->mem, map, &image, &out->binary);
    out->object = map->start;
    return rc == CPY_RACED ? CPY_FOREIGN : rc; /* what cannot be read is not it */
}

static enum cpy_rc search_all(struct search *search, const struct maps *maps, struct found *out,
                              struct err *err)
{
    enum cpy_rc rc, best = CPY_FOREIGN;
    enum pass pass;

    for (pass = PASS_LIKELY; pass < PASSES; pass++)
        for (size_t i = 0; i < maps->count && !is_search_spent(search); i++) {
            if (pass != PASS_FILES && is_likely(maps, i) != (pass == PASS_LIKELY))
                continue;
            rc = try_object(search, &maps->maps[i], pass, out, err);
            if (rc == CPY_STARTING)
                best = rc;
            else if (rc != CPY_FOREIGN)
                return rc;
        }
    if (best == CPY_FOREIGN && is_search_spent(search))
        err_set(err,
                "it has mapped so much that its CPython cannot be found: more than %d files "
                "or %d MiB to look into",
                LOADED_FILES_MAX, LOADED_BYTES_MAX >> 20);
    return best;
}

/* Says what the process runs instead of a CPython that can be read. */
static void explain_foreign(struct mem *mem, const struct maps *maps, struct err *err)
{
    enum { CLASS_AT = 4, CLASS_32 = 1 };
    unsigned char head[8];
    const char *base;

    err_set(err, "it runs no CPython");
    for (size_t i = 0; i < maps->count; i++) {
        base = strrchr(maps->maps[i].path, '/');
        if (base && (strncmp(base, "/libpypy", 8) == 0 || strncmp(base, "/pypy", 5) == 0)) {
            err_set(err, "it runs PyPy, which pystrobe cannot read");
            return;
        }
    }
    if (maps->count > 0 && mem_read(mem, maps->maps[0].start, head, sizeof(head)) == CPY_OK &&
        memcmp(head, "\177ELF", 4) == 0 && head[CLASS_AT] == CLASS_32)
        err_set(err, "it is a 32-bit program, which pystrobe cannot read");
}

static void begin_search(struct mem *mem, int dir_fd, struct search *out)
{
    *out =
        (struct search){.mem = mem, .proc_fd = dir_fd, .reads_max = mem->reads + SEARCH_READS_MAX};
    loaded_files_init(&out->files);
}

/* `dir_fd`: of a thread that lives. */
static enum cpy_rc find_by_maps(struct mem *mem, int dir_fd, struct found *out, struct err *err)
{
    struct search search;
    struct maps maps;
    enum cpy_rc rc = maps_read(dir_fd, &maps, err);

    if (rc != CPY_OK)
        return rc;
    if (err)
        err->text[0] = '\0';
    begin_search(mem, dir_fd, &search);
    rc = search_all(&search, &maps, out, err);
    if (rc == CPY_FOREIGN && err && err->text[0] == '\0')
        explain_foreign(mem, &maps, err);
    maps_finish(&maps);
    return rc;
}

enum cpy_rc find_runtime(struct mem *mem, int proc_fd, struct found *out, struct err *err)
{
    int dir_fd = proc_living_dir(proc_fd);
    enum cpy_rc rc;

    if (dir_fd < 0) {
        err_set(err, "its /proc directory: %s", strerror(errno));
        return mem_rc_of_proc(proc_rc_of_errno(errno));
    }
    rc = find_by_maps(mem, dir_fd, out, err);
    (void)close(dir_fd);
    return rc;
}

enum cpy_rc find_another(struct mem *mem, int proc_fd, const struct found *first, struct found *out)
{
    const int dir_fd = proc_living_dir(proc_fd);
    const struct proc_map *map;
    enum cpy_rc rc = CPY_FOREIGN;
    struct search search;
    struct maps maps;

    if (dir_fd < 0)
        return CPY_FOREIGN;
    if (maps_read(dir_fd, &maps, NULL) == CPY_OK) {
        begin_search(mem, dir_fd, &search);
        for (size_t i = 0; i < maps.count && rc != CPY_OK && !is_search_spent(&search); i++) {
            map = &maps.maps[i];
            if (is_likely(&maps, i) && map->start != first->object &&
                try_object(&search, map, PASS_LIKELY, out, NULL) == CPY_OK &&
                out->runtime != first->runtime)
                rc = CPY_OK;
        }
        maps_finish(&maps);
    }
    (void)close(dir_fd);
    return rc;
}
