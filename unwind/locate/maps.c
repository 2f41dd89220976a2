/* SPDX-License-Identifier: Apache-2.0 */
/* maps.c - see maps.h. */
#include "unwind/locate/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "unwind/read/mem.h"

/* What is being read. */
struct reading {
    struct maps maps;
    size_t lines;
    enum cpy_rc rc;
    struct err *err;
};

static enum cpy_rc fail_at_line(struct reading *reading, enum cpy_rc rc, const char *why)
{
    err_set(reading->err, "its memory map %s", why);
    return rc;
}

static enum cpy_rc keep_map(struct reading *reading, const struct proc_map *map)
{
    struct maps *maps = &reading->maps;
    char *path = arena_strndup(&maps->paths, map->path, strlen(map->path));

    if (!path || maps->count == MAPS_MAX ||
        !ARRAY_RESERVE(maps->maps, maps->capacity, maps->count + 1))
        return fail_at_line(reading, CPY_NOMEM, "is too large");
    maps->maps[maps->count] = *map;
    maps->maps[maps->count++].path = path;
    return CPY_OK;
}

static bool take_map_line(void *ctx, char *line)
{
    struct reading *reading = ctx;
    struct proc_map map;

    if (line[0] == '\0')
        return true;
    if (reading->lines++ == MAPS_LINES_MAX)
        reading->rc = fail_at_line(reading, CPY_FOREIGN, "has too many lines");
    else if (!proc_map_parse(line, &map))
        reading->rc = fail_at_line(reading, CPY_FOREIGN, "has a line that is not understood");
    else if (map.offset == 0 && map.inode != 0 && map.readable && map.path[0] == '/')
        reading->rc = keep_map(reading, &map);
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
    } else if (reading.lines == 0) { /* a kernel thread, a zombie, or one that just exits */
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
