/* SPDX-License-Identifier: Apache-2.0 */
/* maps.c - see maps.h. */
#include "unwind/locate/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "unwind/read/mem.h"

/* What is being read. */
struct reading {
    struct maps maps;
    /* The last mapping of a file's start, until its next part shows that it is an object. inode 0:
     * none. */
    struct proc_map start;
    char start_path[PROC_FILE_LINE_MAX];
    enum cpy_rc rc;
    struct err *err;
};

static enum cpy_rc keep_map(struct reading *reading, const struct proc_map *map)
{
    struct maps *maps = &reading->maps;
    const size_t bytes = sizeof(*map) + strlen(map->path) + 1;
    char *path;

    if (bytes > MAPS_BYTES_MAX - maps->bytes) {
        err_set(reading->err, "its memory map has more loaded objects than %d MiB hold: %zu so far",
                MAPS_BYTES_MAX >> 20, maps->count);
        return CPY_FOREIGN; /* one that nobody tries again and again */
    }
    path = arena_strndup(&maps->paths, map->path, strlen(map->path));
    if (!path || !ARRAY_RESERVE(maps->maps, maps->capacity, maps->count + 1)) {
        err_set(reading->err, "its memory map: out of memory");
        return CPY_NOMEM;
    }
    maps->bytes += bytes;
    maps->maps[maps->count] = *map;
    maps->maps[maps->count++].path = path;
    return CPY_OK;
}

/* Holds the start of a file back until it is known whether it is an object. */
static void hold_start(struct reading *reading, const struct proc_map *map)
{
    reading->start = *map;
    (void)snprintf(reading->start_path, sizeof(reading->start_path), "%s", map->path);
    reading->start.path = reading->start_path;
}

static enum cpy_rc take_map(struct reading *reading, const struct proc_map *map)
{
    const bool is_start =
        map->offset == 0 && map->inode != 0 && map->readable && map->path[0] == '/';
    const bool is_part = reading->start.inode != 0 && reading->start.inode == map->inode &&
                         (map->offset != 0 || map->executable);
    enum cpy_rc rc = is_part ? keep_map(reading, &reading->start) : CPY_OK;

    if (is_part || is_start)
        reading->start.inode = 0;
    if (rc != CPY_OK || !is_start)
        return rc;
    if (map->executable)
        return keep_map(reading, map);
    hold_start(reading, map);
    return CPY_OK;
}

static bool take_map_line(void *ctx, char *line)
{
    struct reading *reading = ctx;
    struct proc_map map;

    if (line[0] == '\0')
        return true;
    reading->maps.lines++;
    if (proc_map_parse(line, &map)) {
        reading->rc = take_map(reading, &map);
    } else {
        err_set(reading->err, "its memory map has a line that is not understood");
        reading->rc = CPY_FOREIGN;
    }
    return reading->rc == CPY_OK;
}

enum cpy_rc maps_read_file(int fd, struct maps *out, struct err *err)
{
    struct reading reading = {.rc = CPY_OK, .err = err};
    enum proc_rc rc;

    arena_init(&reading.maps.paths, MAPS_BYTES_MAX);
    rc = fd < 0 ? proc_rc_of_errno(errno) : proc_file_lines(fd, take_map_line, &reading);
    if (rc != PROC_OK) {
        err_set(err, "its memory map: %s", strerror(errno));
        reading.rc = mem_rc_of_proc(rc);
    } else if (reading.maps.lines == 0) { /* a kernel thread, a zombie, or one that just exits */
        err_set(err, "it has no memory of its own (a kernel thread, or it is exiting)");
        reading.rc = CPY_GONE;
    }
    if (reading.rc == CPY_OK)
        *out = reading.maps;
    else
        maps_finish(&reading.maps);
    return reading.rc;
}

enum cpy_rc maps_read(int proc_fd, struct maps *out, struct err *err)
{
    int fd = proc_file_open(proc_fd, "maps");
    enum cpy_rc rc = maps_read_file(fd, out, err);

    if (fd >= 0)
        (void)close(fd);
    return rc;
}

void maps_finish(struct maps *maps)
{
    free(maps->maps);
    arena_finish(&maps->paths);
    *maps = (struct maps){.count = 0};
}
