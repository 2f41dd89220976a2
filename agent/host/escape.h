/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape.h - escapes untrusted text, so that it can neither control a terminal nor mislead readers.
 *
 * Names of functions, threads and files, command lines and source lines come from the sampled
 * process, which may be hostile. These are written as escapes in Python's form, such as \x1b or
 * \u202e: control characters (C0, DEL, C1), bidirectional marks, line separators, U+FEFF, and bytes
 * that are not UTF-8.
 */
#ifndef AGENT_HOST_ESCAPE_H
#define AGENT_HOST_ESCAPE_H

#include <stddef.h>

#include "base/buf.h"

/* One character of the output: the character itself, or its escape. */
struct escape_char {
    char text[12]; /* no 0 byte follows */
    size_t size;   /* bytes of `text` */
    size_t width;  /* columns: 0 for one that joins the character before it */
    size_t taken;  /* bytes of the input that it stands for */
};

/* Escapes the first character of a text with `size` bytes; `size` is not 0. */
struct escape_char escape_next(const char *text, size_t size);

/* Appends `size` bytes of text, escaped. */
void escape_add(struct buf *out, const char *text, size_t size);

/* The same for a string. */
void escape_add_str(struct buf *out, const char *text);

/* Appends `before`, such as `, "name": `, and the escaped text as a JSON string; null for NULL. */
void escape_json(struct buf *out, const char *before, const char *text);

/* Number of terminal columns of the text, escaped. */
size_t escape_width(const char *text, size_t size);

#endif
