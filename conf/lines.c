/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.c - the only file that knows inih.
 *
 * inih splits a line into name and value. How it is built differs between
 * distributions and cannot be asked, and Debian's libinih1 55 (seen by trying it)
 *   - cuts a line at 197 bytes and reads the rest as a line of its own,
 *   - says only which line was the first bad one, and not where a pair stood,
 *   - tells nothing of a section without pairs, cuts its name at 49 bytes, and
 *     takes "[agent] anything",
 *   - takes an indented line as more of the value above it: "  interval = 15s"
 *     below "  rate = 19Hz" becomes a second rate.
 * So we stand in front of it as its reader: each line is looked at here, comments,
 * sections and indentation are dealt with, and inih is given one pair at a time.
 *
 * A pair that is longer than inih's buffer goes in pieces. inih reads an indented
 * line as a continuation and calls the handler again with the same name, so pieces
 * of the value are sent as such and joined again. Of a name that long, the front is
 * held back and put before what comes out.
 */
#include "conf/lines.h"

#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/text.h"

struct lines {
    const struct conf_lines_to *to;
    void *ctx;
    const char *text, *end; /* borrowed: what is not read yet */
    unsigned line;          /* number of the line in `pair` */

    char pair[CONF_LINE_MAX + 1];
    size_t size, sent;       /* of pair; 0 and 0 while none is under way */
    unsigned pieces, joined; /* sent to inih, come back from it */
    char name[CONF_LINE_MAX + 1], value[CONF_LINE_MAX + 1];
    size_t name_size, value_size;
};

static bool is_space_or_tab(char c)
{
    return c == ' ' || c == '\t';
}

static const char *const not_a_pair =
    "is not \"key = value\"; allowed: [section], key = value, or a comment that starts with ; or #";

/* Ends the pair that is under way: inih has had all of it and has called back, or not. */
static void finish_pair(struct lines *lines)
{
    if (lines->size == 0)
        return;
    if (lines->joined == 0)
        lines->to->bad(lines->ctx, lines->line, not_a_pair);
    else if (lines->joined != lines->pieces)
        lines->to->bad(lines->ctx, lines->line, "is too long for the inih library here");
    else if (!*lines->name)
        lines->to->bad(lines->ctx, lines->line, "has no key before its \"=\"");
    else if (*lines->value == ';')
        lines->to->bad(lines->ctx, lines->line,
                       "has a value that starts with \";\"; allowed: a comment after a blank");
    else
        lines->to->pair(lines->ctx, lines->line, lines->name, lines->value);
    lines->size = lines->sent = 0;
}

/* inih found a pair, or a further piece of the value. */
static int take_pair(void *user, const char *section, const char *name, const char *value)
{
    struct lines *lines = user;
    size_t size = strlen(value);

    (void)section; /* inih sees none: sections are dealt with in start_section */
    if (lines->joined != lines->pieces - 1)
        return 1; /* the name was refused, and this is called for a piece of the value */
    if (lines->pieces == 1) {
        size_t left = sizeof(lines->name) - lines->name_size;

        (void)snprintf(lines->name + lines->name_size, left, "%s", name);
    }
    if (size > CONF_LINE_MAX - lines->value_size)
        return 1;
    memcpy(lines->value + lines->value_size, value, size + 1);
    lines->value_size += size;
    lines->joined++;
    return 1;
}

/*
 * Where to cut `text` so that a piece has at most `room` bytes and nothing is lost:
 * inih trims blanks, and takes some characters at the start of a line for more than
 * themselves. 0 if there is no such place.
 */
static size_t find_cut_offset(const char *text, size_t room)
{
    for (size_t at = room; at > 0; at--)
        if (!is_space_or_tab(text[at - 1]) && !is_space_or_tab(text[at]) &&
            !strchr(";#[", text[at]))
            return at;
    return 0;
}

/* Holds the front of a long name back, so that inih gets to see where it ends. */
static void hold_back(struct lines *lines, size_t room)
{
    size_t name_size = strcspn(lines->pair, "=:");
    size_t held;

    lines->name_size = lines->value_size = 0;
    lines->name[0] = '\0';
    if (name_size == lines->size || name_size < room / 2)
        return;
    held = find_cut_offset(lines->pair, name_size - room / 2);
    memcpy(lines->name, lines->pair, held);
    lines->name[held] = '\0';
    lines->name_size = lines->sent = held;
}

/* Writes the next piece of the pair as a line for inih; NULL if it cannot be cut. */
static char *send_piece(struct lines *lines, char *into, size_t room)
{
    const char *from;
    size_t size;

    if (lines->pieces == 0)
        hold_back(lines, room);
    from = lines->pair + lines->sent;
    size = lines->size - lines->sent;
    if (size > room)
        size = find_cut_offset(from, room);
    if (size == 0)
        return NULL;
    (void)snprintf(into, room + 3, "%s%.*s\n", lines->pieces ? " " : "", (int)size, from);
    lines->sent += size;
    lines->pieces++;
    return into;
}

/* A line that starts with "[". */
static void start_section(struct lines *lines, char *text, size_t size)
{
    char *close = memchr(text, ']', size);

    if (!close) {
        lines->to->bad(lines->ctx, lines->line, "has no \"]\"; allowed: [section]");
        return;
    }
    if (close != text + size - 1) {
        lines->to->bad(
            lines->ctx, lines->line,
            "has text after \"]\"; allowed: [section], and a comment that starts with ;");
        return;
    }
    for (text++; is_space_or_tab(*text); text++)
        ;
    while (close > text && is_space_or_tab(close[-1]))
        close--;
    *close = '\0';
    lines->to->section(lines->ctx, lines->line, text);
}

/* Where a comment starts that ends the line, as inih has it: a ";" after a blank. */
static size_t find_comment(const char *text, size_t size)
{
    for (size_t i = 1; i < size; i++)
        if (text[i] == ';' && is_space_or_tab(text[i - 1]))
            return i;
    return size;
}

/* Looks at one line, without its line end; what is a pair stays in lines->pair. */
static void read_one_line(struct lines *lines, const char *text, size_t size)
{
    struct err err;

    if (size > CONF_LINE_MAX) {
        lines->to->bad(lines->ctx, lines->line, "is too long; allowed: up to 8192 bytes");
        return;
    }
    if (conf_text_check(text, size, &err) != CONF_OK) {
        lines->to->bad(lines->ctx, lines->line, err.text);
        return;
    }
    for (; size > 0 && is_space_or_tab(*text); text++)
        size--;
    if (size > 0 && (*text == ';' || *text == '#'))
        return;
    size = find_comment(text, size);
    while (size > 0 && is_space_or_tab(text[size - 1]))
        size--;
    memcpy(lines->pair, text, size);
    lines->pair[size] = '\0';
    if (*lines->pair == '[')
        start_section(lines, lines->pair, size);
    else
        lines->size = size;
    lines->sent = lines->pieces = lines->joined = 0;
}

static void read_next_conf_line(struct lines *lines)
{
    const char *start = lines->text;
    const char *newline = memchr(start, '\n', (size_t)(lines->end - start));
    size_t size = (size_t)((newline ? newline : lines->end) - start);

    lines->text = newline ? newline + 1 : lines->end;
    lines->line++;
    if (size > 0 && start[size - 1] == '\r')
        size--;
    read_one_line(lines, start, size);
}

/* inih asks for a line, as it would ask fgets. */
static char *give_line(char *into, int capacity, void *stream)
{
    struct lines *lines = stream;
    enum { AROUND = 3, LEAST = 16 }; /* a blank, a line feed, a NUL; room that is worth having */
    size_t room = capacity > AROUND + LEAST ? (size_t)capacity - AROUND : LEAST;

    for (;;) {
        if (lines->sent < lines->size) {
            if (send_piece(lines, into, room))
                return into;
            lines->to->bad(lines->ctx, lines->line,
                           "has too long a run of blanks, \";\", \"#\" or \"[\"");
            lines->size = 0;
        }
        finish_pair(lines);
        if (lines->text == lines->end)
            return NULL;
        read_next_conf_line(lines);
    }
}

enum conf_rc conf_lines_each(const char *text, size_t size, const struct conf_lines_to *to,
                             void *ctx)
{
    struct lines *lines = calloc(1, sizeof(*lines));
    int rc;

    if (!lines)
        return CONF_NOMEM;
    lines->to = to;
    lines->ctx = ctx;
    lines->text = text;
    lines->end = text + size;
    rc = ini_parse_stream(give_line, lines, take_pair, lines);
    free(lines);
    return rc == -2 ? CONF_NOMEM : CONF_OK; /* its own count of bad lines is told by finish_pair */
}
