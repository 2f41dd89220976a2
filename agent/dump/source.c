/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - see source.h. */
#include "agent/dump/source.h"

#include <stdlib.h>
#include <string.h>

/* Where every so many lines begin is noted, so that no lookup scans more. */
enum { STRIDE = 256 };

/* A file that was asked for; `text` is NULL if it has no lines for us. */
struct file {
    char *name;       /* owned */
    char *text;       /* owned; lines end with \n only */
    size_t size;      /* bytes of text */
    uint32_t *starts; /* owned: where line 1, STRIDE + 1, ... begin */
    size_t start_count;
    bool newer; /* than the process: its lines are not those that run */
};

struct source {
    struct source_reader *reader; /* owned */
    int64_t started_ns;
    struct file files[SOURCE_FILES_MAX];
    size_t count, bytes;
};

struct source *source_open(struct source_reader *reader, int64_t started_ns)
{
    struct source *source = reader ? calloc(1, sizeof(*source)) : NULL;

    if (!source) {
        source_reader_end(reader);
        return NULL;
    }
    source->reader = reader;
    source->started_ns = started_ns;
    return source;
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
    source_reader_end(source->reader);
    free(source);
}

void source_explain(const struct source *source)
{
    if (source)
        source_reader_explain(source->reader);
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

/* Takes over the bytes of `text`, which are not empty. */
static void take_text(struct file *file, struct buf *text)
{
    file->text = (char *)text->data;
    file->size = text->size;
    buf_init(text, 0);
}

static bool load_source_file(const struct source *source, struct file *file)
{
    struct buf text;

    buf_init(&text, SOURCE_BYTES_MAX - source->bytes);
    if (source_reader_read(source->reader, file->name, &text)) {
        file->newer = source_reader_changed_ns(source->reader) > source->started_ns;
        if (text.size > 0 && !file->newer)
            take_text(file, &text);
    }
    buf_finish(&text);
    if (!file->text)
        return false;
    clean(file);
    return note_starts(file);
}

/* The file of that name if it was asked for before, else NULL. */
static const struct file *find_known_file(const struct source *source, const char *name)
{
    for (size_t i = source->count; i > 0; i--)
        if (strcmp(source->files[i - 1].name, name) == 0)
            return &source->files[i - 1];
    return NULL;
}

/* The file of that name, read if it is new. NULL: no room for one more. */
static const struct file *find_file(struct source *source, const char *name)
{
    const struct file *known = find_known_file(source, name);
    struct file *file;

    if (known || source->count == SOURCE_FILES_MAX)
        return known;
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

bool source_is_newer(const struct source *source, const char *file_name)
{
    const struct file *file = find_known_file(source, file_name);

    return file && file->newer;
}
