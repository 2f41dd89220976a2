/* SPDX-License-Identifier: Apache-2.0 */
/* maps.c - see maps.h. */
#include "unwind/locate/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

static const char deleted[] = " (deleted)";

/*
 * Reads a number in base 16 or 10 (digits alone, as the kernel prints it) and steps over it
 * and the one character `after`.
 */
static bool read_maps_number(char **at, int base, char after, uint64_t *out)
{
    size_t digits = strspn(*at, base == 16 ? "0123456789abcdef" : "0123456789");
    char *end;

    errno = 0;
    *out = strtoull(*at, &end, base);
    if (digits == 0 || end != *at + digits || errno != 0 || (after && *end != after))
        return false;
    *at = end + (after != '\0');
    return true;
}

/* "START-END PERM OFFSET MAJ:MIN INODE   PATH"; `line` ends with a NUL and is changed. */
static bool parse_line(char *line, struct map *out)
{
    uint64_t dev_major, dev_minor;
    size_t size;

    *out = (struct map){0};
    if (!read_maps_number(&line, 16, '-', &out->start) ||
        !read_maps_number(&line, 16, ' ', &out->end) || out->end <= out->start ||
        strlen(line) < 5 || line[4] != ' ')
        return false;
    out->readable = line[0] == 'r';
    out->writable = line[1] == 'w';
    line += 5;
    if (!read_maps_number(&line, 16, ' ', &out->offset) ||
        !read_maps_number(&line, 16, ':', &dev_major) ||
        !read_maps_number(&line, 16, ' ', &dev_minor) ||
        !read_maps_number(&line, 10, '\0', &out->inode) || (*line != ' ' && *line != '\0') ||
        dev_major > UINT32_MAX || dev_minor > UINT32_MAX)
        return false;
    out->dev_major = (uint32_t)dev_major;
    out->dev_minor = (uint32_t)dev_minor;
    out->path = line + strspn(line, " ");
    size = strlen(out->path);
    if (size >= sizeof(deleted) && strcmp(out->path + size - sizeof(deleted) + 1, deleted) == 0)
        line[strlen(line) - sizeof(deleted) + 1] = '\0';
    return true;
}

static size_t count_maps_lines(const char *text, size_t size)
{
    size_t i, lines = size > 0 && text[size - 1] != '\n';

    for (i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

static enum cpy_rc parse_lines(struct maps *maps, size_t size, struct err *err)
{
    char *line = maps->text, *end = maps->text + size, *stop;

    for (; line < end; line = stop + 1) {
        stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        *stop = '\0';
        if (stop == line)
            continue;
        if (!parse_line(line, &maps->maps[maps->count])) {
            err_set(err, "its memory map has a line that is not understood");
            return CPY_FOREIGN;
        }
        maps->count++;
    }
    return CPY_OK;
}

enum cpy_rc maps_parse(const char *text, size_t size, struct maps *out, struct err *err)
{
    struct maps maps = {0};
    size_t lines = count_maps_lines(text, size);
    enum cpy_rc rc;

    if (lines > MAPS_MAX) {
        err_set(err, "its memory map has more than %d lines", MAPS_MAX);
        return CPY_FOREIGN;
    }
    maps.maps = calloc(lines + 1, sizeof(*maps.maps));
    maps.text = malloc(size + 1);
    if (!maps.maps || !maps.text) {
        maps_finish(&maps);
        return CPY_NOMEM;
    }
    memcpy(maps.text, text, size);
    maps.text[size] = '\0';
    rc = parse_lines(&maps, size, err);
    if (rc == CPY_OK)
        *out = maps;
    else
        maps_finish(&maps);
    return rc;
}

/* Reads the whole file, which has no size beforehand, into `out`. */
static enum cpy_rc slurp(int fd, struct buf *out, struct err *err)
{
    enum { STEP = 65536 };
    unsigned char *room;
    ssize_t got;

    for (;;) {
        room = buf_extend(out, STEP);
        if (!room) {
            err_set(err, "its memory map is too large");
            return CPY_NOMEM;
        }
        got = read(fd, room, STEP);
        out->size -= STEP - (got > 0 ? (size_t)got : 0);
        if (got == 0)
            return CPY_OK;
        if (got < 0 && errno != EINTR) {
            err_set(err, "its memory map: %s", strerror(errno));
            return errno == EACCES || errno == EPERM ? CPY_DENIED : CPY_GONE;
        }
    }
}

enum cpy_rc maps_read(int proc_fd, struct maps *out, struct err *err)
{
    int fd = openat(proc_fd, "maps", O_RDONLY | O_CLOEXEC), cause = errno;
    struct buf text;
    enum cpy_rc rc;

    if (fd < 0) {
        err_set(err, "its memory map: %s", strerror(cause));
        return cause == EACCES || cause == EPERM ? CPY_DENIED : CPY_GONE;
    }
    buf_init(&text, MAPS_BYTES_MAX);
    rc = slurp(fd, &text, err);
    (void)close(fd);
    if (rc == CPY_OK && text.size == 0) { /* a kernel thread, a zombie, or one that just exits */
        err_set(err, "it has no memory of its own (a kernel thread, or it is exiting)");
        rc = CPY_GONE;
    }
    if (rc == CPY_OK)
        rc = maps_parse(buf_text(&text), text.size, out, err);
    buf_finish(&text);
    return rc;
}

void maps_finish(struct maps *maps)
{
    free(maps->maps);
    free(maps->text);
    *maps = (struct maps){0};
}
