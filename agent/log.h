/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - one line an event, to stderr.
 *
 * Under systemd (JOURNAL_STREAM names stderr) a line starts with its priority, as
 * sd-daemon(3) has it; else with the time and the level. Control characters of
 * foreign text are escaped, so that nobody can forge a line.
 * Threads: log_line may be called from any thread; log_init once before.
 */
#ifndef AGENT_LOG_H
#define AGENT_LOG_H

#include <stdbool.h>

#include "base/err.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Finds out how stderr is read. `most`: what is less important than that is left out. */
void log_init(enum log_level most);

/* "error", "warning", "info", "debug". False: it is none of them. */
MUST_CHECK bool log_level_of(const char *name, enum log_level *out);

void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
