/* SPDX-License-Identifier: Apache-2.0 */
/* print_sample.c - prints the sample ini file, or with the argument "mdoc" the key reference. */
#include <stdio.h>
#include <string.h>

#include "conf/options.h"
#include "conf/values.h"

/* Appends sentences, each on a line of its own as mdoc wants it. */
static void add_sentences(const char *text, struct buf *out)
{
    const char *end;

    for (; (end = strstr(text, ". ")); text = end + 2) {
        buf_add(out, text, (size_t)(end + 1 - text));
        buf_add_str(out, "\n");
    }
    buf_add_fmt(out, "%s\n", text);
}

static void add_types(const struct conf_option *option, struct buf *out)
{
    const char *separator = "Only for type";

    if (option->used_by == CONF_ALL)
        return;
    for (unsigned i = 0; i < EXPORTER_TYPES; i++)
        if (conf_option_used_by(option, &exporter_types[i])) {
            buf_add_fmt(out, "%s %s", separator, exporter_types[i].name);
            separator = ",";
        }
    buf_add_str(out, ".\n");
}

static void add_item(const struct conf_option *option, struct buf *out)
{
    char allowed[CONF_ALLOWED_MAX];

    if (option->prefix)
        buf_add_fmt(out, ".It %s%s%sAr NAME\n", *option->prefix ? "Ic " : "", option->prefix,
                    *option->prefix ? " Ns " : "");
    else
        buf_add_fmt(out, ".It Ic %s\n", option->name);
    add_sentences(option->help, out);
    add_types(option, out);
    buf_add_fmt(out, "Allowed: %s.\n", conf_value_allowed(option, allowed));
    if (option->need == CONF_REQUIRED)
        buf_add_str(out, "Required.\n");
    else
        buf_add_fmt(out, "%s: %s.\n", option->usual ? "Default" : "If absent",
                    option->usual ? option->usual : option->otherwise);
    if (option->otel)
        buf_add_fmt(out,
                    "If it is absent and the type is otlp,\n.Ev OTEL_EXPORTER_OTLP_%s\ncounts.\n",
                    option->otel);
}

/* Appends the reference of all sections and keys in mdoc, for pystrobe.ini(5). */
static void add_reference(struct buf *out)
{
    for (int kind = 0; kind < CONF_KINDS; kind++) {
        buf_add_fmt(out, ".Ss %s\n", conf_kinds[kind].title);
        add_sentences(conf_kinds[kind].help, out);
        buf_add_str(out, ".Bl -tag -width Ds\n");
        for (size_t i = 0; i < conf_option_count; i++)
            if (conf_options[i].kind == (enum conf_kind)kind)
                add_item(&conf_options[i], out);
        buf_add_str(out, ".El\n");
    }
}

int main(int argc, char **argv)
{
    struct buf out;
    bool ok;

    buf_init(&out, CONF_TEXT_MAX);
    if (argc > 1 && strcmp(argv[1], "mdoc") == 0)
        add_reference(&out);
    else
        conf_print_sample(&out);
    ok = !buf_failed(&out) && fwrite(out.data, 1, out.size, stdout) == out.size;
    buf_finish(&out);
    return ok && fflush(stdout) == 0 ? 0 : 1;
}
