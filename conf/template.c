/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template.c - replaces ${NAME} and ${NAME:-DEFAULT} in text; "$$" stands for "$".
 *
 * A default is a template itself. All that is done is done on the text as it is read, once
 * from left to right; what a name stands for is never read as a template.
 */
#include "conf/template.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 8, NAME_MAX_BYTES = 128 };

struct expansion {
    const char *at; /* what is read next */
    conf_lookup *lookup;
    void *ctx;
    char *out; /* of `size` bytes, `used` of them used */
    size_t size, used;
    const char *problem; /* why the text is no template; static */
};

static void append_expansion(struct expansion *e, const char *text, size_t size)
{
    size_t room = e->size - 1 - e->used;

    size = size < room ? size : room;
    memcpy(e->out + e->used, text, size);
    e->used += size;
}

/* Reads the name of a "${"; it ends before "}" or ":-". */
static bool read_variable_name(struct expansion *e, char name[NAME_MAX_BYTES])
{
    size_t size = 0;

    while (e->at[size] && e->at[size] != '}' && strncmp(e->at + size, ":-", 2) != 0)
        size++;
    if (!e->at[size])
        e->problem = "has a \"${\" without its \"}\"";
    else if (size == 0 || size >= NAME_MAX_BYTES)
        e->problem = "has a \"${\" without a name";
    if (e->problem)
        return false;
    memcpy(name, e->at, size);
    name[size] = '\0';
    e->at += size;
    return true;
}

static void expand(struct expansion *e, unsigned depth, bool wanted);

/* Replaces what stands behind a "${". */
static void expand_variable(struct expansion *e, unsigned depth, bool wanted)
{
    char name[NAME_MAX_BYTES];
    const char *value;

    if (depth == DEPTH_MAX)
        e->problem = "has too many \"${\" inside each other; at most 8";
    if (e->problem || !read_variable_name(e, name))
        return;
    value = wanted ? e->lookup(e->ctx, name) : NULL; /* to look may cost much */
    if (value && !*value)
        value = NULL;
    if (value)
        append_expansion(e, value, strlen(value));
    if (*e->at == ':') {
        e->at += 2;
        expand(e, depth + 1, wanted && !value);
    }
    if (!e->problem && *e->at != '}')
        e->problem = "has a \"${\" without its \"}\"";
    e->at += !e->problem;
}

/* Reads text up to the "}" of the "${" around it, or to its end. */
static void expand(struct expansion *e, unsigned depth, bool wanted)
{
    while (!e->problem && *e->at && !(depth > 0 && *e->at == '}')) {
        if (e->at[0] == '$' && e->at[1] == '{') {
            e->at += 2;
            expand_variable(e, depth, wanted);
            continue;
        }
        e->at += e->at[0] == '$' && e->at[1] == '$';
        if (wanted)
            append_expansion(e, e->at, 1);
        e->at++;
    }
}

void conf_template_expand(const char *text, conf_lookup *lookup, void *ctx, char *out, size_t size)
{
    struct expansion e = {.at = text, .lookup = lookup, .ctx = ctx, .out = out, .size = size};

    expand(&e, 0, true);
    out[e.used] = '\0';
}

struct checking {
    const char *problem;
    void (*each)(void *ctx, const char *name);
    void *ctx;
};

static const char *check_variable_name(void *ctx, const char *name)
{
    static const char *const known[] = {"exe",    "script", "systemd_unit", "container",
                                        "cgroup", "user",   "target",       NULL};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    struct checking *checking = ctx;

    if (strncmp(name, "env:", 4) == 0 && name[4] && !name[4 + strspn(name + 4, letters)]) {
        if (checking->each)
            checking->each(checking->ctx, name + 4);
        return NULL;
    }
    if (strncmp(name, "otel:", 5) == 0 && name[5])
        return NULL;
    for (size_t i = 0; known[i]; i++)
        if (strcmp(known[i], name) == 0)
            return NULL;
    checking->problem = "has a ${...} that is not known; there are ${env:NAME}, ${otel:NAME}, "
                        "${script}, ${exe}, ${user}, ${systemd_unit}, ${container}, ${cgroup} and "
                        "${target}";
    return NULL;
}

static const char *check_template(const char *text, struct checking *checking)
{
    char nothing[1];
    struct expansion e = {
        .at = text, .lookup = check_variable_name, .ctx = checking, .out = nothing, .size = 1};

    expand(&e, 0, true);
    return e.problem ? e.problem : checking->problem;
}

enum conf_rc conf_template_check(const char *text, struct err *err)
{
    struct checking checking = {NULL, NULL, NULL};
    const char *problem = check_template(text, &checking);

    if (!problem)
        return CONF_OK;
    err_set(err, "%s", problem);
    return CONF_BAD;
}

void conf_template_variables(const char *text, void (*each)(void *ctx, const char *name), void *ctx)
{
    struct checking checking = {NULL, each, ctx};

    (void)check_template(text, &checking);
}
