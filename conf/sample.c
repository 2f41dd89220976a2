/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.c - the table of options as a sample ini file: "#" starts prose and ";" a setting that is
 * commented out; to set it, take the ";" away.
 */
#include <string.h>

#include "conf/options.h"
#include "conf/values.h"

enum { WIDTH = 78 };

/* Appends prose as comment lines. */
static void add_prose(const char *text, struct buf *out)
{
    size_t column = 0, size;

    for (; *text; text += size, text += strspn(text, " ")) {
        size = strcspn(text, " ");
        if (column > 0 && column + 1 + size > WIDTH) {
            buf_add_str(out, "\n");
            column = 0;
        }
        buf_add_str(out, column ? " " : "# ");
        buf_add(out, text, size);
        column += size + (column ? 1 : 2);
    }
    buf_add_str(out, "\n");
}

static void add_facts(const struct conf_option *option, struct buf *out)
{
    char allowed[CONF_ALLOWED_MAX];

    buf_add_fmt(out, "# Allowed: %s.\n", conf_value_allowed(option, allowed));
    if (option->need == CONF_REQUIRED)
        buf_add_str(out, "# Required.\n");
    else
        buf_add_fmt(out, "# %s: %s.\n", option->usual ? "Default" : "If absent",
                    option->usual ? option->usual : option->otherwise);
}

/* `type`: the exporter type that this section is an example of, or NULL. */
static void add_setting(const struct conf_option *option, const struct exporter_type *type,
                        struct buf *out)
{
    const char *value = option->usual ? option->usual : option->example;

    if (!value) /* of the key "type" */
        value = type ? type->name : "";
    buf_add_str(out, "\n");
    add_prose(option->help, out);
    add_facts(option, out);
    if (option->otel && type && type->reads_otel)
        buf_add_fmt(out, "# If it is absent, the variable OTEL_EXPORTER_OTLP_%s counts.\n",
                    option->otel);
    if (option->prefix)
        buf_add_fmt(out, ";%s\n", value);
    else
        buf_add_fmt(out, ";%s = %s\n", option->name, value);
}

static void add_section(enum conf_kind kind, const struct exporter_type *type, struct buf *out)
{
    const struct conf_option *option = conf_options;

    if (type)
        buf_add_fmt(out, ";[exporter %s]\n", type->name);
    else
        buf_add_fmt(out, conf_kinds[kind].named ? ";[%s web]\n" : "[%s]\n", conf_kinds[kind].word);
    for (; option < conf_options + conf_option_count; option++)
        if (option->kind == kind && !option->old && (!type || conf_option_used_by(option, type)))
            add_setting(option, type, out);
}

void conf_print_sample(struct buf *out)
{
    add_prose("pystrobe.ini: every section and key. See pystrobe.ini(5).", out);
    add_prose("Lines that start with ; are settings that are commented out, with their default "
              "or an example. To use one, remove its ; and that of its [section]. "
              "Numbers need their unit. \" ;\" after a value starts a comment.",
              out);
    for (int kind = 0; kind < CONF_KINDS; kind++) {
        buf_add_str(out, "\n");
        add_prose(conf_kinds[kind].help, out);
        if (kind != CONF_EXPORTER)
            add_section((enum conf_kind)kind, NULL, out);
    }
    for (unsigned i = 0; i < EXPORTER_TYPES; i++) {
        buf_add_str(out, i ? "\n" : "");
        add_section(CONF_EXPORTER, &exporter_types[i], out);
    }
}
