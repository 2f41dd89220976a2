/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - the effective settings as ini text that says where each came from. */
#include "conf/settings.h"
#include "conf/values.h"

/* Ends a line with its source as a comment. */
static void print_source(const struct conf *conf, unsigned line, const char *otherwise,
                         struct buf *out)
{
    buf_add_str(out, " ; ");
    if (line)
        conf_place_add(conf->origin, line, out);
    else
        buf_add_str(out, otherwise);
    buf_add_str(out, "\n");
}

/* Says instead of a value that there is none, and what holds then. */
static void print_absent(const struct conf_section *section, const struct conf_option *option,
                         struct buf *out)
{
    const char *otel = conf_option_otel(option, section);

    buf_add_fmt(out, "; %s: not set (", option->name);
    if (otel)
        buf_add_fmt(out, "OTEL_EXPORTER_OTLP_%s, else ", otel);
    buf_add_fmt(out, "%s)\n", option->usual ? option->usual : option->otherwise);
}

static void print_option(const struct conf *conf, const struct conf_section *section,
                         const struct conf_option *option, struct buf *out)
{
    unsigned line = section->lines[option - conf_options];
    size_t before = out->size;

    buf_add_fmt(out, "%s = ", option->name);
    if ((line || !conf_option_otel(option, section)) &&
        conf_value_print(option, section->values, out)) {
        print_source(conf, line, option->usual ? "default" : option->otherwise, out);
        return;
    }
    out->size = before > out->size ? out->size : before;
    print_absent(section, option, out);
}

static void print_entries(const struct conf *conf, const struct conf_section *section,
                          const struct conf_option *option, struct buf *out)
{
    const struct conf_entry *entry = section->entries;

    for (; entry; entry = entry->next) {
        if (entry->option != option)
            continue;
        buf_add_fmt(out, "%s%s = %s", option->prefix, entry->pair.name,
                    option->secret ? "***" : entry->pair.value);
        print_source(conf, entry->line, "", out);
    }
}

static void print_section(const struct conf *conf, const struct conf_section *section,
                          struct buf *out)
{
    const struct conf_option *option = conf_options;
    char head[CONF_HEAD_MAX];

    buf_add_fmt(out, "%s\n", conf_section_head(section, head));
    for (; option < conf_options + conf_option_count; option++)
        if (!conf_option_applies(option, section) ||
            (option->old && !section->lines[option - conf_options]))
            continue;
        else if (option->prefix)
            print_entries(conf, section, option, out);
        else
            print_option(conf, section, option, out);
}

void conf_print(const struct conf *conf, struct buf *out)
{
    const struct conf_section *section;

    for (int kind = 0; kind < CONF_KINDS; kind++)
        for (section = conf->origin->first[kind]; section; section = section->next) {
            buf_add_str(out, kind == CONF_AGENT ? "" : "\n");
            print_section(conf, section, out);
        }
}
