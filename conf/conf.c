/* SPDX-License-Identifier: Apache-2.0 */
/* conf.c - ini text to settings, start to end; see conf.h. */
#include "conf/conf.h"

#include <stdlib.h>
#include <string.h>

#include "conf/lines.h"
#include "conf/settings.h"
#include "conf/text.h"

enum {
    ARENA_MAX = 32 * 1024 * 1024, /* a text of CONF_TEXT_MAX cannot need as much */
    FILE_SHOWN_MAX = 4096
};

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

enum conf_rc conf_origin_new(const char *file, struct conf **out)
{
    struct conf *conf = calloc(1, sizeof(*conf));

    if (!conf)
        return CONF_NOMEM;
    conf->origin = calloc(1, sizeof(*conf->origin));
    if (!conf->origin)
        goto fail;
    arena_init(&conf->origin->arena, ARENA_MAX);
    conf->origin->file = keep_file(&conf->origin->arena, file);
    if (!conf->origin->file)
        goto fail;
    *out = conf;
    return CONF_OK;

fail:
    conf_free(conf);
    return CONF_NOMEM;
}

void conf_free(struct conf *conf)
{
    if (!conf)
        return;
    if (conf->origin)
        arena_finish(&conf->origin->arena);
    free(conf->origin);
    free(conf);
}

static void on_section(void *ctx, unsigned line, const char *text)
{
    conf_build_section(ctx, line, text);
}

static void on_pair(void *ctx, unsigned line, const char *name, const char *value)
{
    conf_build_pair(ctx, line, name, value);
}

static void on_bad(void *ctx, unsigned line, const char *why)
{
    struct conf_build *build = ctx;

    conf_errors_add(&build->errors, line, "the line %s", why);
}

static bool starts_with(const char *text, size_t size, const char *start)
{
    return size >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

/* Reads the text into build->conf. */
static enum conf_rc read_text(struct conf_build *build, const char *text, size_t size)
{
    static const struct conf_lines_to to = {on_section, on_pair, on_bad};

    if (size > CONF_TEXT_MAX) {
        conf_errors_add(&build->errors, 0, "is too large; allowed: up to 1 MiB");
        return CONF_OK;
    }
    if (starts_with(text, size, "\xff\xfe") || starts_with(text, size, "\xfe\xff")) {
        conf_errors_add(&build->errors, 0, "is UTF-16; allowed: UTF-8");
        return CONF_OK;
    }
    if (starts_with(text, size, "\xef\xbb\xbf")) { /* a byte order mark, as some editors write */
        text += 3;
        size -= 3;
    }
    return conf_lines_each(text, size, &to, build);
}

/* Fills build->conf; CONF_BAD if there were mistakes. */
static enum conf_rc fill(struct conf_build *build, const char *text, size_t size)
{
    enum conf_rc rc = read_text(build, text, size);

    if (rc == CONF_OK && !build->nomem)
        conf_build_defaults(build);
    if (rc == CONF_OK && !build->nomem)
        conf_check_all(build);
    if (rc == CONF_OK && !build->nomem)
        conf_build_finish(build);
    if (rc != CONF_OK || build->nomem || build->errors.nomem)
        return CONF_NOMEM;
    return build->errors.count ? CONF_BAD : CONF_OK;
}

enum conf_rc conf_parse(const char *name, const char *text, size_t size, struct conf **out,
                        struct buf *errors)
{
    struct conf_build *build = calloc(1, sizeof(*build));
    enum conf_rc rc = CONF_NOMEM;

    if (!build)
        return rc;
    rc = conf_origin_new(name, &build->conf);
    if (rc != CONF_OK)
        goto fail;
    conf_errors_init(&build->errors, &build->conf->origin->arena);
    rc = fill(build, text, size);
    if (rc == CONF_BAD)
        conf_errors_print(&build->errors, build->conf->origin->file, errors);
    if (rc != CONF_OK)
        goto fail;
    *out = build->conf;
    build->conf = NULL;

fail: /* or done: what was handed over is no longer here */
    conf_free(build->conf);
    free(build);
    return rc;
}

enum conf_rc conf_defaults(struct conf **out)
{
    struct buf errors;
    enum conf_rc rc;

    buf_init(&errors, CONF_TEXT_MAX);
    rc = conf_parse("", "", 0, out, &errors);
    buf_finish(&errors); /* empty: there is no text to be wrong */
    return rc;
}
