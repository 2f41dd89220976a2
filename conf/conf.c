/* SPDX-License-Identifier: Apache-2.0 */
/* conf.c - ini text to settings, start to end; see conf.h. */
#include "conf/conf.h"

#include <stdlib.h>

#include "conf/settings.h"

enum { ARENA_MAX = 32 * 1024 * 1024 }; /* a text of CONF_TEXT_MAX cannot need as much */

/* Makes a struct conf with nothing in it. */
static enum conf_rc origin_new(struct conf **out)
{
    struct conf *conf = calloc(1, sizeof(*conf));

    if (!conf)
        return CONF_NOMEM;
    conf->origin = calloc(1, sizeof(*conf->origin));
    if (!conf->origin) {
        conf_free(conf);
        return CONF_NOMEM;
    }
    arena_init(&conf->origin->arena, ARENA_MAX);
    *out = conf;
    return CONF_OK;
}

bool conf_is_empty(const struct conf *conf)
{
    return conf->origin->empty;
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

/* Takes the main file, or what stands for it. */
static enum conf_rc read_main(struct conf_build *build, const struct conf_source *source)
{
    struct err err;
    struct buf text;
    enum conf_rc rc;

    conf_build_file(build, source->path ? source->path : "");
    if (source->text || !source->path)
        return conf_build_text(build, source->text ? source->text : "", source->size);
    buf_init(&text, CONF_TEXT_MAX);
    rc = conf_file_read(source->path, &text, &err);
    if (rc == CONF_OK)
        rc = conf_build_text(build, buf_text(&text), text.size);
    else if (rc == CONF_BAD)
        conf_errors_add(&build->errors, build->file, "%s", err.text);
    buf_finish(&text);
    return rc;
}

static void read_flags(struct conf_build *build, const struct conf_source *source)
{
    const struct conf_flag *flag;

    for (size_t i = 0; i < source->flag_count; i++) {
        flag = &source->flags[i];
        conf_build_file(build, flag->name);
        conf_build_open(build, CONF_AGENT, NULL, true);
        conf_build_pair(build, build->file, flag->key, flag->value);
    }
}

/* Takes all sources in the order in which each overrides the one before. */
static enum conf_rc read_sources(struct conf_build *build, const struct conf_source *source)
{
    struct conf_origin *origin = build->conf->origin;
    enum conf_rc rc = read_main(build, source);

    origin->empty = true;
    for (size_t i = 0; i < CONF_KINDS; i++)
        origin->empty = origin->empty && !origin->first[i];
    if (rc == CONF_OK && source->drop_ins && source->path)
        rc = conf_build_drop_ins(build, source->path);
    if (rc == CONF_OK && source->environment)
        conf_build_environment(build, source->environment);
    if (rc == CONF_OK)
        read_flags(build, source);
    return rc;
}

/* Fills build->conf; CONF_BAD if there were mistakes. */
static enum conf_rc build_conf(struct conf_build *build, const struct conf_source *source)
{
    enum conf_rc rc = read_sources(build, source);

    if (rc == CONF_OK && !build->nomem)
        conf_build_defaults(build);
    if (rc == CONF_OK && !build->nomem)
        conf_check_all(build);
    if (rc == CONF_OK && !build->nomem)
        conf_build_finish(build);
    if (rc == CONF_NOMEM || build->nomem || build->errors.nomem)
        return CONF_NOMEM;
    return build->errors.count ? CONF_BAD : CONF_OK;
}

enum conf_rc conf_load(const struct conf_source *source, struct conf **out, struct buf *errors)
{
    struct conf_build *build = calloc(1, sizeof(*build));
    enum conf_rc rc = CONF_NOMEM;

    if (!build)
        return rc;
    rc = origin_new(&build->conf);
    if (rc != CONF_OK)
        goto fail;
    conf_errors_init(&build->errors, &build->conf->origin->arena);
    build->environment = source->environment;
    rc = build_conf(build, source);
    if (rc == CONF_BAD)
        conf_errors_print(&build->errors, build->conf->origin, errors);
    if (rc != CONF_OK)
        goto fail;
    *out = build->conf;
    build->conf = NULL;

fail: /* or done: what was handed over is no longer here */
    conf_free(build->conf);
    free(build);
    return rc;
}
