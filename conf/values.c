/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.c - the only file that knows how each type of value is read, checked and printed.
 */
#include "conf/values.h"

#include <stdio.h>
#include <string.h>

#include "conf/patterns.h"
#include "conf/template.h"
#include "conf/text.h"
#include "conf/units.h"

typedef enum conf_rc checks(const char *text, struct err *err);
typedef void prints(const struct conf_option *option, const void *field, struct buf *out);

/* How a type is read: as a number, as one of the words that the option takes, else as a string,
 * which is kept as it is once `check` is content. */
struct value_type {
    /* Read a number; NULL: it is none. */
    enum conf_rc (*whole)(const char *text, uint64_t *out, struct err *err);
    enum conf_rc (*real)(const char *text, double *out, struct err *err);
    checks *check;       /* NULL: any text */
    prints *print;       /* NULL: as a string */
    const char *allowed; /* NULL: by the range or the choices of the option */
};

static enum conf_rc out_of_range(const char *text, struct err *err)
{
    char shown[CONF_QUOTE_MAX];

    err_set(err, "%s is out of range", conf_quote(shown, text));
    return CONF_BAD;
}

/* Reads a whole number and holds it to the option's range, which is text as well. `err` gets the
 * cause alone, here and below. */
static enum conf_rc read_whole(const struct value_type *type, const struct conf_option *option,
                               const char *text, void *field, struct err *err)
{
    uint64_t value, min, max;
    enum conf_rc rc = type->whole(text, &value, err);

    if (rc == CONF_OK)
        rc = type->whole(option->min, &min, err);
    if (rc == CONF_OK)
        rc = type->whole(option->max, &max, err);
    if (rc != CONF_OK)
        return rc;
    if (value < min || value > max)
        return out_of_range(text, err);
    if (option->type == CONF_TYPE_COUNT)
        *(size_t *)field = (size_t)value;
    else
        *(uint64_t *)field = value;
    return CONF_OK;
}

/* The same for a number that may have decimals. */
static enum conf_rc read_real(const struct value_type *type, const struct conf_option *option,
                              const char *text, double *field, struct err *err)
{
    double value, min, max;
    enum conf_rc rc = type->real(text, &value, err);

    if (rc == CONF_OK)
        rc = type->real(option->min, &min, err);
    if (rc == CONF_OK)
        rc = type->real(option->max, &max, err);
    if (rc != CONF_OK)
        return rc;
    if (value < min || value > max)
        return out_of_range(text, err);
    *field = value;
    return CONF_OK;
}

/* The words that the option takes, one by one; NULL: no more, or it takes other than words. */
static const char *choice_at(const struct conf_option *option, size_t i)
{
    if (option->type == CONF_TYPE_EXPORTER)
        return i < EXPORTER_TYPES ? exporter_types[i].name : NULL;
    return option->choices ? option->choices[i] : NULL;
}

static enum conf_rc read_choice(const struct conf_option *option, const char *text, void *field,
                                struct err *err)
{
    char shown[CONF_QUOTE_MAX];
    const char *choice;

    for (size_t i = 0; (choice = choice_at(option, i)); i++) {
        if (strcmp(choice, text) != 0)
            continue;
        if (option->type == CONF_TYPE_SPLIT)
            *(enum conf_split *)field = (enum conf_split)(CONF_SPLIT_NONE + i);
        else if (option->type == CONF_TYPE_EXPORTER)
            *(const struct exporter_type **)field = &exporter_types[i];
        else if (option->type == CONF_TYPE_SWITCH)
            *(bool *)field = i == 1;
        else
            *(const char **)field = choice;
        return CONF_OK;
    }
    err_set(err, "%s is not known", conf_quote(shown, text));
    return CONF_BAD;
}

static void print_duration(const struct conf_option *option, const void *field, struct buf *out)
{
    uint64_t duration_ns = *(const uint64_t *)field;

    if (duration_ns > 0 || option->usual) /* else it is not set */
        conf_print_duration(duration_ns, out);
}

static void print_size(const struct conf_option *option, const void *field, struct buf *out)
{
    (void)option;
    conf_print_size(*(const uint64_t *)field, out);
}

static void print_count(const struct conf_option *option, const void *field, struct buf *out)
{
    (void)option;
    buf_add_fmt(out, "%zu", *(const size_t *)field);
}

static void print_rate(const struct conf_option *option, const void *field, struct buf *out)
{
    (void)option;
    conf_print_rate(*(const double *)field, out);
}

static void print_share(const struct conf_option *option, const void *field, struct buf *out)
{
    (void)option;
    conf_print_share(*(const double *)field, out);
}

static void print_split(const struct conf_option *option, const void *field, struct buf *out)
{
    const enum conf_split split = *(const enum conf_split *)field;

    if (split != CONF_SPLIT_UNSET)
        buf_add_str(out, option->choices[split - CONF_SPLIT_NONE]);
}

static void print_exporter_type(const struct conf_option *option, const void *field,
                                struct buf *out)
{
    const struct exporter_type *type = *(const struct exporter_type *const *)field;

    (void)option;
    if (type)
        buf_add_str(out, type->name);
}

static void print_switch(const struct conf_option *option, const void *field, struct buf *out)
{
    buf_add_str(out, option->choices[*(const bool *)field ? 1 : 0]);
}

static void print_string(const struct conf_option *option, const void *field, struct buf *out)
{
    const char *text = *(const char *const *)field;

    (void)option;
    if (text)
        buf_add_str(out, text);
}

static const char absolute_path[] = "an absolute path";
static const char simple_name[] = "a name of letters, digits, \"_\", \"-\" and \".\"";
static const char extended_regex[] = "a POSIX extended regular expression";

#define STRING(type, how, what) [CONF_TYPE_##type] = {.check = how, .allowed = what}

static const struct value_type types[CONF_TYPES] = {
    [CONF_TYPE_RATE] = {.real = conf_rate, .print = print_rate},
    [CONF_TYPE_SHARE] = {.real = conf_share, .print = print_share},
    [CONF_TYPE_DURATION] = {.whole = conf_duration, .print = print_duration},
    [CONF_TYPE_SIZE] = {.whole = conf_size, .print = print_size},
    [CONF_TYPE_COUNT] = {.whole = conf_count, .print = print_count},
    [CONF_TYPE_SWITCH] = {.print = print_switch},
    [CONF_TYPE_CHOICE] = {.print = print_string},
    [CONF_TYPE_SPLIT] = {.print = print_split},
    [CONF_TYPE_EXPORTER] = {.print = print_exporter_type},
    STRING(REGEX, conf_regex_check, extended_regex),
    STRING(GLOB, conf_glob_check, "a path with * ? [...] that starts with / or *"),
    STRING(TEXT, NULL, "text of up to 1024 bytes"),
    STRING(PATTERN, NULL, "text of up to 1024 bytes with * ? [...]"),
    STRING(TEMPLATE, conf_template_check,
           "text of up to 1024 bytes with ${NAME}, ${NAME:-DEFAULT}"),
    STRING(NAMES, conf_names_check,
           "names separated by blanks; NAME* for all that start with NAME"),
    STRING(PATH, conf_path_check, absolute_path),
    STRING(SOCKET, conf_socket_check,
           "an absolute path of up to 107 bytes that does not end in \"/\""),
    STRING(LISTEN, conf_listen_check,
           "PORT, localhost:PORT, ADDRESS:PORT (0.0.0.0 for all), [IPV6]:PORT, "
           "or an absolute path"),
    STRING(SPOOL, conf_spool_check, "an absolute path, or off"),
    STRING(URL, conf_url_check, "http://HOST or https://HOST, then :PORT and /PATH if needed"),
    STRING(PROXY, conf_proxy_check,
           "none, or SCHEME://HOST:PORT with http, https, socks5 or socks5h"),
    STRING(NAME, conf_name_check, simple_name),
    STRING(FILE_PATTERN, conf_file_pattern_check,
           "an absolute path; its last part may have {service}, {type} and {start}"),
    /* Free keys are kept as entries: conf_entry_check checks them. */
    STRING(HEADER, NULL, "printable ASCII of up to 2048 bytes"),
    STRING(HEADER_FILE, conf_path_check, absolute_path),
    STRING(HEADER_ENV, conf_name_check, simple_name),
    STRING(HEADER_CREDENTIAL, conf_name_check, simple_name),
    STRING(LABEL, NULL, "text of up to 2048 bytes"),
    STRING(LABEL_TEMPLATE, conf_template_check,
           "text of up to 2048 bytes with ${NAME}, ${NAME:-DEFAULT}"),
    STRING(ENV, conf_regex_check, extended_regex),
};

/* What holds for strings of every type, then what holds for this one. */
static enum conf_rc read_string(const struct value_type *type, const char *text, const char **out,
                                struct arena *arena, struct err *err)
{
    enum conf_rc rc = CONF_OK;
    size_t size = strlen(text);
    char *copy;

    if (size > CONF_VALUE_MAX) {
        err_set(err, "is longer than %d bytes", CONF_VALUE_MAX);
        return CONF_BAD;
    }
    if (strstr(text, " #") || strstr(text, "\t#")) {
        err_set(err, "has a \"#\" after a blank, which starts no comment here: write \" ;\"");
        return CONF_BAD;
    }
    if (type->check)
        rc = type->check(text, err);
    if (rc != CONF_OK)
        return rc;
    copy = arena_strndup(arena, text, size);
    if (!copy)
        return CONF_NOMEM;
    *out = copy;
    return CONF_OK;
}

/* Puts what is allowed after the cause, and the nearest choice if there is one. */
static void add_allowed_and_nearest(const struct conf_option *option, const char *text,
                                    const struct err *cause, struct err *err)
{
    struct conf_nearest nearest = {.word = text};
    char allowed[CONF_ALLOWED_MAX];
    const char *choice;

    for (size_t i = 0; (choice = choice_at(option, i)); i++)
        conf_nearest_try(&nearest, choice);
    err_set(err, "%s; allowed: %s%s%s%s", cause->text, conf_value_allowed(option, allowed),
            nearest.best ? "; did you mean \"" : "", nearest.best ? nearest.best : "",
            nearest.best ? "\"?" : "");
}

enum conf_rc conf_value_read(const struct conf_option *option, const char *text, void *section,
                             struct arena *arena, struct err *err)
{
    const struct value_type *type = &types[option->type];
    void *field = (char *)section + option->offset;
    struct err cause = {.text = "has no value"};
    enum conf_rc rc = CONF_BAD;

    if (*text && type->whole)
        rc = read_whole(type, option, text, field, &cause);
    else if (*text && type->real)
        rc = read_real(type, option, text, field, &cause);
    else if (*text && choice_at(option, 0))
        rc = read_choice(option, text, field, &cause);
    else if (*text)
        rc = read_string(type, text, field, arena, &cause);
    if (rc == CONF_BAD)
        add_allowed_and_nearest(option, text, &cause, err);
    return rc;
}

bool conf_is_header(const struct conf_option *option)
{
    return option->type == CONF_TYPE_HEADER || option->type == CONF_TYPE_HEADER_FILE ||
           option->type == CONF_TYPE_HEADER_ENV || option->type == CONF_TYPE_HEADER_CREDENTIAL;
}

enum conf_rc conf_entry_check(const struct conf_option *option, const char *name, const char *value,
                              struct err *err)
{
    struct err cause = {.text = "has no value"};
    checks *check = types[option->type].check;

    if ((option->type == CONF_TYPE_LABEL || option->type == CONF_TYPE_LABEL_TEMPLATE) &&
        conf_label_name_check(name, err) != CONF_OK)
        return CONF_BAD;
    if (option->type == CONF_TYPE_ENV && conf_env_name_check(name, err) != CONF_OK)
        return CONF_BAD;
    if (conf_is_header(option) && conf_header_name_check(name, err) != CONF_OK)
        return CONF_BAD;
    if (strlen(value) > CONF_LABEL_VALUE_MAX)
        err_set(&cause, "is longer than %d bytes", CONF_LABEL_VALUE_MAX);
    else if (option->type == CONF_TYPE_HEADER && !conf_is_printable_ascii(value))
        err_set(&cause, "has a character that HTTP does not take");
    else if (*value && (!check || check(value, &cause) == CONF_OK))
        return CONF_OK;
    add_allowed_and_nearest(option, value, &cause, err);
    return CONF_BAD;
}

bool conf_value_print(const struct conf_option *option, const void *section, struct buf *out)
{
    const void *field = (const char *)section + option->offset;
    prints *print = types[option->type].print;
    size_t before = out->size;

    (print ? print : print_string)(option, field, out);
    return out->size > before;
}

const char *conf_value_allowed(const struct conf_option *option, char out[CONF_ALLOWED_MAX])
{
    const char *choice = choice_at(option, 0);
    size_t used = 0, i;

    if (types[option->type].allowed)
        (void)snprintf(out, CONF_ALLOWED_MAX, "%s", types[option->type].allowed);
    else if (!choice)
        (void)snprintf(out, CONF_ALLOWED_MAX, "%s to %s", option->min, option->max);
    else
        for (i = 0; (choice = choice_at(option, i)) && used < CONF_ALLOWED_MAX; i++)
            used += (size_t)snprintf(out + used, CONF_ALLOWED_MAX - used, "%s%s", used ? ", " : "",
                                     choice);
    return out;
}
