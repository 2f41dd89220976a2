/* SPDX-License-Identifier: Apache-2.0 */
/* same.c - whether two settings agree in what an exporter or the spool is made of; see conf.h. */
#include <string.h>

#include "conf/settings.h"
#include "conf/values.h"

enum { VALUES_MAX = 64 * 1024 };

/* Appends what a section sets, whoever set it: one text for one meaning. */
static void add_values(const struct conf_section *section, const char *prefix, struct buf *out)
{
    const struct conf_option *option = conf_options;
    const struct conf_entry *entry;

    for (; option < conf_options + conf_option_count; option++) {
        if (!conf_option_applies(option, section) || option->prefix ||
            strncmp(option->name, prefix, strlen(prefix)) != 0)
            continue;
        (void)conf_value_print(option, section->values, out);
        buf_add_str(out, "\n");
    }
    for (entry = section->entries; entry; entry = entry->next)
        buf_add_fmt(out, "%s=%s\n", entry->pair.name, entry->pair.value);
}

static bool same_values(const struct conf_section *a, const struct conf_section *b,
                        const char *prefix)
{
    struct buf texts[2];
    bool same;

    buf_init(&texts[0], VALUES_MAX);
    buf_init(&texts[1], VALUES_MAX);
    add_values(a, prefix, &texts[0]);
    add_values(b, prefix, &texts[1]);
    same = !buf_failed(&texts[0]) && !buf_failed(&texts[1]) && texts[0].size == texts[1].size &&
           (texts[0].size == 0 || memcmp(texts[0].data, texts[1].data, texts[0].size) == 0);
    buf_finish(&texts[0]);
    buf_finish(&texts[1]);
    return same;
}

static const struct conf_section *find_exporter(const struct conf *conf, const char *name)
{
    const struct conf_section *section = conf->origin->first[CONF_EXPORTER];

    while (section && strcmp(section->name, name) != 0)
        section = section->next;
    return section;
}

bool conf_same_exporter(const struct conf *a, const struct conf *b, const char *name)
{
    const struct conf_section *first = find_exporter(a, name), *second = find_exporter(b, name);

    return first && second && same_values(first, second, "");
}

bool conf_same_spool(const struct conf *a, const struct conf *b)
{
    return same_values(a->origin->first[CONF_AGENT], b->origin->first[CONF_AGENT], "spool");
}
