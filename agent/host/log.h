/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/host: knows clocks, the log, text for terminals, notices to systemd, exit
 * statuses. Does not know other processes, profiles and settings.
 *
 * log.h - one line an event, to stderr.
 *
 * A line is text, or a JSON object. Under systemd (JOURNAL_STREAM names stderr) it
 * starts with its priority, as sd-daemon(3) has it; text has the time and the level
 * else, in colour on a terminal. What a terminal would obey in foreign text is escaped
 * (escape.h), so that nobody can forge a line, and each line is one write(2) of at most
 * PIPE_BUF bytes, so that lines of threads and processes do not mix. Of one kind of line
 * some are written at once, and then one now and then, which says how many were left out
 * (log_limit.h); not so with LOG_LEVEL_DEBUG, which is for seeing everything.
 *
 * Threads: any, and any child after a fork: no lock is held and no memory taken.
 *          log_init once before. A reader of stderr that reads no more costs a line
 *          50 ms and then that line.
 */
#ifndef AGENT_HOST_LOG_H
#define AGENT_HOST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_format { LOG_TEXT, LOG_JSON };

/* Finds out how stderr is read. `most`: what is less important than that is left out. */
void log_init(enum log_level most);

/* How a line is written; text at first. */
void log_set_format(enum log_format format);

/* "error", "warning", "info", "debug". False: it is none of them. */
MUST_CHECK bool log_level_of(const char *name, enum log_level *out);

/* "text", "json". False: it is neither. */
MUST_CHECK bool log_format_of(const char *name, enum log_format *out);

/*
 * Writes a line. Lines of one `format` are of one kind; with the format "%s", lines
 * that differ in digits only.
 */
void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * Writes each line of a text of `size` bytes, but for empty ones, behind `prefix`. No line of it
 * is left out: whoever writes it has seen to that there are not too many.
 */
void log_text(enum log_level level, const char *prefix, const char *text, size_t size);

/* How many lines were left out so far: too many of a kind, or stderr took no more. */
uint64_t log_left_out(void);

#endif
