/* SPDX-License-Identifier: Apache-2.0 */
/* file_name.c - see file_name.h. */
#include "exporters/file_name.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/time_units.h"
#include "exporters/store_name.h"

enum { REGEX_MAX = 16384 };

enum part { PART_SERVICE, PART_TYPE, PART_START, PARTS };

struct part_row {
    const char *text;  /* in the pattern */
    const char *regex; /* of what it becomes */
};

static const struct part_row parts[PARTS] = {
    [PART_SERVICE] = {"{service}", "[A-Za-z0-9_.%~-]+"},
    [PART_TYPE] = {"{type}", "[a-z0-9_]+"},
    [PART_START] = {"{start}", "[0-9]{8}T[0-9]{6}\\.[0-9]{3}Z"},
};

/* Which part `text` starts with; PARTS: none. */
static enum part part_at(const char *text)
{
    size_t i;

    for (i = 0; i < PARTS; i++)
        if (strncmp(text, parts[i].text, strlen(parts[i].text)) == 0)
            break;
    return (enum part)i;
}

const char *file_name_check(const char *pattern)
{
    const char *last = file_base_name(pattern), *at;

    if (pattern[0] != '/')
        return "must be an absolute path";
    if (last[0] == '\0' || last[0] == '.')
        return "must end in the name of a file, without a dot in front";
    if (strlen(last) >= FILE_NAME_SIZE)
        return "has a name of more than 255 bytes";
    for (at = pattern; *at; at++) {
        if ((*at == '{' && at < last) || (*at == '{' && part_at(at) == PARTS))
            return "may have {service}, {type} and {start}, in its last part only";
        if (*at == '{')
            at += strlen(parts[part_at(at)].text) - 1;
        else if (*at == '}')
            return "has a \"}\" without its \"{\"";
    }
    return NULL;
}

bool file_name_has_type(const char *pattern)
{
    return strstr(file_base_name(pattern), parts[PART_TYPE].text) != NULL;
}

/* Where the number goes: before the first dot after the last part in braces. */
static const char *find_number_position(const char *last)
{
    const char *brace = strrchr(last, '}'), *from = brace ? brace : last;

    return from + strcspn(from, ".");
}

/* A type is one of a few words, unless it comes from a spool that somebody has changed. */
static void add_type(struct buf *out, const char *type)
{
    for (; *type; type++) {
        char byte = strchr("abcdefghijklmnopqrstuvwxyz0123456789_", *type) ? *type : '_';

        buf_add(out, &byte, 1);
    }
}

static void add_name_part(struct buf *out, enum part part, const struct exporter_profile *profile)
{
    char service[STORE_SERVICE_SIZE], start[STORE_START_SIZE];

    if (part == PART_SERVICE) {
        store_name_service(profile->service ? profile->service : "", service);
        buf_add_str(out, service);
    } else if (part == PART_TYPE) {
        add_type(out, profile->type && profile->type[0] ? profile->type : "all");
    } else {
        store_name_start(profile->start_ns / (int64_t)NS_PER_MS, start);
        buf_add_str(out, start);
    }
}

bool file_name_write(const char *pattern, const struct exporter_profile *profile, unsigned number,
                     char out[FILE_NAME_SIZE])
{
    const char *last = file_base_name(pattern), *place = find_number_position(last);
    struct buf name;
    bool good;

    buf_init(&name, FILE_NAME_SIZE);
    for (;; last++) {
        enum part part = part_at(last);

        if (last == place && number > 1)
            buf_add_fmt(&name, "-%u", number);
        if (part != PARTS) {
            add_name_part(&name, part, profile);
            last += strlen(parts[part].text) - 1;
            continue;
        }
        buf_add(&name, last, 1);
        if (!*last)
            break;
    }
    good = !buf_failed(&name);
    if (good)
        memcpy(out, name.data, name.size);
    buf_finish(&name);
    return good;
}

bool file_name_matcher(const char *pattern, regex_t *out)
{
    const char *last = file_base_name(pattern), *place = find_number_position(last);
    struct buf text;
    bool good;

    buf_init(&text, REGEX_MAX);
    buf_add_str(&text, "^");
    for (;; last++) {
        enum part part = part_at(last);

        if (last == place)
            buf_add_str(&text, "(-[0-9]+)?");
        if (!*last)
            break;
        if (part != PARTS) {
            buf_add_str(&text, parts[part].regex);
            last += strlen(parts[part].text) - 1;
        } else {
            buf_add_str(&text, strchr("^.[$()|*+?{\\", *last) ? "\\" : "");
            buf_add(&text, last, 1);
        }
    }
    buf_add_str(&text, "$");
    good = !buf_failed(&text) && regcomp(out, buf_text(&text), REG_EXTENDED | REG_NOSUB) == 0;
    buf_finish(&text);
    return good;
}
