/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder conf: knows ini files, drop-ins, variables and flags, and how they become one struct of
 * settings. Does not know what the settings are for: it opens no exporter and looks at no process.
 *
 * conf.h - turns ini text into settings, and says where each came from.
 *
 * Shape:   conf_load what there is, use the struct, conf_free.
 * Threads: settings are read-only once made.
 * Source:  the option table in conf/options.c: name, type, default, range, unit
 *          and help of every key; parsing, `pystrobe config`, the sample file and
 *          the manual page all come from it.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/label.h"
#include "exporters/settings.h"

enum conf_rc { CONF_OK, CONF_BAD, CONF_NOMEM };

/* How finely the samples of one service are told apart. */
/* CONF_SPLIT_UNSET: only while the settings are read. */
enum conf_split { CONF_SPLIT_UNSET, CONF_SPLIT_NONE, CONF_SPLIT_PROCESS, CONF_SPLIT_THREAD };

/* All strings are owned by the struct conf; NULL: not set. */
struct conf_agent {
    double rate_hz;       /* samples a second of each target */
    uint64_t interval_ns; /* what one profile covers */
    uint64_t stop_timeout_ns;
    uint64_t scan_ns;       /* how often /proc is looked through */
    double max_cpu;         /* share of one core that pystrobe may use; 0: any */
    uint64_t max_memory;    /* bytes */
    const char *log_level;  /* "error", "warning", "info", "debug" */
    const char *log_format; /* "text", "json" */
    const char *spool;      /* a directory, or "off"; NULL: the command decides */
    uint64_t spool_max_size_bytes;
    uint64_t spool_max_age_ns;
    uint64_t spool_min_free_bytes; /* of the disk */
    const char *control;           /* the path of the control socket */
    const char *env_allow;         /* names of variables of targets that may be read */
    const char *auto_labels;       /* names of labels that are found by themselves */
    size_t max_services;           /* profiles of an interval */
    size_t max_split;              /* processes or threads told apart in a profile */
};

struct conf_http {
    const char *listen; /* as conf_listen takes it; NULL: nothing is served */
    const char *pull;   /* "on", "off", or NULL: as the address says */
    const char *page;   /* "on", "off", or NULL: as pull */
    double max_cpu;     /* share of one core that answers may use; 0: any */
};

/* What a process may be like. Regular expressions are POSIX extended, and searched. */
struct conf_conditions {
    const char *cmdline;      /* regular expression: its command line */
    const char *exe;          /* glob: the executable's path */
    const char *user;         /* name or number */
    const char *cgroup;       /* glob: the path of its cgroup */
    const char *container;    /* glob: id or name of its container */
    const char *systemd_unit; /* glob: the unit that it runs in */
    const char *parent;       /* regular expression: the command line of an ancestor */
    const struct label *env;  /* regular expressions on its variables */
    size_t env_count;
};

struct conf_target {
    const char *name;
    struct conf_conditions when;   /* all that are set must hold */
    struct conf_conditions unless; /* and none of these */
    const char *service;           /* template */
    const struct label *labels;    /* templates */
    size_t label_count;
    double rate_hz;         /* default: that of [agent] */
    enum conf_split split;  /* default: that which the page needs */
    uint64_t hang_after_ns; /* 0: nobody asks whether it hangs */
};

struct conf_origin; /* private: settings.h */

struct conf {
    struct conf_agent agent;
    struct conf_http http;
    const struct label *labels;
    size_t label_count;
    const struct conf_target *targets;
    size_t target_count;
    const struct exporter_settings *exporters;
    size_t exporter_count;
    bool any_owner;             /* no key: of all exporters, see exporters/settings.h */
    struct conf_origin *origin; /* owned: the memory of it all, and the line of each setting */
};

/* No ini text may be longer: 1 MiB holds every target of a host many times over. */
enum { CONF_TEXT_MAX = 1024 * 1024 };

/* What an option of the command line sets in [agent]. All borrowed. */
struct conf_flag {
    const char *name; /* as it was written: "--log-level" */
    const char *key;
    const char *value;
};

/*
 * Where settings come from; each source overrides those above it, and may go on with their
 * sections. All borrowed.
 */
struct conf_source {
    const char *path; /* the main file, a regular one; NULL: none */
    const char *text; /* what stands for the content of the file; NULL: it is read */
    size_t size;
    bool drop_ins;            /* and *.ini of the folder conf.d beside it, in the order of names */
    char *const *environment; /* "PYSTROBE_AGENT_RATE=49Hz" and others, up to NULL; may be NULL */
    const struct conf_flag *flags;
    size_t flag_count;
};

/*
 * Reads settings from all of `source`. The files together are at most CONF_TEXT_MAX long.
 *
 * A variable is PYSTROBE_SECTION_KEY, in capitals; for sections with a name
 * PYSTROBE_SECTION_NAME_KEY, where what is neither letter nor digit in NAME is "_"; a name
 * that no file has makes a new section, its name in small letters. Of a free key what is
 * after its prefix is taken in small letters, a header's "_" for "-", and env. as it is. A
 * variable whose section is not near any, and those that Kubernetes sets for a service, are
 * not ours.
 *
 * Gives:  *out, ended with conf_free; untouched on failure.
 * Errors: CONF_BAD: `errors` has one line per mistake, all of them up to 50:
 *         "FILE:LINE: [section] key: what is wrong; allowed: ...; did you mean ...?\n".
 *         Secrets are never repeated in them. CONF_NOMEM.
 */
MUST_CHECK enum conf_rc conf_load(const struct conf_source *source, struct conf **out,
                                  struct buf *errors);

/* True if both have an exporter of this name, and set the same for it, whoever set it. */
bool conf_same_exporter(const struct conf *a, const struct conf *b, const char *name);

/* True if both set the same for the spool. */
bool conf_same_spool(const struct conf *a, const struct conf *b);

/* Where [http] listens. */
struct conf_listen {
    bool is_path;     /* of a Unix socket, which is the text itself */
    bool is_loopback; /* the address is 127.0.0.0/8 or ::1 */
    char host[48];    /* an IP address, without brackets */
    uint16_t port;
};

/*
 * Reads `listen`: "7997", ":7997" and "localhost:7997" are 127.0.0.1:7997. Looks nothing up.
 *
 * Errors: CONF_BAD, `err` says what is wrong; *out is of no use then.
 */
MUST_CHECK enum conf_rc conf_listen(const char *text, struct conf_listen *out, struct err *err);

/* Reads pull or page of [http]: true for "on", false for "off", `otherwise` for NULL. */
bool conf_is_on(const char *setting, bool otherwise);

/* True if the main file has no section at all, like one that is just being written. */
bool conf_is_empty(const struct conf *conf);

/* Frees settings. NULL is fine. */
void conf_free(struct conf *conf);

/*
 * Appends every effective setting as ini text, each line with a comment that says
 * where it came from ("default", "[agent]", "FILE:LINE"). Secret values show as "***".
 */
void conf_print(const struct conf *conf, struct buf *out);

/* Appends the sample ini file: every section and key with help, range and default. */
void conf_print_sample(struct buf *out);

/* Appends the reference of all sections and keys in mdoc, for pystrobe.ini(5). */
void conf_print_mdoc(struct buf *out);

/* What ${NAME} stands for; NULL or "": nothing, its default is taken. */
typedef const char *conf_lookup(void *ctx, const char *name);

/* Writes a template of service or label.NAME with its ${...} replaced, cut at `size`. */
void conf_template_expand(const char *text, conf_lookup *lookup, void *ctx, char *out, size_t size);

/* True if `name` is among the names in `list`, which blanks separate; "PRE*" stands for all that
 * start so. */
MUST_CHECK bool conf_is_listed(const char *list, const char *name);

/* The nearest of the words that were tried so far. */
struct conf_nearest {
    const char *word;  /* borrowed: what was written */
    const char *best;  /* borrowed: NULL while none is near enough */
    unsigned distance; /* of best */
};

/* Tries one more word that would be right. Cost: the product of their lengths. */
void conf_nearest_try(struct conf_nearest *nearest, const char *candidate);

/*
 * Reads a value with its unit as the ini does, for command line options; ranges
 * are the caller's.
 *
 * Units:  durations ns us ms s m (or min) h d; rates Hz kHz in any case; sizes B kB KiB MB MiB GB
 *         GiB TB TiB. Up to three decimals: "1.5s". Durations and sizes may have several parts,
 *         the largest unit first: "1m30s".
 * Errors: CONF_BAD, `err` says what is allowed.
 */
MUST_CHECK enum conf_rc conf_duration(const char *text, uint64_t *out_ns, struct err *err);
MUST_CHECK enum conf_rc conf_rate(const char *text, double *out_hz, struct err *err);
MUST_CHECK enum conf_rc conf_size(const char *text, uint64_t *out_bytes, struct err *err);

/* Reads a percentage: "1.5%" is 0.015. */
MUST_CHECK enum conf_rc conf_share(const char *text, double *out, struct err *err);

#endif
