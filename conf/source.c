/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - takes one source of settings: its name, then its text, section by section. */
#include <string.h>

#include "conf/lines.h"
#include "conf/settings.h"
#include "conf/text.h"

enum { FILE_SHOWN_MAX = 4096 };

/* Keeps the name of the file, without anything that would break a line or a terminal. */
static const char *keep_file(struct arena *arena, const char *file)
{
    size_t size = strlen(file), i;
    char *kept = arena_strndup(arena, file, size < FILE_SHOWN_MAX ? size : FILE_SHOWN_MAX);

    for (i = 0; kept && kept[i]; i++)
        if (conf_text_check(kept + i, 1, NULL) != CONF_OK && (unsigned char)kept[i] < 0x80)
            kept[i] = '?';
    if (kept && conf_text_check(kept, strlen(kept), NULL) != CONF_OK)
        for (i = 0; kept[i]; i++)
            if ((unsigned char)kept[i] >= 0x80)
                kept[i] = '?';
    return kept;
}

void conf_build_file(struct conf_build *build, const char *name)
{
    struct conf_origin *origin = build->conf->origin;
    const char *kept = keep_file(&origin->arena, name);

    build->in_section = false;
    build->current = NULL;
    if (!kept)
        build->nomem = true;
    else if (origin->file_count == CONF_FILES_MAX)
        conf_errors_add(&build->errors, build->file,
                        "%s: too many files and variables; allowed: %d", kept, CONF_FILES_MAX);
    else {
        build->file = origin->file_count << CONF_PLACE_BITS;
        origin->files[origin->file_count++] = kept;
    }
}

static void on_section(void *ctx, unsigned line, const char *text)
{
    struct conf_build *build = ctx;

    conf_build_section(build, build->file + line, text);
}

static void on_pair(void *ctx, unsigned line, const char *name, const char *value)
{
    struct conf_build *build = ctx;

    conf_build_pair(build, build->file + line, name, value);
}

static void on_bad(void *ctx, unsigned line, const char *why)
{
    struct conf_build *build = ctx;

    conf_errors_add(&build->errors, build->file + line, "the line %s", why);
}

static bool starts_with(const char *text, size_t size, const char *start)
{
    return size >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

enum conf_rc conf_build_text(struct conf_build *build, const char *text, size_t size)
{
    static const struct conf_lines_to to = {on_section, on_pair, on_bad};

    if (size > CONF_TEXT_MAX - build->size) {
        conf_errors_add(&build->errors, build->file, "is too large; allowed: up to 1 MiB%s",
                        build->size ? ", with the files before it" : "");
        return CONF_OK;
    }
    build->size += size;
    if (starts_with(text, size, "\xff\xfe") || starts_with(text, size, "\xfe\xff")) {
        conf_errors_add(&build->errors, build->file, "is UTF-16; allowed: UTF-8");
        return CONF_OK;
    }
    if (starts_with(text, size, "\xef\xbb\xbf")) { /* a byte order mark, as some editors write */
        text += 3;
        size -= 3;
    }
    return conf_lines_each(text, size, &to, build);
}
