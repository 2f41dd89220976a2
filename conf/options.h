/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the table of every section and key that the ini may hold.
 *
 * To add a key: a field in conf.h, or in exporters/settings.h for a key of exporters, and a row in
 * options.c, which parsing, messages, `pystrobe config`, the sample and the manual page use.
 */
#ifndef CONF_OPTIONS_H
#define CONF_OPTIONS_H

#include <stddef.h>

#include "conf/conf.h"

enum conf_kind { CONF_AGENT, CONF_HTTP, CONF_LABELS, CONF_TARGET, CONF_EXPORTER, CONF_KINDS };

/* A kind of section. */
struct conf_kind_row {
    const char *word;     /* first word in the brackets: "target" */
    const char *title;    /* "[target NAME]" */
    const char *help;     /* sentences for the manual */
    bool named;           /* there may be several, each with a name */
    size_t size;          /* bytes of its struct; 0: it has none */
    unsigned count_max;   /* sections of this kind, in all sources together */
    unsigned entries_max; /* free keys in a section */
};

extern const struct conf_kind_row conf_kinds[CONF_KINDS];

/* Type of a value. Comments: type of its field. values.c has a row for each, to read and print. */
enum conf_type {
    CONF_TYPE_RATE,     /* double, Hz */
    CONF_TYPE_SHARE,    /* double, 1 is 100 %; written as a percentage */
    CONF_TYPE_SWITCH,   /* bool */
    CONF_TYPE_DURATION, /* uint64_t, ns */
    CONF_TYPE_SIZE,     /* uint64_t, bytes */
    CONF_TYPE_COUNT,    /* size_t */
    CONF_TYPE_CHOICE,   /* const char *, one of `choices` */
    CONF_TYPE_SPLIT,    /* enum conf_split, in the order of `choices` */
    CONF_TYPE_EXPORTER, /* const struct exporter_type *, one of exporter_types */
    CONF_TYPE_REGEX,    /* this and those below: const char * */
    CONF_TYPE_GLOB,     /* matches paths */
    CONF_TYPE_TEXT,
    CONF_TYPE_PATTERN, /* glob that matches any text */
    CONF_TYPE_TEMPLATE,
    CONF_TYPE_NAMES, /* names separated by blanks */
    CONF_TYPE_PATH,
    CONF_TYPE_SOCKET, /* path of a Unix socket */
    CONF_TYPE_LISTEN,
    CONF_TYPE_SPOOL, /* a path, or "off" */
    CONF_TYPE_URL,
    CONF_TYPE_PROXY,
    CONF_TYPE_NAME, /* name of a variable or a credential */
    CONF_TYPE_FILE_PATTERN,
    CONF_TYPE_LABEL, /* this and those below: a free key, kept in the section's entries */
    CONF_TYPE_HEADER,
    CONF_TYPE_HEADER_FILE,
    CONF_TYPE_HEADER_ENV,
    CONF_TYPE_HEADER_CREDENTIAL,
    CONF_TYPE_ENV,
    CONF_TYPE_LABEL_TEMPLATE,
    CONF_TYPES
};

/* Bits of conf_option.used_by: the types of exporter that use a key. */
enum {
    CONF_ALL = 0, /* all types */
    CONF_STORE = 1 << EXPORTER_STORE,
    CONF_PYROSCOPE = 1 << EXPORTER_PYROSCOPE,
    CONF_FILE = 1 << EXPORTER_FILE,
    CONF_OTLP = 1 << EXPORTER_OTLP,
    CONF_SERVERS = 1 << EXPORTER_TYPES /* all types that need a URL */
};

/* Whether a section must have a key. */
enum conf_need {
    CONF_OPTIONAL,
    CONF_REQUIRED, /* exporters of the types in used_by must have it */
    CONF_CONDITION /* a target must have at least one key with this value */
};

/* A key: a row of the table. All pointers are static. */
struct conf_option {
    enum conf_kind kind; /* section that it belongs to */
    enum conf_type type;
    const char *name;           /* of the key; of a free key as in the manual: "header.NAME" */
    const char *prefix;         /* free key: the text before its NAME; NULL: not a free key */
    size_t offset;              /* of the field in the section's struct; free keys: 0 */
    const char *usual;          /* the default as ini text; NULL: none */
    const char *otherwise;      /* no default: meaning of an absent key, in words */
    const char *min, *max;      /* smallest and largest value as ini text; NULL: no such limits */
    const char *const *choices; /* ends with NULL */
    unsigned used_by;           /* bits, only for keys of exporters */
    const char *otel; /* OTEL_EXPORTER_OTLP_<otel> counts if the key is absent; NULL: none */
    enum conf_need need;
    bool secret;         /* the value is never shown */
    bool old;            /* obsolete: accepted, printed only if set, in no sample */
    const char *example; /* value for the sample if there is no default */
    const char *help;    /* sentences for the sample and the manual */
};

enum { CONF_OPTION_MAX = 96 }; /* upper limit of conf_option_count, for arrays in settings.h */

extern const struct conf_option conf_options[];
extern const size_t conf_option_count;

/* True if exporters of this type use the key; false for NULL. */
bool conf_option_used_by(const struct conf_option *option, const struct exporter_type *type);

/* Gives the row of key `name` in a section of this kind; NULL: there is none. */
const struct conf_option *conf_option_find(enum conf_kind kind, const char *name);

#endif
