/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder base: knows what any two libraries need: error texts, bounded buffers, arenas, slices of
 * text, UTF-8, JSON strings, protobuf fields, hashes, units of time, durable files, the kernel's
 * files of a process, capabilities, libraries loaded on demand. Does not know anything of profiles,
 * Python, settings or servers.
 *
 * err.h - the error text that a failed function leaves for its callers.
 *
 * Shape:   the innermost function sets the cause (err_set), each caller may add
 *          where it happened (err_within), only the agent prints.
 * Threads: a struct err belongs to its caller; nothing is shared.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define MUST_CHECK               __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

enum { ERR_TEXT_MAX = 512 };

struct err {
    char text[ERR_TEXT_MAX]; /* "" until set; the middle of a longer text is cut out */
};

/* Replaces the text of `err`, which may be NULL. Does not change errno. */
void err_set(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Puts the formatted text and ": " before the text of `err`. Else as err_set. */
void err_within(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
