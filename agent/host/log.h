/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/host: knows clocks, the log, text for terminals, notices to systemd, exit
 * statuses. Does not know other processes, profiles and settings.
 *
 * log.h - writes one line per event to stderr.
 *
 * A line is text, or a JSON object. Under systemd (JOURNAL_STREAM names stderr) it starts with its
 * priority (sd-daemon(3)). Elsewhere a text line starts with the time and the level, which is
 * coloured on a terminal. Control characters are escaped (escape.h), so that no text can forge a
 * line. A line is one write(2) of at most PIPE_BUF bytes, so that lines of threads and processes do
 * not mix. The rate of lines of one kind is limited (log_limit.h); a line tells how many before it
 * were left out. At LOG_LEVEL_DEBUG there is no limit.
 *
 * Threads: any, and any child after a fork: takes no lock and allocates no memory. log_init once
 *          before.
 * Cost:    if stderr takes no bytes, a line waits 50 ms and is then dropped.
 */
#ifndef AGENT_HOST_LOG_H
#define AGENT_HOST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_format { LOG_TEXT, LOG_JSON };

/* Sets the least important level that is written, and finds out whether stderr is a journal or a
 * terminal. */
void log_init(enum log_level most);

/* Sets the format of lines; LOG_TEXT at first. */
void log_set_format(enum log_format format);

/*
 * Writes a line; `format` as for printf. Keeps errno. Lines with the same `format` are of one kind
 * for the rate limit; with the format "%s", lines that differ only in digits.
 */
void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * Writes each line of a text of `size` bytes, except empty ones, with `prefix` in front. There is
 * no rate limit, so the caller limits the lines. When stderr takes no more bytes, the rest is lost.
 */
void log_text(enum log_level level, const char *prefix, const char *text, size_t size);

/* Number of lines so far that the rate limit left out, or that stderr did not take. */
uint64_t log_left_out(void);

#endif
