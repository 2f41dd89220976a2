/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - see findings.h. */
#include "agent/cli/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "agent/host/escape.h"
#include "agent/host/exits.h"
#include "base/json.h"

enum { TEXT_MAX = 1 << 20, LINE_MAX_BYTES = 1024 };

static const struct {
    const char *label, *word, *colour;
} kinds[] = {
    [FINDING_GOOD] = {"ok", "ok  ", "\033[32m"},
    [FINDING_NOTE] = {"note", "note", "\033[33m"},
    [FINDING_BAD] = {"fail", "FAIL", "\033[1;31m"},
};

void findings_init(struct findings *findings, bool json, bool colour)
{
    *findings = (struct findings){.json = json, .colour = colour && !json};
    buf_init(&findings->text, TEXT_MAX);
}

static void add_json(struct findings *f, enum finding finding, const char *check, const char *cure,
                     const char *text)
{
    json_member(&f->text, f->count ? ",\n  {\"check\": " : "{\"checks\": [\n  {\"check\": ", check);
    json_member(&f->text, ", \"result\": ", kinds[finding].label);
    escape_json(&f->text, ", \"text\": ", text);
    json_member(&f->text, ", \"cure\": ", cure[0] ? cure : NULL);
    buf_add_str(&f->text, "}");
}

static void add_finding_text(struct findings *f, enum finding finding, const char *check,
                             const char *cure, const char *text)
{
    buf_add_str(&f->text, f->colour ? kinds[finding].colour : "");
    buf_add_str(&f->text, kinds[finding].word);
    buf_add_str(&f->text, f->colour ? "\033[0m" : "");
    buf_add_fmt(&f->text, "  %-20s  ", check);
    escape_add_str(&f->text, text);
    if (cure[0])
        buf_add_str(&f->text, "\n      do: ");
    buf_add_str(&f->text, cure);
    buf_add_str(&f->text, "\n");
}

void findings_add(struct findings *f, enum finding finding, const char *check, const char *cure,
                  const char *format, ...)
{
    char text[LINE_MAX_BYTES];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (f->json)
        add_json(f, finding, check, cure, text);
    else
        add_finding_text(f, finding, check, cure, text);
    f->count++;
    f->bad += finding == FINDING_BAD;
}

int findings_finish(struct findings *f)
{
    int status = f->bad > 0 ? EXIT_FAILED : EXIT_OK;

    if (f->json)
        buf_add_str(&f->text, f->bad ? "\n], \"good\": false}\n" : "\n], \"good\": true}\n");
    if (buf_failed(&f->text) || fwrite(f->text.data, 1, f->text.size, stdout) != f->text.size ||
        fflush(stdout) != 0) {
        (void)fprintf(stderr, "pystrobe: the findings cannot be written\n");
        status = EXIT_FAILED;
    }
    buf_finish(&f->text);
    return status;
}
