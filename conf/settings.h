/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - what stands behind a struct conf: its sections with the line of each setting.
 *
 * Shape:   conf_load makes it, then conf_build_... as the text is read, conf_check_all once,
 *          conf_build_finish; conf_free ends it at any point.
 */
#ifndef CONF_SETTINGS_H
#define CONF_SETTINGS_H

#include "base/arena.h"
#include "conf/errors.h"
#include "conf/options.h"

/*
 * A place is where something was set: a line of a file, or a variable or an option of the
 * command line, each of which counts as a file without lines. 0: nowhere, a default. The
 * lines of the first file are their own places.
 */
enum {
    CONF_PLACE_BITS = 21, /* of the line: CONF_TEXT_MAX bytes have no more */
    CONF_FILES_MAX = 1024
};

/* A free key: a label, a header. */
struct conf_entry {
    struct conf_entry *next;
    const struct conf_option *option; /* static: its row */
    struct label pair;                /* the name is without the option's prefix */
    unsigned line;                    /* a place, as all below */
};

struct conf_section {
    struct conf_section *next;
    enum conf_kind kind;
    unsigned line;                   /* of its first head; 0: it has none */
    unsigned last;                   /* of its last one: a later file may go on with it */
    const char *name;                /* NULL: a kind that has none */
    void *values;                    /* the struct of its kind; NULL: it has none */
    unsigned lines[CONF_OPTION_MAX]; /* where each row of the table was set; 0: it was not */
    struct conf_entry *entries;
    unsigned entry_count;
};

struct conf_origin {
    struct arena arena;                /* owns all below, and all of the struct conf */
    const char *files[CONF_FILES_MAX]; /* as they stand in messages */
    unsigned file_count;
    struct conf_section *first[CONF_KINDS];
    unsigned count[CONF_KINDS];
    bool empty; /* the main file has no section */
};

/* Settings while they are made. */
struct conf_build {
    struct conf *conf;            /* borrowed */
    struct conf_errors errors;    /* in the arena of conf */
    struct conf_section *current; /* NULL: keys cannot be judged, their section is not known */
    bool in_section;              /* there was a section line */
    char *const *environment;     /* borrowed; NULL: none */
    unsigned file;                /* the place that stands for the file that is being read */
    size_t size;                  /* of all texts so far */
    bool nomem;
};

/* Begins a further file; places are in it from now on. */
void conf_build_file(struct conf_build *build, const char *name);

/* True if both are in the same file. */
bool conf_place_same_file(unsigned a, unsigned b);

/* Appends "FILE:LINE", or "FILE" for what has no lines. */
void conf_place_add(const struct conf_origin *origin, unsigned place, struct buf *out);

/* Writes "on line 3", seen from another place in the same file, else "in FILE:3". Returns out. */
enum { CONF_SEEN_MAX = 160 };
const char *conf_place_seen(const struct conf_origin *origin, unsigned place, unsigned from,
                            char out[CONF_SEEN_MAX]);

/*
 * Reads a regular file whole into `text`, opened without ever waiting for it.
 * Errors: CONF_BAD: `err` says why not; CONF_NOMEM.
 */
MUST_CHECK enum conf_rc conf_file_read(const char *path, struct buf *text, struct err *err);

/* Reads an ini text; mistakes go to build->errors. Errors: CONF_NOMEM. */
MUST_CHECK enum conf_rc conf_build_text(struct conf_build *build, const char *text, size_t size);

/* Reads the files of the folder conf.d beside `path`. Errors: CONF_NOMEM. */
MUST_CHECK enum conf_rc conf_build_drop_ins(struct conf_build *build, const char *path);

/* Takes the variables that are meant for settings, in the order of their names. */
void conf_build_environment(struct conf_build *build, char *const *environment);

/* One line each; mistakes go to build->errors. */
void conf_build_section(struct conf_build *build, unsigned line, const char *text);
void conf_build_pair(struct conf_build *build, unsigned line, const char *name, const char *value);

/*
 * Goes on with a section, or begins it, as if a head stood in a file of its own.
 * `listed` false: what follows is read for its mistakes only, if there is no such section.
 */
void conf_build_open(struct conf_build *build, enum conf_kind kind, const char *name, bool listed);

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

/* The end of the name of the variable that may stand in for the option there; NULL: none may. */
const char *conf_option_otel(const struct conf_option *option, const struct conf_section *section);

#endif
