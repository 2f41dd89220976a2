/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the table of every section and key that the ini may hold.
 *
 * To add a key: a field in conf.h, or for an exporter's in exporters/settings.h, and a row in
 * options.c. Parsing, messages, `pystrobe config`, the sample file and the manual page follow by
 * themselves.
 */
#ifndef CONF_OPTIONS_H
#define CONF_OPTIONS_H

#include <stddef.h>

#include "conf/conf.h"

enum conf_kind { CONF_AGENT, CONF_HTTP, CONF_LABELS, CONF_TARGET, CONF_EXPORTER, CONF_KINDS };

/* A kind of section. */
struct conf_kind_row {
    const char *word;     /* what stands in the brackets */
    const char *title;    /* "[target NAME]" */
    const char *help;     /* sentences */
    bool named;           /* there may be several, each with a name */
    size_t size;          /* of its struct; 0: it has none */
    unsigned count_max;   /* sections of this kind in a file */
    unsigned entries_max; /* free keys in a section */
};

extern const struct conf_kind_row conf_kinds[CONF_KINDS];

/* How the text of a value is read, checked and printed: a row each in values.c. */
enum conf_type {
    CONF_TYPE_RATE,     /* double, Hz */
    CONF_TYPE_SHARE,    /* double, of 1; written as a percentage */
    CONF_TYPE_SWITCH,   /* bool */
    CONF_TYPE_DURATION, /* uint64_t, ns */
    CONF_TYPE_SIZE,     /* uint64_t, bytes */
    CONF_TYPE_COUNT,    /* size_t */
    CONF_TYPE_CHOICE,   /* const char *, one of `choices` */
    CONF_TYPE_SPLIT,    /* enum conf_split, in the order of `choices` */
    CONF_TYPE_EXPORTER, /* const struct exporter_type *, one of exporter_types */
    CONF_TYPE_REGEX,    /* const char *, from here on */
    CONF_TYPE_GLOB,
    CONF_TYPE_TEXT,
    CONF_TYPE_PATTERN,
    CONF_TYPE_TEMPLATE,
    CONF_TYPE_NAMES, /* names with blanks between */
    CONF_TYPE_PATH,
    CONF_TYPE_SOCKET, /* a path of a Unix socket */
    CONF_TYPE_LISTEN,
    CONF_TYPE_SPOOL, /* a path, or "off" */
    CONF_TYPE_URL,
    CONF_TYPE_PROXY,
    CONF_TYPE_NAME, /* of a variable, of a credential */
    CONF_TYPE_FILE_PATTERN,
    CONF_TYPE_LABEL, /* a free key, kept in the section's entries */
    CONF_TYPE_HEADER,
    CONF_TYPE_HEADER_FILE,
    CONF_TYPE_HEADER_ENV,
    CONF_TYPE_HEADER_CREDENTIAL,
    CONF_TYPE_ENV,
    CONF_TYPE_LABEL_TEMPLATE,
    CONF_TYPES
};

/* Which types of exporter use a key, as bits of conf_option.used_by. */
enum {
    CONF_ALL = 0,
    CONF_STORE = 1 << EXPORTER_STORE,
    CONF_PYROSCOPE = 1 << EXPORTER_PYROSCOPE,
    CONF_FILE = 1 << EXPORTER_FILE,
    CONF_OTLP = 1 << EXPORTER_OTLP,
    CONF_SERVERS = 1 << EXPORTER_TYPES /* all that need a URL */
};

/* What a section must have of a key. */
enum conf_need {
    CONF_OPTIONAL,
    CONF_REQUIRED, /* by the exporter types in used_by */
    CONF_CONDITION /* a target needs one of these */
};

struct conf_option {
    enum conf_kind kind;
    enum conf_type type;
    const char *name;      /* of a free key: "header.NAME", written as in the manual */
    const char *prefix;    /* of a free key: what stands before its NAME; NULL: not a free key */
    size_t offset;         /* of the field in the section's struct; free keys: 0 */
    const char *usual;     /* the default as ini text; NULL: none */
    const char *otherwise; /* no default: what an absent key means, in words */
    const char *min, *max; /* as ini text; NULL where the type has no order */
    const char *const *choices; /* ends with NULL */
    unsigned used_by;           /* exporters only */
    const char *otel; /* types that read OTEL_EXPORTER_OTLP_<this> where the key is absent */
    enum conf_need need;
    bool secret;         /* the value is never shown */
    bool old;            /* accepted, with a warning; in no sample */
    const char *example; /* for the sample, where there is no default */
    const char *help;    /* sentences */
};

enum { CONF_OPTION_MAX = 96 }; /* rows of the table at most: settings.h has an array of them */

extern const struct conf_option conf_options[];
extern const size_t conf_option_count;

/* True if exporters of this type use the key; false for NULL. */
bool conf_option_used_by(const struct conf_option *option, const struct exporter_type *type);

/* The row of key `name` in a section of this kind; NULL if there is none. */
const struct conf_option *conf_option_find(enum conf_kind kind, const char *name);

#endif
