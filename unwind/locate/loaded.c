/* SPDX-License-Identifier: Apache-2.0 */
/* loaded.c - see loaded.h. */
#include "unwind/locate/loaded.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

const char *loaded_name(const struct proc_map *map)
{
    return file_base_name(map->path);
}

static const struct open_how open_how = {.flags = O_PATH | O_CLOEXEC,
                                         .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

const void *cpy_open_how(void)
{
    return &open_how;
}

/* Opens the path of a mapping inside the target's root. -1: errno says why. */
static int open_in_root(int proc_fd, const char *path)
{
    int root = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC), fd, cause;

    if (root < 0)
        return -1;
    fd = (int)syscall(SYS_openat2, root, path, &open_how, sizeof(open_how));
    cause = errno;
    (void)close(root);
    errno = cause;
    return fd;
}

/* Reopens for reading what was opened by path, now that it is known to be the mapped file. */
static int reopen(int path_fd, const struct proc_map *map)
{
    char name[32];
    struct stat st;

    if (fstat(path_fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_ino != map->inode) {
        errno = ENOENT;
        return -1;
    }
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
    return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

enum cpy_rc loaded_open(int proc_fd, const struct proc_map *map, int *out)
{
    enum { WAYS = 3 };
    char exact[64];
    bool is_short = false; /* of descriptors or memory, which says nothing of the file */
    int way, path_fd, fd = -1;

    (void)snprintf(exact, sizeof(exact), "map_files/%llx-%llx", (unsigned long long)map->start,
                   (unsigned long long)map->end);
    for (way = 0; way < WAYS && fd < 0 && !is_short; way++) {
        path_fd = way == 2 ? open_in_root(proc_fd, map->path)
                           : openat(proc_fd, way == 0 ? exact : "exe", O_PATH | O_CLOEXEC);
        fd = path_fd < 0 ? -1 : reopen(path_fd, map);
        is_short = fd < 0 && proc_is_short(errno);
        if (path_fd >= 0)
            (void)close(path_fd);
    }
    *out = fd;
    return fd >= 0 ? CPY_OK : is_short ? CPY_NOMEM : CPY_FOREIGN;
}

void loaded_files_init(struct loaded_files *files)
{
    files->count = 0;
    files->bytes_left = LOADED_BYTES_MAX;
}

bool loaded_files_is_spent(const struct loaded_files *files)
{
    return files->bytes_left < ELF_READ_BYTES || files->count == LOADED_FILES_MAX;
}

bool loaded_files_skip(const struct loaded_files *files, const struct proc_map *map)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->seen[i].inode == map->inode && files->seen[i].device == map->device)
            return true;
    return loaded_files_is_spent(files);
}

void loaded_files_note(struct loaded_files *files, const struct proc_map *map)
{
    if (files->count == LOADED_FILES_MAX)
        return;
    files->seen[files->count].device = map->device;
    files->seen[files->count++].inode = map->inode;
}

enum cpy_rc loaded_find(struct mem *mem, int proc_fd, const struct proc_map *map,
                        const struct elf_image *image, const char *section, const char *symbol,
                        uint64_t *bytes_left, cpy_addr *out)
{
    cpy_addr in_section = 0, in_symbols = 0;
    int fd;
    enum cpy_rc rc = elf_image_symbol(mem, image, symbol, out);

    if (rc != CPY_FOREIGN && rc != CPY_RACED)
        return rc;
    rc = loaded_open(proc_fd, map, &fd);
    if (rc != CPY_OK)
        return rc;
    rc = elf_file_find(fd, section, symbol, bytes_left, &in_section, &in_symbols);
    (void)close(fd);
    if (rc != CPY_OK || (!in_section && !in_symbols))
        return CPY_FOREIGN;
    *out = image->bias + (in_section ? in_section : in_symbols);
    return CPY_OK;
}
