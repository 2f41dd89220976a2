/* SPDX-License-Identifier: Apache-2.0 */
/* proc_map.c - see proc_map.h. */
#include "base/proc_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char deleted[] = " (deleted)";

/*
 * Reads a number in base 16 or 10 (digits alone, as the kernel prints it) and steps over it
 * and the one character `after`.
 */
static bool read_map_number(char **at, int base, char after, uint64_t *out)
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

/* "START-END PERM OFFSET MAJ:MIN INODE   PATH" */
bool proc_map_parse(char *line, struct proc_map *out)
{
    uint64_t dev_major, dev_minor;
    size_t size;

    *out = (struct proc_map){.start = 0};
    if (!read_map_number(&line, 16, '-', &out->start) ||
        !read_map_number(&line, 16, ' ', &out->end) || out->end <= out->start || strlen(line) < 5 ||
        line[4] != ' ')
        return false;
    out->readable = line[0] == 'r';
    out->writable = line[1] == 'w';
    out->executable = line[2] == 'x';
    line += 5;
    if (!read_map_number(&line, 16, ' ', &out->offset) ||
        !read_map_number(&line, 16, ':', &dev_major) ||
        !read_map_number(&line, 16, ' ', &dev_minor) ||
        !read_map_number(&line, 10, '\0', &out->inode) || (*line != ' ' && *line != '\0') ||
        dev_major > UINT32_MAX || dev_minor > UINT32_MAX)
        return false;
    out->device = dev_major << 32 | dev_minor;
    line += strspn(line, " ");
    out->path = line;
    size = strlen(line);
    if (size >= sizeof(deleted) && strcmp(line + size - sizeof(deleted) + 1, deleted) == 0)
        line[size - sizeof(deleted) + 1] = '\0';
    return true;
}
