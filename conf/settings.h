/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - what stands behind a struct conf: its sections with the line of each setting.
 *
 * Shape:   conf_origin_new, then conf_build_... as the text is read, conf_check_all once,
 *          conf_build_finish; conf_free ends it at any point.
 */
#ifndef CONF_SETTINGS_H
#define CONF_SETTINGS_H

#include "base/arena.h"
#include "conf/errors.h"
#include "conf/options.h"

/* A free key: a label, a header. */
struct conf_entry {
    struct conf_entry *next;
    const struct conf_option *option; /* static: its row */
    struct conf_label pair;           /* the name is without the option's prefix */
    unsigned line;
};

struct conf_section {
    struct conf_section *next;
    enum conf_kind kind;
    unsigned line;                   /* of its head; 0: not in the file */
    const char *name;                /* NULL: a kind that has none */
    void *values;                    /* the struct of its kind; NULL: it has none */
    unsigned lines[CONF_OPTION_MAX]; /* where each row of the table was set; 0: it was not */
    struct conf_entry *entries;
    unsigned entry_count;
};

struct conf_origin {
    struct arena arena; /* owns all below, and all of the struct conf */
    const char *file;   /* as it stands in messages */
    struct conf_section *first[CONF_KINDS];
    unsigned count[CONF_KINDS];
};

/* Settings while they are made. */
struct conf_build {
    struct conf *conf;            /* borrowed */
    struct conf_errors errors;    /* in the arena of conf */
    struct conf_section *current; /* NULL: keys cannot be judged, their section is not known */
    bool in_section;              /* there was a section line */
    bool nomem;
};

/* Makes a struct conf with nothing in it. Gives *out, ended with conf_free. */
MUST_CHECK enum conf_rc conf_origin_new(const char *file, struct conf **out);

/* One line each; mistakes go to build->errors. */
void conf_build_section(struct conf_build *build, unsigned line, const char *text);
void conf_build_pair(struct conf_build *build, unsigned line, const char *name, const char *value);

/* Zeroed memory that lasts as long as the settings; NULL is noted in build->nomem. */
void *conf_build_take(struct conf_build *build, size_t size);

/* Makes a section that is in no list yet; NULL is noted in build->nomem. */
struct conf_section *conf_section_new(struct conf_build *build, enum conf_kind kind, unsigned line,
                                      const char *name);

/* Puts a section at the end of the list of its kind. */
void conf_section_add(struct conf_build *build, struct conf_section *section);

/* Adds the sections that are always there, and all defaults. */
void conf_build_defaults(struct conf_build *build);

/* Makes the arrays of the struct conf out of its sections. */
void conf_build_finish(struct conf_build *build);

/* What only shows when a section is whole; mistakes go to build->errors. */
void conf_check_all(struct conf_build *build);

/* Writes "[target web]" as messages have it, quoted and cut where needed. Returns out. */
enum { CONF_HEAD_MAX = 112 };
const char *conf_section_head(const struct conf_section *section, char out[CONF_HEAD_MAX]);

/* True if the option has a meaning in this section: exporters by their type. */
bool conf_option_applies(const struct conf_option *option, const struct conf_section *section);

#endif
