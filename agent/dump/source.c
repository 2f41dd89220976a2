/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - see source.h. */
#include "agent/dump/source.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc_stat.h"

/* Where every so many lines begin is noted, so that no lookup scans more. */
enum { STRIDE = 256 };

/* A file that was asked for; `text` is NULL if it has no lines for us. */
struct file {
    char *name;       /* owned */
    char *text;       /* owned; lines end with \n only */
    size_t size;      /* bytes of text */
    uint32_t *starts; /* owned: where line 1, STRIDE + 1, ... begin */
    size_t start_count;
};

struct source {
    int root_fd, cwd_fd; /* cwd_fd: -1 if there is none */
    struct file files[SOURCE_FILES_MAX];
    size_t count, bytes;
};

struct source *source_open_at(const char *root, const char *cwd)
{
    struct source *source = calloc(1, sizeof(*source));

    if (!source)
        return NULL;
    source->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    source->cwd_fd = open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (source->root_fd >= 0)
        return source;
    source_close(source);
    return NULL;
}

struct source *source_open(pid_t pid)
{
    const pid_t living = proc_living_thread(pid);
    char root[64], cwd[64];

    (void)snprintf(root, sizeof(root), "/proc/%d/root", (int)living);
    (void)snprintf(cwd, sizeof(cwd), "/proc/%d/cwd", (int)living);
    return source_open_at(root, cwd);
}

void source_close(struct source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < source->count; i++) {
        free(source->files[i].name);
        free(source->files[i].text);
        free(source->files[i].starts);
    }
    if (source->root_fd >= 0)
        (void)close(source->root_fd);
    if (source->cwd_fd >= 0)
        (void)close(source->cwd_fd);
    free(source);
}

/*
 * Opens a regular file. An absolute name starts at the target's root, and so do links; a
 * relative one at its working directory, and may not lead out of that.
 */
static int open_inside(const struct source *source, const char *name, size_t *size)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    bool absolute = name[0] == '/';
    char path[64];
    struct stat st;
    int path_fd, fd = -1;

    how.resolve |= absolute ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
    path_fd = (int)syscall(SYS_openat2, absolute ? source->root_fd : source->cwd_fd, name, &how,
                           sizeof(how));
    if (path_fd < 0)
        return -1;
    /* Opened for reading only once it is known what it is: a FIFO or a device may act on that. */
    if (fstat(path_fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SOURCE_FILE_MAX) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        *size = (size_t)st.st_size;
    }
    (void)close(path_fd);
    return fd;
}

/* Makes \n of all ends of lines, as Python does, and drops a byte order mark. */
static void clean(struct file *file)
{
    size_t from = file->size >= 3 && memcmp(file->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0, to = 0;

    for (; from < file->size; from++) {
        file->text[to] = file->text[from];
        if (file->text[to] == '\t' || file->text[to] == '\f')
            file->text[to] = ' ';
        if (file->text[to] == '\r') {
            file->text[to] = '\n';
            if (from + 1 < file->size && file->text[from + 1] == '\n')
                from++;
        }
        to++;
    }
    file->size = to;
}

/* Where the line behind `at` begins; the size of the text if there is none. */
static size_t find_next_source_line(const struct file *file, size_t at)
{
    const char *end = memchr(file->text + at, '\n', file->size - at);

    return end ? (size_t)(end - file->text) + 1 : file->size;
}

static bool note_starts(struct file *file)
{
    size_t at, line = 0, count = 0;

    for (at = 0; at < file->size; at = find_next_source_line(file, at))
        count++;
    file->starts = calloc(count / STRIDE + 1, sizeof(*file->starts));
    if (!file->starts)
        return false;
    for (at = 0; at < file->size; at = find_next_source_line(file, at), line++)
        if (line % STRIDE == 0)
            file->starts[file->start_count++] = (uint32_t)at;
    return true;
}

static bool load_source_file(const struct source *source, struct file *file)
{
    int fd = open_inside(source, file->name, &file->size);
    bool done;

    if (fd < 0)
        return false;
    if (file->size <= SOURCE_BYTES_MAX - source->bytes)
        file->text = malloc(file->size + 1);
    done = file->text && file_read(fd, file->text, file->size, &file->size);
    (void)close(fd);
    if (!done)
        return false;
    clean(file);
    return note_starts(file);
}

/* The file of that name, read if it is new. NULL: no room for one more. */
static const struct file *find_file(struct source *source, const char *name)
{
    struct file *file;

    for (size_t i = source->count; i > 0; i--)
        if (strcmp(source->files[i - 1].name, name) == 0)
            return &source->files[i - 1];
    if (source->count == SOURCE_FILES_MAX)
        return NULL;
    file = &source->files[source->count];
    *file = (struct file){.name = strdup(name)};
    if (!file->name)
        return NULL;
    source->count++;
    if (load_source_file(source, file)) {
        source->bytes += file->size;
    } else {
        free(file->text);
        file->text = NULL;
    }
    return file;
}

bool source_line(struct source *source, const char *file_name, int32_t number,
                 struct source_line *out)
{
    const struct file *file;
    size_t at, line, index = number > 0 ? ((size_t)number - 1) / STRIDE : 0;

    if (number <= 0 || file_name[0] == '\0' || file_name[0] == '<')
        return false;
    file = find_file(source, file_name);
    if (!file || !file->text || index >= file->start_count)
        return false;
    at = file->starts[index];
    for (line = index * STRIDE + 1; line < (size_t)number && at < file->size; line++)
        at = find_next_source_line(file, at);
    if (at >= file->size)
        return false;
    out->text = file->text + at;
    out->size = find_next_source_line(file, at) - at;
    out->size -= out->text[out->size - 1] == '\n';
    out->size = out->size < SOURCE_LINE_MAX ? out->size : SOURCE_LINE_MAX;
    return true;
}
