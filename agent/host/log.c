/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - see log.h. */
#include "agent/host/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/host/escape.h"
#include "agent/host/log_limit.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

enum {
    TEXT_MAX_BYTES = 2048,
    LINE_MAX_BYTES = PIPE_BUF,                   /* what one write to a pipe does whole */
    TAIL_MAX_BYTES = 96,                         /* what stands behind the text */
    JSON_MAX_BYTES = (LINE_MAX_BYTES - 256) / 2, /* of text: JSON may double it */
    STALLED_MS = 50
};

static const struct {
    const char *name;
    int priority; /* syslog(3) */
    const char *color;
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3, "\x1b[31m"},
    [LOG_LEVEL_WARNING] = {"warning", 4, "\x1b[33m"},
    [LOG_LEVEL_INFO] = {"info", 6, ""},
    [LOG_LEVEL_DEBUG] = {"debug", 7, "\x1b[2m"},
};

/* Written by log_init and log_set_format only, which threads that run already may see late. */
static atomic_int log_most = LOG_LEVEL_INFO, log_format = LOG_TEXT;
static atomic_bool to_journal, in_color;

static struct log_limit limit;
static atomic_uint_fast64_t left_out_total, stalled;

/* A line while it is made: what does not fit is left away, and the line still ends well. */
struct line {
    char room[LINE_MAX_BYTES + 1];
    struct buf buf; /* over `room`: it never grows, so nothing is allocated */
};

static void line_start(struct line *line, size_t max)
{
    line->buf = (struct buf){.data = (unsigned char *)line->room, .capacity = max + 1, .max = max};
}

/* Lets `more` further bytes in, also after something did not fit. */
static void line_widen(struct line *line, size_t more)
{
    line->buf.capacity += more;
    line->buf.max += more;
    line->buf.failed = false;
}

static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM"); /* DEVICE:INODE */
    char *colon;
    struct stat st;

    return stream && fstat(STDERR_FILENO, &st) == 0 && strtoull(stream, &colon, 10) == st.st_dev &&
           *colon == ':' && strtoull(colon + 1, NULL, 10) == st.st_ino;
}

static bool wants_color(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDERR_FILENO) && !(no_color && no_color[0]) && term && term[0] &&
           strcmp(term, "dumb") != 0;
}

void log_init(enum log_level most)
{
    atomic_store(&log_most, (int)most);
    atomic_store(&to_journal, is_journal());
    atomic_store(&in_color, wants_color());
}

void log_set_format(enum log_format format)
{
    atomic_store(&log_format, (int)format);
}

uint64_t log_left_out(void)
{
    return atomic_load(&left_out_total);
}

/* Hash of the text without its digits: "process 12 ended" and "process 13 ended" are alike. */
static uint64_t kind_of_text(const char *text)
{
    uint64_t hash = HASH_START;

    for (; *text; text++)
        if (*text < '0' || *text > '9')
            hash = hash_fnv(hash, text, 1);
    return hash;
}

/* A format is a kind, wherever its string lies; "%s" alone says nothing, its text does. */
static uint64_t kind_of(const char *format, const char *text)
{
    return kind_of_text(strcmp(format, "%s") == 0 ? text : format);
}

/* May the line be written? Counts it if not. */
static bool may_write(enum log_level level, const char *format, const char *text,
                      uint64_t *out_left_out)
{
    if (level == LOG_LEVEL_DEBUG || atomic_load(&log_most) == LOG_LEVEL_DEBUG ||
        log_limit_pass(&limit, kind_of(format, text), clock_mono_ns(), out_left_out))
        return true;
    atomic_fetch_add(&left_out_total, 1);
    return false;
}

/* Appends what was left out before this line. */
static void add_left_out(struct buf *out, uint64_t left_out, uint64_t lost)
{
    if (left_out > 0)
        buf_add_fmt(out, " (%" PRIu64 " more of these were left out)", left_out);
    if (lost > 0)
        buf_add_fmt(out, " (%" PRIu64 " %s lost)", lost,
                    text_plural(lost, "line was", "lines were"));
}

static void make_text(struct line *line, enum log_level level, const char *text, uint64_t left_out,
                      uint64_t lost)
{
    const char *color = atomic_load(&in_color) ? levels[level].color : "";
    char when[32];
    time_t now = time(NULL);
    struct tm tm;

    line_start(line, LINE_MAX_BYTES - TAIL_MAX_BYTES);
    if (atomic_load(&to_journal)) {
        buf_add_fmt(&line->buf, "<%d>", levels[level].priority);
    } else {
        (void)gmtime_r(&now, &tm);
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
        buf_add_fmt(&line->buf, "%s pystrobe %s%s%s: ", when, color, levels[level].name,
                    color[0] ? "\x1b[0m" : "");
    }
    escape_add_str(&line->buf, text);
    line_widen(line, TAIL_MAX_BYTES - 1);
    add_left_out(&line->buf, left_out, lost);
    line_widen(line, 1);
    buf_add(&line->buf, "\n", 1);
}

static void make_json(struct line *line, enum log_level level, const char *text, uint64_t left_out,
                      uint64_t lost)
{
    struct line shown;
    struct timespec now;
    struct tm tm;
    char when[32];

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
    line_start(&shown, JSON_MAX_BYTES);
    escape_add_str(&shown.buf, text);

    line_start(line, LINE_MAX_BYTES);
    if (atomic_load(&to_journal))
        buf_add_fmt(&line->buf, "<%d>", levels[level].priority);
    buf_add_fmt(&line->buf, "{\"time\": \"%s.%03ldZ\", \"level\": \"%s\", \"pid\": %d, ", when,
                now.tv_nsec / (long)NS_PER_MS, levels[level].name, (int)getpid());
    if (left_out > 0)
        buf_add_fmt(&line->buf, "\"left_out\": %" PRIu64 ", ", left_out);
    if (lost > 0)
        buf_add_fmt(&line->buf, "\"lost\": %" PRIu64 ", ", lost);
    json_member(&line->buf, "\"message\": ", buf_text(&shown.buf));
    buf_add_str(&line->buf, "}\n");
}

/* One write a line; false: stderr takes nothing now. */
static bool write_line(const struct buf *line)
{
    struct pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT};
    ssize_t done;

    if (poll(&to, 1, STALLED_MS) == 0)
        return false;
    do
        done = write(STDERR_FILENO, line->data, line->size);
    while (done < 0 && errno == EINTR);
    return done >= 0 || errno != EAGAIN;
}

static void count_unwritten(uint64_t count)
{
    atomic_fetch_add(&stalled, count);
    atomic_fetch_add(&left_out_total, count);
}

/* Writes a line that may be written. False: stderr takes nothing now, and the line is lost. */
static bool write_log_line(enum log_level level, const char *text, uint64_t left_out)
{
    uint64_t lost = atomic_exchange(&stalled, 0);
    struct line line;

    if (atomic_load(&log_format) == LOG_JSON)
        make_json(&line, level, text, left_out, lost);
    else
        make_text(&line, level, text, left_out, lost);
    if (write_line(&line.buf))
        return true;
    atomic_fetch_add(&stalled, lost);
    count_unwritten(1);
    return false;
}

void log_line(enum log_level level, const char *format, ...)
{
    char text[TEXT_MAX_BYTES];
    uint64_t left_out = 0;
    int before = errno;
    va_list args;

    if ((int)level > atomic_load(&log_most))
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (may_write(level, format, text, &left_out))
        (void)write_log_line(level, text, left_out);
    errno = before;
}

void log_text(enum log_level level, const char *prefix, const char *text, size_t size)
{
    const char *end = text + size, *next;
    char line[TEXT_MAX_BYTES];
    int before = errno;
    bool taken = true;

    if ((int)level > atomic_load(&log_most))
        return;
    for (; text < end; text = next + 1) {
        next = memchr(text, '\n', (size_t)(end - text));
        next = next ? next : end;
        if (next == text)
            continue;
        if (!taken) {
            count_unwritten(1);
            continue;
        }
        (void)snprintf(line, sizeof(line), "%s%.*s", prefix, (int)(next - text), text);
        taken = write_log_line(level, line, 0);
    }
    errno = before;
}
