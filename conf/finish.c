/* SPDX-License-Identifier: Apache-2.0 */
/* finish.c - gives sections their defaults, and makes the arrays of conf.h of them. */
#include <string.h>

#include "conf/settings.h"
#include "conf/values.h"

bool conf_option_applies(const struct conf_option *option, const struct conf_section *section)
{
    const struct exporter_settings *exporter = section->values;

    if (option->kind != section->kind)
        return false;
    return option->kind != CONF_EXPORTER || conf_option_used_by(option, exporter->type);
}

const char *conf_option_otel(const struct conf_option *option, const struct conf_section *section)
{
    const struct exporter_settings *exporter = section->values;
    bool reads_otel =
        section->kind == CONF_EXPORTER && exporter->type && exporter->type->reads_otel;

    return reads_otel ? option->otel : NULL;
}

/* Gives each key that is not set its default; where a variable may stand in, that is not known. */
static void set_section_defaults(struct conf_build *build, struct conf_section *section)
{
    const struct conf_option *option = conf_options;
    struct arena *arena = &build->conf->origin->arena;

    for (; option < conf_options + conf_option_count; option++) {
        if (!conf_option_applies(option, section) || section->lines[option - conf_options])
            continue;
        if (option->usual && !conf_option_otel(option, section) &&
            conf_value_read(option, option->usual, section->values, arena, NULL) != CONF_OK)
            build->nomem = true; /* a test holds that every default is in its range */
    }
}

bool conf_is_on(const char *setting, bool otherwise)
{
    return setting ? strcmp(setting, "on") == 0 : otherwise;
}

/* True if there is a page, and a store that it shows, and no server, for which each process is a
 * series. */
static bool only_page_shows(const struct conf_origin *origin)
{
    const struct conf_http *http = origin->first[CONF_HTTP]->values;
    const struct conf_section *section = origin->first[CONF_EXPORTER];
    const struct exporter_type *type;
    struct conf_listen listen;
    bool near, stores = false;

    if (!http->listen || conf_listen(http->listen, &listen, NULL) != CONF_OK)
        return false;
    near = listen.is_path || listen.is_loopback;
    for (; section && conf_is_on(http->page, conf_is_on(http->pull, near));
         section = section->next) {
        type = ((const struct exporter_settings *)section->values)->type;
        if (type && type->needs_url)
            return false;
        stores |= type && type->is_store;
    }
    return stores;
}

/* What a [target] takes from elsewhere. */
static void inherit(struct conf_section *section, const struct conf_origin *origin)
{
    const struct conf_agent *agent = origin->first[CONF_AGENT]->values;
    struct conf_target *target = section->values;

    target->name = section->name;
    if (target->rate_hz <= 0)
        target->rate_hz = agent->rate_hz;
    if (target->split == CONF_SPLIT_UNSET)
        target->split = only_page_shows(origin) ? CONF_SPLIT_PROCESS : CONF_SPLIT_NONE;
}

void conf_build_defaults(struct conf_build *build)
{
    struct conf_origin *origin = build->conf->origin;
    struct conf_section *section;

    for (int kind = CONF_AGENT; kind <= CONF_LABELS; kind++)
        if (!origin->first[kind]) {
            section = conf_section_new(build, (enum conf_kind)kind, 0, NULL);
            if (!section)
                return;
            conf_section_add(build, section);
        }
    for (int kind = 0; kind < CONF_KINDS; kind++)
        for (section = origin->first[kind]; section; section = section->next)
            set_section_defaults(build, section);
    for (section = origin->first[CONF_TARGET]; section; section = section->next)
        inherit(section, origin);
    for (section = origin->first[CONF_EXPORTER]; section; section = section->next)
        ((struct exporter_settings *)section->values)->name = section->name;
}

/* Copies the values of all sections of a kind into one array, which they then point into. */
static const void *copy_sections_to_array(struct conf_build *build, enum conf_kind kind)
{
    size_t size = conf_kinds[kind].size;
    struct conf_section *section = build->conf->origin->first[kind];
    char *array = conf_build_take(build, size * build->conf->origin->count[kind]);
    char *place = array;

    for (; array && section; section = section->next, place += size) {
        memcpy(place, section->values, size);
        section->values = place;
    }
    return array;
}

static const struct label *gather_entries(struct conf_build *build,
                                          const struct conf_section *section, const char *prefix,
                                          size_t *count)
{
    struct label *array = conf_build_take(build, section->entry_count * sizeof(*array));
    const struct conf_entry *entry = section->entries;

    *count = 0;
    for (; array && entry; entry = entry->next)
        if (strcmp(entry->option->prefix, prefix) == 0)
            array[(*count)++] = entry->pair;
    return array;
}

/* The headers of an exporter: those with a value, and those that say where theirs is. */
static void gather_headers(struct conf_build *build, const struct conf_section *section)
{
    struct exporter_settings *exporter = section->values;
    size_t count = section->entry_count;
    struct label *plain = conf_build_take(build, count * sizeof(*plain));
    struct exporter_secret_header *secret = conf_build_take(build, count * sizeof(*secret));
    const struct conf_entry *entry = section->entries;

    exporter->headers = plain;
    exporter->secret_headers = secret;
    for (; plain && secret && entry; entry = entry->next) {
        enum conf_type type = entry->option->type;
        struct exporter_secret_header *header;

        if (type == CONF_TYPE_HEADER) {
            plain[exporter->header_count++] = entry->pair;
            continue;
        }
        header = &secret[exporter->secret_header_count++];
        header->name = entry->pair.name;
        header->value.file = type == CONF_TYPE_HEADER_FILE ? entry->pair.value : NULL;
        header->value.env = type == CONF_TYPE_HEADER_ENV ? entry->pair.value : NULL;
        header->value.credential = type == CONF_TYPE_HEADER_CREDENTIAL ? entry->pair.value : NULL;
    }
}

static void gather_target(struct conf_build *build, const struct conf_section *section)
{
    struct conf_target *target = section->values;

    target->when.env = gather_entries(build, section, "env.", &target->when.env_count);
    target->unless.env = gather_entries(build, section, "exclude_env.", &target->unless.env_count);
    target->labels = gather_entries(build, section, "label.", &target->label_count);
}

void conf_build_finish(struct conf_build *build)
{
    struct conf *conf = build->conf;
    struct conf_section *section;

    for (section = conf->origin->first[CONF_EXPORTER]; section; section = section->next)
        gather_headers(build, section);
    for (section = conf->origin->first[CONF_TARGET]; section; section = section->next)
        gather_target(build, section);
    conf->labels = gather_entries(build, conf->origin->first[CONF_LABELS], "", &conf->label_count);
    conf->targets = copy_sections_to_array(build, CONF_TARGET);
    conf->target_count = conf->origin->count[CONF_TARGET];
    conf->exporters = copy_sections_to_array(build, CONF_EXPORTER);
    conf->exporter_count = conf->origin->count[CONF_EXPORTER];
    section = conf->origin->first[CONF_AGENT];
    conf->agent = *(struct conf_agent *)section->values;
    section->values = &conf->agent;
    section = conf->origin->first[CONF_HTTP];
    conf->http = *(struct conf_http *)section->values;
    section->values = &conf->http;
}
