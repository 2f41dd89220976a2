/* SPDX-License-Identifier: Apache-2.0 */
/* loaded.c - see loaded.h. */
#include "unwind/locate/loaded.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

bool loaded_is_start(const struct map *map)
{
    return map->offset == 0 && map->inode != 0 && map->readable && map->path[0] == '/';
}

const char *loaded_name(const struct map *map)
{
    return file_base_name(map->path);
}

int loaded_open(int proc_fd, const struct map *map)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    char name[64];
    struct stat st;
    int root, path_fd, fd = -1, i;

    (void)snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)map->start,
                   (unsigned long long)map->end);
    for (i = 0; i < 3; i++) {
        if (i == 2) {
            root = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
            path_fd = root < 0 ? -1 : (int)syscall(SYS_openat2, root, map->path, &how, sizeof(how));
            if (root >= 0)
                (void)close(root);
        } else {
            path_fd = openat(proc_fd, i == 0 ? name : "exe", O_PATH | O_CLOEXEC);
        }
        if (path_fd < 0)
            continue;
        /* Reopened for reading only once it is known to be a regular file. */
        if (fstat(path_fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == map->inode) {
            (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
            fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        }
        (void)close(path_fd);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

enum cpy_rc loaded_find(struct mem *mem, int proc_fd, const struct map *map,
                        const struct elf_image *image, const char *section, const char *symbol,
                        cpy_addr *out)
{
    cpy_addr in_section = 0, in_symbols = 0;
    int fd;
    enum cpy_rc rc = elf_image_symbol(mem, image, symbol, out);

    if (rc != CPY_FOREIGN && rc != CPY_RACED)
        return rc;
    fd = loaded_open(proc_fd, map);
    if (fd < 0)
        return CPY_FOREIGN;
    rc = elf_file_find(fd, section, symbol, &in_section, &in_symbols);
    (void)close(fd);
    if (rc != CPY_OK || (!in_section && !in_symbols))
        return CPY_FOREIGN;
    *out = image->bias + (in_section ? in_section : in_symbols);
    return CPY_OK;
}
