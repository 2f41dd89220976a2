/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environ.c - which setting a PYSTROBE_... variable means, see conf_load.
 *
 * Names of sections and keys may both hold "_", so there are several ways to cut
 * SECTION_NAME_KEY. The one whose section is there already is right, else that with the
 * longest key that is known: EXPORTER_MY_STORE_MAX_SIZE is max_size of my_store.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/settings.h"
#include "conf/text.h"

enum { NAME_ROOM = 256, VALUE_BYTES_MAX = 8192 };

static const char start[] = "PYSTROBE_";

/* How the rest of a variable is cut. */
struct way {
    const struct conf_option *option; /* NULL: no key is known */
    size_t name_size;                 /* of what is before the key and its "_" */
    const char *key;                  /* where the key begins; of a free key: behind its prefix */
    const char *existing;             /* the section's own name; NULL: there is none yet */
};

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* A letter of a name as a variable has it. */
static char in_variable(char c)
{
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

    return plain ? upper(c) : '_';
}

/* True if `size` bytes of `text` are `name` as a variable has it. */
static bool stands_for(const char *text, size_t size, const char *name)
{
    if (strlen(name) != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (text[i] != in_variable(name[i]))
            return false;
    return true;
}

/* What Kubernetes sets in each container for a service of the name pystrobe-agent, say. */
static bool is_of_kubernetes(const char *variable)
{
    static const char *const ends[] = {"_SERVICE_HOST", "_SERVICE_PORT", "_PORT"};
    size_t size = strlen(variable), i;

    for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (size > strlen(ends[i]) && strcmp(variable + size - strlen(ends[i]), ends[i]) == 0)
            return true;
    return strstr(variable, "_SERVICE_PORT_") || strstr(variable, "_TCP") ||
           strstr(variable, "_UDP");
}

/* The name of the section that `size` bytes of `text` stand for; NULL: there is none. */
static const char *find_section_name(const struct conf_build *build, enum conf_kind kind,
                                     const char *text, size_t size)
{
    const struct conf_section *section = build->conf->origin->first[kind];

    for (; section; section = section->next)
        if (section->name && stands_for(text, size, section->name))
            return section->name;
    return NULL;
}

/* True if a way with a known key is better than `best`. Of two keys that begin at the same place,
 * header. and header_file., the longer one is. */
static bool is_better_split(const struct way *way, const struct way *best)
{
    if (!best->option || !way->existing != !best->existing)
        return !best->option || way->existing;
    if (way->name_size != best->name_size)
        return way->name_size < best->name_size;
    return way->key > best->key;
}

/* Takes a way if it is better than `best`. */
static void choose_better_split(const struct conf_build *build, enum conf_kind kind,
                                const char *rest, const struct way *way, struct way *best)
{
    struct way found = *way;

    if (way->name_size == 0)
        return;
    found.existing = find_section_name(build, kind, rest, way->name_size);
    if (is_better_split(&found, best))
        *best = found;
}

/* Tries one key at the end of "NAME_KEY", or the prefix of a free key within it. */
static void try_option(const struct conf_build *build, const struct conf_option *option,
                       const char *rest, struct way *best)
{
    const char *word = option->prefix ? option->prefix : option->name;
    size_t size = strlen(word), length = strlen(rest), at;

    for (at = 1; at + 1 + size <= length; at++) {
        struct way way = {option, at, rest + at + 1, NULL};

        if (rest[at] != '_' || !stands_for(rest + at + 1, size, word))
            continue;
        if (option->prefix)
            way.key += size;
        if (option->prefix ? *way.key != '\0' : at + 1 + size == length)
            choose_better_split(build, option->kind, rest, &way, best);
    }
}

static bool is_header(enum conf_type type)
{
    return type == CONF_TYPE_HEADER || type == CONF_TYPE_HEADER_FILE ||
           type == CONF_TYPE_HEADER_ENV || type == CONF_TYPE_HEADER_CREDENTIAL;
}

/* Writes the key as a file has it: header.x-team, env.HOME, max_size. */
static void write_key(const struct way *way, char out[NAME_ROOM])
{
    const char *prefix = way->option && way->option->prefix ? way->option->prefix : "";
    bool as_it_is = way->option && way->option->type == CONF_TYPE_ENV;
    bool header = way->option && is_header(way->option->type);
    char *c;

    (void)snprintf(out, NAME_ROOM, "%s%s", prefix, way->key);
    for (c = out + strlen(prefix); *c && !as_it_is; c++)
        *c = header && *c == '_' ? '-' : conf_lower(*c);
}

/* Where the key of a section without a name, or of no known key, begins. */
static void cut_unknown(const struct conf_build *build, enum conf_kind kind, const char *rest,
                        struct way *out)
{
    const char *last = strrchr(rest, '_');

    *out = (struct way){.key = last && last > rest ? last + 1 : NULL};
    out->name_size = out->key ? (size_t)(last - rest) : 0;
    for (size_t at = strlen(rest); at > 1; at--)
        if (rest[at - 1] == '_' && find_section_name(build, kind, rest, at - 1)) {
            *out =
                (struct way){NULL, at - 1, rest + at, find_section_name(build, kind, rest, at - 1)};
            return;
        }
}

static void take_named(struct conf_build *build, enum conf_kind kind, const char *variable,
                       const char *rest, const char *value)
{
    struct way best = {.option = NULL};
    char name[NAME_ROOM], key[NAME_ROOM];

    for (size_t i = 0; i < conf_option_count; i++)
        if (conf_options[i].kind == kind)
            try_option(build, &conf_options[i], rest, &best);
    if (!best.option && is_of_kubernetes(variable))
        return;
    conf_build_file(build, variable);
    if (!best.option)
        cut_unknown(build, kind, rest, &best);
    if (!best.key || !*best.key) {
        conf_errors_add(&build->errors, build->file,
                        "names no section and key; allowed: PYSTROBE_%s_NAME_KEY",
                        kind == CONF_TARGET ? "TARGET" : "EXPORTER");
        return;
    }
    (void)snprintf(name, sizeof(name), "%.*s", (int)best.name_size, rest);
    for (size_t i = 0; name[i]; i++)
        name[i] = conf_lower(name[i]);
    write_key(&best, key);
    conf_build_open(build, kind, best.existing ? best.existing : name, best.option != NULL);
    conf_build_pair(build, build->file, key, value);
}

/* The key of a section that has no name. */
static void set_unnamed_section_key(struct conf_build *build, enum conf_kind kind,
                                    const char *variable, const char *rest, const char *value)
{
    struct way way = {.key = rest};
    char key[NAME_ROOM];

    write_key(&way, key);
    if (!conf_option_find(kind, key) && is_of_kubernetes(variable))
        return;
    conf_build_file(build, variable);
    conf_build_open(build, kind, NULL, true);
    conf_build_pair(build, build->file, key, value);
}

/* Says which section is meant, if one is near; others are somebody else's variables. */
static void take_unknown(struct conf_build *build, const char *variable, const char *word)
{
    struct conf_nearest nearest = {.word = word};
    char meant[32] = "";

    for (int kind = 0; kind < CONF_KINDS; kind++)
        conf_nearest_try(&nearest, conf_kinds[kind].word);
    if (!nearest.best || is_of_kubernetes(variable))
        return;
    conf_build_file(build, variable);
    for (size_t i = 0; i < sizeof(meant) - 1 && nearest.best[i]; i++)
        meant[i] = upper(nearest.best[i]);
    conf_errors_add(&build->errors, build->file,
                    "there is no section [%s]; did you mean PYSTROBE_%s%s?", word, meant,
                    strchr(variable + strlen(start), '_'));
}

/* Is the value one that a line of a file could hold? Else says why not. */
static bool check_value(struct conf_build *build, const char *variable, const char *value)
{
    size_t size = strlen(value);
    struct err err;

    if (size > VALUE_BYTES_MAX)
        err_set(&err, "is too long; allowed: up to %d bytes", VALUE_BYTES_MAX);
    else if (conf_text_check(value, size, &err) == CONF_OK)
        return true;
    conf_build_file(build, variable);
    conf_errors_add(&build->errors, build->file, "the value %s", err.text);
    return false;
}

/* Takes "PYSTROBE_AGENT_RATE" and its value. */
static void apply_variable(struct conf_build *build, const char *variable, const char *value)
{
    const char *rest = variable + strlen(start);
    size_t size = strcspn(rest, "_"), i;
    char word[NAME_ROOM];
    int kind;

    (void)snprintf(word, sizeof(word), "%.*s", (int)size, rest);
    for (i = 0; word[i]; i++)
        word[i] = conf_lower(word[i]);
    for (kind = 0; kind < CONF_KINDS && !stands_for(rest, size, conf_kinds[kind].word); kind++)
        ;
    if (!rest[size] || !rest[size + 1])
        return; /* no key: PYSTROBE_AGENT itself is nothing of ours */
    if (kind == CONF_KINDS)
        take_unknown(build, variable, word);
    else if (!check_value(build, variable, value))
        return;
    else if (conf_kinds[kind].named)
        take_named(build, (enum conf_kind)kind, variable, rest + size + 1, value);
    else
        set_unnamed_section_key(build, (enum conf_kind)kind, variable, rest + size + 1, value);
}

static int compare_variable_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Splits "NAME=VALUE" and takes it, if the name can be one of ours. */
static void apply_environ_entry(struct conf_build *build, const char *both)
{
    size_t size = strcspn(both, "=");
    char variable[NAME_ROOM];

    if (both[size] != '=' || size >= sizeof(variable) ||
        strspn(both, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != size)
        return;
    (void)snprintf(variable, sizeof(variable), "%.*s", (int)size, both);
    apply_variable(build, variable, both + size + 1);
}

void conf_build_environment(struct conf_build *build, char *const *environment)
{
    const char **ours;
    size_t count = 0, room = 0, i;

    for (i = 0; environment[i]; i++)
        room += strncmp(environment[i], start, strlen(start)) == 0;
    ours = conf_build_take(build, (room + 1) * sizeof(*ours));
    if (!ours)
        return;
    for (i = 0; environment[i] && count < room; i++)
        if (strncmp(environment[i], start, strlen(start)) == 0)
            ours[count++] = environment[i];
    qsort(ours, count, sizeof(*ours), compare_variable_names);
    for (i = 0; i < count && !build->nomem; i++)
        apply_environ_entry(build, ours[i]);
}
