/* SPDX-License-Identifier: Apache-2.0 */
/* web_query.c - see web_query.h. */
#include "agent/serve/web_query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Later than any clock is, and still some nanoseconds that fit. */
#define LAST_MS INT64_C(9000000000000)

static bool read_ms(const struct web_words *words, const char *name, int64_t *out, struct err *err)
{
    const char *text = words->get(words->ctx, name);
    char *end;

    if (!text) {
        err_set(err, "%s: must be a time, in milliseconds UTC", name);
        return false;
    }
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno && *out <= LAST_MS)
        return true;
    err_set(err, "%s=%.40s: is not a time in milliseconds UTC", name, text);
    return false;
}

static bool read_range(const struct web_words *words, const char *const names[2],
                       struct web_range *out, struct err *err)
{
    if (!read_ms(words, names[0], &out->from_ms, err) ||
        !read_ms(words, names[1], &out->to_ms, err))
        return false;
    if (out->from_ms < out->to_ms)
        return true;
    err_set(err, "%s must be before %s", names[0], names[1]);
    return false;
}

/* Names of values are words. */
static bool read_query_type(const struct web_words *words, char out[WEB_TYPE_SIZE], struct err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *text = words->get(words->ctx, "type");

    out[0] = '\0';
    if (!text)
        return true;
    if (text[0] && strlen(text) < WEB_TYPE_SIZE && text[strspn(text, letters)] == '\0') {
        (void)snprintf(out, WEB_TYPE_SIZE, "%s", text);
        return true;
    }
    err_set(err, "type=%.40s: is not the name of a value, such as cpu or wall", text);
    return false;
}

static bool read_service(const struct web_words *words, char out[STORE_SERVICE_SIZE],
                         struct err *err)
{
    const char *text = words->get(words->ctx, "service");

    if (text && strlen(text) < STORE_SERVICE_SIZE && store_name_is_service(text)) {
        (void)snprintf(out, STORE_SERVICE_SIZE, "%s", text);
        return true;
    }
    err_set(err, "service: must be a folder that /api/services names");
    return false;
}

static bool read_pid(const struct web_words *words, int64_t *out, struct err *err)
{
    const char *text = words->get(words->ctx, "pid");

    *out = 0;
    if (!text)
        return true;
    if (*text >= '1' && *text <= '9' && strlen(text) < 10 &&
        text[strspn(text, "0123456789")] == '\0') {
        *out = strtol(text, NULL, 10);
        return true;
    }
    err_set(err, "pid=%.40s: is not a process id", text);
    return false;
}

static bool read_label(const struct web_words *words, char out[WEB_LABEL_SIZE], struct err *err)
{
    const char *text = words->get(words->ctx, "label");

    out[0] = '\0';
    if (!text)
        return true;
    if (strlen(text) < WEB_LABEL_SIZE && text[0] != '=' && strchr(text, '=')) {
        (void)snprintf(out, WEB_LABEL_SIZE, "%s", text);
        return true;
    }
    err_set(err, "label=%.40s: must be KEY=TEXT, of less than %d bytes", text, WEB_LABEL_SIZE);
    return false;
}

bool web_query_read(const struct web_words *words, struct web_query *out, struct err *err)
{
    static const char *const now[] = {"from", "to"}, *const before[] = {"before_from", "before_to"};

    *out = (struct web_query){.compares = false};
    if (!read_service(words, out->service, err) || !read_pid(words, &out->pid, err) ||
        !read_label(words, out->label, err) || !read_query_type(words, out->type, err) ||
        !read_range(words, now, &out->range, err))
        return false;
    out->compares = words->get(words->ctx, before[0]) || words->get(words->ctx, before[1]);
    return !out->compares || read_range(words, before, &out->before, err);
}

void web_query_command(const char *store, const char *what, const struct web_query *query,
                       struct web_command *out)
{
    const int64_t numbers[] = {query->range.from_ms, query->range.to_ms, query->pid,
                               query->before.from_ms, query->before.to_ms};
    const char *type = query->type[0] ? query->type : "cpu";
    const char *words[WEB_ARGV_MAX] = {"pystrobe",
                                       "browse",
                                       what,
                                       store,
                                       query->service,
                                       out->numbers[0],
                                       out->numbers[1],
                                       out->numbers[2],
                                       query->label,
                                       query->compares || query->type[0] ? type : NULL};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        (void)snprintf(out->numbers[i], WEB_NUMBER_SIZE, "%" PRId64, numbers[i]);
    if (query->compares) {
        words[10] = out->numbers[3];
        words[11] = out->numbers[4];
    }
    for (size_t i = 0; i < WEB_ARGV_MAX; i++)
        out->argv[i] = (char *)(uintptr_t)words[i]; /* posix_spawn changes nothing */
}
