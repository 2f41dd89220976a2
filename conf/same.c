/* SPDX-License-Identifier: Apache-2.0 */
/* same.c - whether two settings agree in what the exporters are made of; see conf.h. */
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

static void add_exporters(const struct conf *conf, struct buf *out)
{
    const struct conf_section *section = conf->origin->first[CONF_EXPORTER];

    for (; section; section = section->next) {
        buf_add_fmt(out, "[%s]\n", section->name);
        add_values(section, "", out);
    }
    add_values(conf->origin->first[CONF_AGENT], "spool", out);
}

bool conf_same_exporters(const struct conf *a, const struct conf *b)
{
    struct buf texts[2];
    bool same;

    buf_init(&texts[0], VALUES_MAX);
    buf_init(&texts[1], VALUES_MAX);
    add_exporters(a, &texts[0]);
    add_exporters(b, &texts[1]);
    same = !buf_failed(&texts[0]) && !buf_failed(&texts[1]) && texts[0].size == texts[1].size &&
           (texts[0].size == 0 || memcmp(texts[0].data, texts[1].data, texts[0].size) == 0);
    buf_finish(&texts[0]);
    buf_finish(&texts[1]);
    return same;
}
