/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - see log.h. */
#include "agent/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };

static const struct {
    const char *name;
    int priority; /* syslog(3) */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARNING] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

static enum log_level log_most = LOG_LEVEL_INFO;
static bool to_journal;

void log_init(enum log_level most)
{
    const char *stream = getenv("JOURNAL_STREAM"); /* DEVICE:INODE */
    char *colon;
    struct stat st;

    log_most = most;
    to_journal = stream && fstat(STDERR_FILENO, &st) == 0 &&
                 strtoull(stream, &colon, 10) == st.st_dev && *colon == ':' &&
                 strtoull(colon + 1, NULL, 10) == st.st_ino;
}

bool log_level_of(const char *name, enum log_level *out)
{
    size_t i;

    for (i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(name, levels[i].name) == 0) {
            *out = (enum log_level)i;
            return true;
        }
    return false;
}

/* Copies `from` with control characters as \xNN; gives the size. */
static size_t escape(const char *from, char *to, size_t room)
{
    size_t size = 0;

    for (; *from && size + 5 < room; from++) {
        if ((unsigned char)*from >= 0x20 && *from != 0x7F)
            to[size++] = *from;
        else
            size += (size_t)snprintf(to + size, room - size, "\\x%02x", (unsigned char)*from);
    }
    return size;
}

void log_line(enum log_level level, const char *format, ...)
{
    char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES * 2];
    time_t now = time(NULL);
    struct tm tm;
    size_t size;
    va_list args;

    if (level > log_most)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (to_journal) {
        size = (size_t)snprintf(line, sizeof(line), "<%d>", levels[level].priority);
    } else {
        (void)gmtime_r(&now, &tm);
        size = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%SZ ", &tm);
        size +=
            (size_t)snprintf(line + size, sizeof(line) - size, "pystrobe %s: ", levels[level].name);
    }
    size += escape(text, line + size, sizeof(line) - size - 1);
    line[size++] = '\n';
    (void)!write(STDERR_FILENO, line, size); /* one write a line: lines of threads do not mix */
}
