/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape.h - writes foreign text so that it can neither drive a terminal nor mislead a reader.
 *
 * Names of functions, threads and files, command lines and source lines come from the
 * process that is looked at, which may be hostile. What a terminal would obey (C0, DEL,
 * C1), what turns text around or hides in it (bidirectional marks, line separators) and
 * bytes that are no UTF-8 are shown as \x1b and \u202e are written in Python.
 */
#ifndef AGENT_HOST_ESCAPE_H
#define AGENT_HOST_ESCAPE_H

#include <stddef.h>

#include "base/buf.h"

/* A character as it is shown: itself, or an escape. */
struct escape_char {
    char text[12];
    size_t size;  /* bytes of it */
    size_t width; /* columns: 0 for one that joins the character before it */
    size_t taken; /* bytes of the text that it stands for */
};

/* The first character of a text that is not empty. */
struct escape_char escape_next(const char *text, size_t size);

/* Appends `size` bytes of text. */
void escape_add(struct buf *out, const char *text, size_t size);

/* The same for a string. */
void escape_add_str(struct buf *out, const char *text);

/* Appends `before`, such as `, "name": `, and the text as a JSON string; null for NULL. */
void escape_json(struct buf *out, const char *before, const char *text);

/* How many columns of a terminal the text takes, written like that. */
size_t escape_width(const char *text, size_t size);

#endif
