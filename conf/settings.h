/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - the private part of a struct conf: its sections, and where each setting was made.
 *
 * Shape:   conf_load makes it; conf_build_... while sources are read; conf_build_defaults,
 *          conf_check_all and conf_build_finish once each; conf_free ends it at any point.
 */
#ifndef CONF_SETTINGS_H
#define CONF_SETTINGS_H

#include "base/arena.h"
#include "conf/errors.h"
#include "conf/options.h"

/*
 * A place tells where something was set: the index of a file in conf_origin.files, shifted left by
 * CONF_PLACE_BITS, plus the line. A variable or an option of the command line counts as a file with
 * line 0. Place 0: nowhere, a default.
 */
enum {
    CONF_PLACE_BITS = 21, /* bits of the line: enough for CONF_TEXT_MAX bytes */
    CONF_FILES_MAX = 1024 /* files, variables and options together */
};

/* A free key that was set: a label, a header. */
struct conf_entry {
    struct conf_entry *next;
    const struct conf_option *option; /* static: its row */
    struct label pair;                /* the name has no prefix */
    unsigned line;                    /* a place, as in all structs below */
};

struct conf_section {
    struct conf_section *next;
    enum conf_kind kind;
    unsigned line;                   /* place of its first head; 0: it has none */
    unsigned last;                   /* place of its last head: a later file may continue it */
    const char *name;                /* NULL: this kind has no names */
    void *values;                    /* the struct of its kind; NULL: the kind has none */
    unsigned lines[CONF_OPTION_MAX]; /* place of each row of the table; 0: not set */
    struct conf_entry *entries;
    unsigned entry_count;
};

struct conf_origin {
    struct arena arena;                /* owned: all below, and what the struct conf points to */
    const char *files[CONF_FILES_MAX]; /* names as in messages */
    unsigned file_count;
    struct conf_section *first[CONF_KINDS]; /* list of each kind */
    unsigned count[CONF_KINDS];             /* its length */
    bool empty;                             /* the main file has no section */
};

/* State while settings are read. */
struct conf_build {
    struct conf *conf;            /* borrowed */
    struct conf_errors errors;    /* in the arena of conf */
    struct conf_section *current; /* NULL: its kind is not known, so keys are not checked */
    bool in_section;              /* this file had a section line */
    char *const *environment;     /* borrowed; NULL: none */
    unsigned file;                /* place, with line 0, of the file that is being read */
    size_t size;                  /* bytes of all texts so far */
    bool nomem;                   /* an allocation failed */
};

/* Begins a file, a variable or an option: build->file is its place from now on. */
void conf_build_file(struct conf_build *build, const char *name);

/* True if both are in the same file. */
bool conf_place_same_file(unsigned a, unsigned b);

/* Appends "FILE:LINE", or "FILE" if the line is 0. */
void conf_place_add(const struct conf_origin *origin, unsigned place, struct buf *out);

/* Writes "on line 3" if `from` is in the same file, else "in FILE:3". Returns `out`. */
enum { CONF_SEEN_MAX = 160 };
const char *conf_place_seen(const struct conf_origin *origin, unsigned place, unsigned from,
                            char out[CONF_SEEN_MAX]);

/*
 * Reads a regular file whole into `text`. Does not block on a FIFO or a device.
 *
 * Errors: CONF_BAD: `err` says why not; CONF_NOMEM.
 */
MUST_CHECK enum conf_rc conf_file_read(const char *path, struct buf *text, struct err *err);

/* Reads an ini text; mistakes go to build->errors. Errors: CONF_NOMEM. */
MUST_CHECK enum conf_rc conf_build_text(struct conf_build *build, const char *text, size_t size);

/* Reads the files of the folder conf.d beside `path`. Errors: CONF_NOMEM. */
MUST_CHECK enum conf_rc conf_build_drop_ins(struct conf_build *build, const char *path);

/* Reads the PYSTROBE_... variables, sorted by name; mistakes go to build->errors. */
void conf_build_environment(struct conf_build *build, char *const *environment);

/* Read one section line or one pair at the place `line`; mistakes go to build->errors. */
void conf_build_section(struct conf_build *build, unsigned line, const char *text);
void conf_build_pair(struct conf_build *build, unsigned line, const char *name, const char *value);

/*
 * Makes this section the current one, as a section line does; its place is build->file. `listed`
 * false: a section that does not exist is not added, and its keys are only checked.
 */
void conf_build_open(struct conf_build *build, enum conf_kind kind, const char *name, bool listed);

/* Allocates zeroed memory that lasts until conf_free. NULL: build->nomem is set. */
void *conf_build_take(struct conf_build *build, size_t size);

/* Makes a section that is in no list yet. NULL: build->nomem is set. */
struct conf_section *conf_section_new(struct conf_build *build, enum conf_kind kind, unsigned line,
                                      const char *name);

/* Puts a section at the end of the list of its kind. */
void conf_section_add(struct conf_build *build, struct conf_section *section);

/* Adds [agent], [http] and [labels] if they are absent, and sets all defaults. */
void conf_build_defaults(struct conf_build *build);

/* Makes the arrays of the struct conf out of its sections. */
void conf_build_finish(struct conf_build *build);

/* Checks the rules between keys and between sections; mistakes go to build->errors. */
void conf_check_all(struct conf_build *build);

/* Writes "[target web]" or "[agent]", for messages. Returns `out`. */
enum { CONF_HEAD_MAX = 112 };
const char *conf_section_head(const struct conf_section *section, char out[CONF_HEAD_MAX]);

/* True if the option belongs in this section: of an exporter its type decides, too. */
bool conf_option_applies(const struct conf_option *option, const struct conf_section *section);

/* Gives option->otel if the OTEL_... variable counts in this section; NULL: none does. */
const char *conf_option_otel(const struct conf_option *option, const struct conf_section *section);

#endif
