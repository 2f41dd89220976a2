/* SPDX-License-Identifier: Apache-2.0 */
/* build.c - puts sections and pairs where they belong, see settings.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "conf/settings.h"
#include "conf/text.h"
#include "conf/values.h"

enum { NAME_MAX_BYTES = 64, LISTED_KEYS_MAX = 12 };

static const char allowed_sections[] = "[agent], [http], [labels], [target NAME], [exporter NAME]";

void *conf_build_take(struct conf_build *build, size_t size)
{
    void *memory = arena_alloc(&build->conf->origin->arena, size);

    if (memory)
        memset(memory, 0, size);
    else
        build->nomem = true;
    return memory;
}

static const char *copy_to_origin_arena(struct conf_build *build, const char *text)
{
    const char *kept = arena_strndup(&build->conf->origin->arena, text, strlen(text));

    if (!kept)
        build->nomem = true;
    return kept;
}

const char *conf_section_head(const struct conf_section *section, char out[CONF_HEAD_MAX])
{
    const char *word = conf_kinds[section->kind].word;

    if (section->name)
        (void)snprintf(out, CONF_HEAD_MAX, "[%s %s]", word, section->name);
    else
        (void)snprintf(out, CONF_HEAD_MAX, "[%s]", word);
    return out;
}

struct conf_section *conf_section_new(struct conf_build *build, enum conf_kind kind, unsigned line,
                                      const char *name)
{
    struct conf_section *section = conf_build_take(build, sizeof(*section));

    if (!section)
        return NULL;
    section->kind = kind;
    section->line = section->last = line;
    section->name = name ? copy_to_origin_arena(build, name) : NULL;
    section->values = conf_kinds[kind].size ? conf_build_take(build, conf_kinds[kind].size) : NULL;
    return build->nomem ? NULL : section;
}

void conf_section_add(struct conf_build *build, struct conf_section *section)
{
    struct conf_section **end = &build->conf->origin->first[section->kind];

    while (*end)
        end = &(*end)->next;
    *end = section;
    build->conf->origin->count[section->kind]++;
}

/* Finds the section of this kind and name (NULL for kinds whose sections have no name). Gives NULL
 * if it is not there. */
static struct conf_section *find_conf_section(const struct conf_build *build, enum conf_kind kind,
                                              const char *name)
{
    struct conf_section *section = build->conf->origin->first[kind];

    for (; section; section = section->next)
        if (!name || strcmp(section->name, name) == 0)
            return section;
    return NULL;
}

/* Splits "target web" in place. */
static char *split_name(char *text)
{
    char *name = text + strcspn(text, " \t");

    if (!*name)
        return NULL;
    *name++ = '\0';
    return name + strspn(name, " \t");
}

/* Says that there is no such section, and which is meant if one is near. */
static void unknown_section(struct conf_build *build, unsigned line, const char *text,
                            const char *word)
{
    struct conf_nearest nearest = {.word = word};
    char shown[CONF_QUOTE_MAX];
    int i, best = 0;

    for (i = 0; i < CONF_KINDS; i++) {
        conf_nearest_try(&nearest, conf_kinds[i].word);
        best = nearest.best == conf_kinds[i].word ? i : best;
    }
    conf_errors_add(&build->errors, line, "section %s is not known; allowed: %s%s%s%s",
                    conf_quote(shown, text), allowed_sections,
                    nearest.best ? "; did you mean " : "",
                    nearest.best ? conf_kinds[best].title : "", nearest.best ? "?" : "");
}

/* True if a section of this kind may have this name; else adds why not. */
static bool check_section_name(struct conf_build *build, unsigned line,
                               const struct conf_kind_row *kind, const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    char shown[CONF_QUOTE_MAX];

    if (kind->named != (name != NULL)) {
        conf_errors_add(&build->errors, line, "[%s]: %s; allowed: %s", kind->word,
                        name ? "has a name" : "has no name", kind->title);
        return false;
    }
    if (!name || (strlen(name) <= NAME_MAX_BYTES && !name[strspn(name, allowed)]))
        return true;
    conf_errors_add(&build->errors, line,
                    "[%s]: bad name %s; allowed: up to 64 letters, digits, \"_\", \".\" and \"-\"",
                    kind->word, conf_quote(shown, name));
    return false;
}

/* True if one more section of this kind has room; else adds that it has not. */
static bool check_room(struct conf_build *build, const struct conf_section *section)
{
    const struct conf_kind_row *kind = &conf_kinds[section->kind];
    char head[CONF_HEAD_MAX];

    if (build->conf->origin->count[section->kind] < kind->count_max)
        return true;
    conf_errors_add(&build->errors, section->line, "%s: too many sections; allowed: %u",
                    conf_section_head(section, head), kind->count_max);
    return false;
}

/* Begins a section; one that has no place is still read, for the mistakes in it. */
static void begin_section(struct conf_build *build, enum conf_kind kind, unsigned line,
                          const char *name)
{
    struct conf_section *same = find_conf_section(build, kind, name);
    char head[CONF_HEAD_MAX], seen[CONF_SEEN_MAX];

    if (same && !conf_place_same_file(same->last, line)) { /* a later file goes on with it */
        same->last = line;
        build->current = same;
        return;
    }
    build->current = conf_section_new(build, kind, line, name);
    if (!build->current)
        return;
    if (same)
        conf_errors_add(&build->errors, line, "%s: is %s already; allowed: once",
                        conf_section_head(same, head),
                        conf_place_seen(build->conf->origin, same->last, line, seen));
    else if (check_room(build, build->current))
        conf_section_add(build, build->current);
}

void conf_build_open(struct conf_build *build, enum conf_kind kind, const char *name, bool listed)
{
    build->in_section = true;
    build->current = NULL;
    if (!check_section_name(build, build->file, &conf_kinds[kind], name))
        return;
    if (listed || find_conf_section(build, kind, name))
        begin_section(build, kind, build->file, name);
    else
        build->current = conf_section_new(build, kind, build->file, name);
}

void conf_build_section(struct conf_build *build, unsigned line, const char *text)
{
    char word[CONF_QUOTE_MAX * 4];
    char *name;
    int kind;

    build->in_section = true;
    build->current = NULL;
    (void)snprintf(word, sizeof(word), "%s", text); /* what is cut off is no section either way */
    name = split_name(word);
    for (kind = 0; kind < CONF_KINDS && strcmp(conf_kinds[kind].word, word) != 0; kind++)
        ;
    if (kind == CONF_KINDS) {
        unknown_section(build, line, text, word);
        return;
    }
    if (check_section_name(build, line, &conf_kinds[kind], name))
        begin_section(build, (enum conf_kind)kind, line, name);
    else
        build->current = conf_section_new(build, (enum conf_kind)kind, line, NULL);
}

/* Another kind of section that has this key; CONF_KINDS if there is none. */
static int kind_that_has(const char *name)
{
    for (int kind = 0; kind < CONF_KINDS; kind++)
        if (kind != CONF_LABELS && conf_option_find((enum conf_kind)kind, name))
            return kind;
    return CONF_KINDS;
}

/* Compares with the prefix of a free key only what stands up to the dot: "haeder.X-Team". */
static void try_prefix(struct conf_nearest *nearest, const struct conf_option *option)
{
    char front[CONF_QUOTE_MAX];
    struct conf_nearest prefix = {.word = front};

    if (!option->prefix || !*option->prefix || !strchr(nearest->word, '.'))
        return;
    (void)snprintf(front, sizeof(front), "%.*s", (int)strcspn(nearest->word, ".") + 1,
                   nearest->word);
    conf_nearest_try(&prefix, option->prefix);
    if (prefix.best && !nearest->best) {
        nearest->best = option->name;
        nearest->distance = prefix.distance;
    }
}

/* The keys of a kind of section, as far as they are few enough to be read in a message. */
static void list_keys(enum conf_kind kind, char *out, size_t size)
{
    size_t i, used = 0, count = 0;

    for (i = 0; i < conf_option_count && used < size; i++) {
        if (conf_options[i].kind != kind)
            continue;
        count++;
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                                 conf_options[i].name);
    }
    if (count > LISTED_KEYS_MAX)
        (void)snprintf(out, size, "those of %s in pystrobe.ini(5)", conf_kinds[kind].title);
}

/* Says that there is no such key, which there are, and which may be meant. */
static void unknown_key(struct conf_build *build, unsigned line, const char *name)
{
    struct conf_nearest nearest = {.word = name};
    char head[CONF_HEAD_MAX], shown[CONF_QUOTE_MAX], allowed[768], hint[128] = "";
    int other = kind_that_has(name);

    for (size_t i = 0; i < conf_option_count; i++) {
        if (conf_options[i].kind != build->current->kind)
            continue;
        conf_nearest_try(&nearest, conf_options[i].name);
        try_prefix(&nearest, &conf_options[i]);
    }
    list_keys(build->current->kind, allowed, sizeof(allowed));
    if (other != CONF_KINDS)
        (void)snprintf(hint, sizeof(hint), "; it belongs in %s", conf_kinds[other].title);
    else if (nearest.best)
        (void)snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", nearest.best);
    conf_errors_add(&build->errors, line, "%s: key %s is not known; allowed: %s%s",
                    conf_section_head(build->current, head), conf_quote(shown, name), allowed,
                    hint);
}

static struct conf_entry *find_section_entry(const struct conf_section *section,
                                             const struct conf_option *option, const char *name)
{
    struct conf_entry *entry = section->entries;

    for (; entry; entry = entry->next)
        if ((entry->option == option ||
             (conf_is_header(entry->option) && conf_is_header(option))) &&
            (conf_is_header(option) ? strcasecmp(entry->pair.name, name) == 0
                                    : strcmp(entry->pair.name, name) == 0))
            return entry;
    return NULL;
}

/* Sets an entry: `same`, of an earlier file, or a new one. */
static void put_entry(struct conf_build *build, struct conf_entry *same,
                      const struct conf_option *option, unsigned line, struct label pair)
{
    struct conf_entry **end = &build->current->entries;
    struct conf_entry *entry = same ? same : conf_build_take(build, sizeof(*entry));

    if (!entry)
        return;
    entry->option = option;
    entry->pair.name = copy_to_origin_arena(build, pair.name);
    entry->pair.value = copy_to_origin_arena(build, pair.value);
    entry->line = line;
    if (same)
        return;
    while (*end)
        end = &(*end)->next;
    *end = entry;
    build->current->entry_count++;
}

/* Adds a mistake with a key of the current section. */
static void add_key_error(struct conf_build *build, unsigned line, const char *name,
                          const char *why)
{
    char head[CONF_HEAD_MAX], key[CONF_QUOTE_MAX];

    (void)conf_quote(key, name);
    key[strlen(key) - 1] = '\0'; /* without its quotes: the name is one that is known */
    conf_errors_add(&build->errors, line, "%s %s: %s", conf_section_head(build->current, head),
                    key + 1, why);
}

/* A free key. */
static void set_entry(struct conf_build *build, const struct conf_option *option, unsigned line,
                      const char *name, const char *value)
{
    const char *bare = name + strlen(option->prefix);
    struct conf_entry *same = find_section_entry(build->current, option, bare);
    unsigned max = conf_kinds[option->kind].entries_max;
    char seen[CONF_SEEN_MAX];
    struct err err;

    if (same && conf_place_same_file(same->line, line))
        err_set(&err, "is set %s already; allowed: once",
                conf_place_seen(build->conf->origin, same->line, line, seen));
    else if (!same && build->current->entry_count >= max)
        err_set(&err, "too many of them; allowed: %u", max);
    else if (conf_entry_check(option, bare, value, &err) == CONF_OK) {
        put_entry(build, same, option, line, (struct label){bare, value});
        return;
    }
    build->current->lines[option - conf_options] = line; /* a wrong one is not a missing one */
    add_key_error(build, line, name, err.text);
}

/* A key of the table. */
static void set_option(struct conf_build *build, const struct conf_option *option, unsigned line,
                       const char *value)
{
    unsigned *set = &build->current->lines[option - conf_options];
    enum conf_rc rc = CONF_BAD;
    bool twice = *set && conf_place_same_file(*set, line);
    char seen[CONF_SEEN_MAX];
    struct err err;

    if (twice)
        err_set(&err, "is set %s already; allowed: once",
                conf_place_seen(build->conf->origin, *set, line, seen));
    else
        rc = conf_value_read(option, value, build->current->values, &build->conf->origin->arena,
                             &err);
    if (rc == CONF_BAD)
        add_key_error(build, line, option->name, err.text);
    build->nomem = build->nomem || rc == CONF_NOMEM;
    *set = twice ? *set : line;
}

void conf_build_pair(struct conf_build *build, unsigned line, const char *name, const char *value)
{
    const struct conf_option *option;
    char shown[CONF_QUOTE_MAX];

    if (!build->in_section)
        conf_errors_add(&build->errors, line, "key %s stands before any section; allowed: in %s",
                        conf_quote(shown, name), allowed_sections);
    if (!build->current)
        return;
    option = conf_option_find(build->current->kind, name);
    if (!option)
        unknown_key(build, line, name);
    else if (option->prefix)
        set_entry(build, option, line, name, value);
    else
        set_option(build, option, line, value);
}
