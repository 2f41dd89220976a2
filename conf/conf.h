/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder conf: knows ini files, drop-ins, variables and flags, and how they become one struct of
 * settings. Does not know what the settings are for: it opens no exporter and looks at no process.
 *
 * conf.h - turns ini text into settings, and says where each came from.
 *
 * Shape:   conf_load, use the struct, conf_free.
 * Threads: a loaded struct conf is read-only; any thread may read it.
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

/* Whether a label tells the samples of a service's processes or threads apart. CONF_SPLIT_UNSET
 * occurs only while settings are read. */
enum conf_split { CONF_SPLIT_UNSET, CONF_SPLIT_NONE, CONF_SPLIT_PROCESS, CONF_SPLIT_THREAD };

/* All strings are owned by the struct conf; NULL: not set. */
struct conf_agent {
    double rate_hz;           /* samples a second of each target */
    uint64_t interval_ns;     /* length of the time that one profile covers */
    uint64_t stop_timeout_ns; /* time that exporters get to deliver when pystrobe ends */
    uint64_t scan_ns;         /* time between two searches of /proc for targets */
    double max_cpu;           /* share of one core that pystrobe may use; 0: no limit */
    uint64_t max_memory;      /* bytes that pystrobe may use */
    const char *log_level;    /* "error", "warning", "info", "debug" */
    const char *log_format;   /* "text", "json" */
    const char *spool;        /* a directory, or "off"; NULL: the command decides */
    uint64_t spool_max_size_bytes;
    uint64_t spool_max_age_ns;
    uint64_t spool_min_free_bytes; /* disk space that the spool leaves free */
    const char *control;           /* path of the control socket */
    const char *env_allow;         /* variables of targets that may be read: see conf_is_listed */
    const char *auto_labels;       /* labels that a service gets automatically, likewise */
    size_t max_services;           /* services with a profile of their own in an interval */
    size_t max_split;              /* processes or threads told apart in a profile */
};

struct conf_http {
    const char *listen; /* address, as conf_listen reads it; NULL: no HTTP server */
    const char *pull;   /* "on", "off"; NULL: on for a loopback address or a Unix socket */
    const char *page;   /* "on", "off"; NULL: as pull */
    double max_cpu;     /* share of one core that answers may use; 0: no limit */
};

/* Conditions on a process. A regular expression is POSIX extended and matches any part. */
struct conf_conditions {
    const char *cmdline;      /* regular expression: its command line */
    const char *exe;          /* glob: path of its executable */
    const char *user;         /* name or number of its user */
    const char *cgroup;       /* glob: path of its cgroup */
    const char *container;    /* glob: id or name of its container */
    const char *systemd_unit; /* glob: name of its systemd unit */
    const char *parent;       /* regular expression: command line of an ancestor */
    const struct label *env;  /* names of variables, regular expressions for their values */
    size_t env_count;
};

struct conf_target {
    const char *name;
    struct conf_conditions when;   /* all that are set must hold */
    struct conf_conditions unless; /* and none of these */
    const char *service;           /* template of the service's name */
    const struct label *labels;    /* names of labels, templates of their values */
    size_t label_count;
    double rate_hz;         /* if not set: that of [agent] */
    enum conf_split split;  /* if not set: by process if only the page shows it, else none */
    uint64_t hang_after_ns; /* a process that hangs for this long is reported; 0: none is */
};

struct conf_origin; /* private: settings.h */

struct conf {
    struct conf_agent agent;
    struct conf_http http;
    const struct label *labels; /* of [labels]: go on every profile */
    size_t label_count;
    const struct conf_target *targets;
    size_t target_count;
    const struct exporter_settings *exporters;
    size_t exporter_count;
    bool any_owner;             /* no key, set by a command: any_owner of all exporters */
    struct conf_origin *origin; /* owned: all memory of the settings, and where each was set */
};

/* Limit for all ini texts together, in bytes: a host's targets need a small part of it. */
enum { CONF_TEXT_MAX = 1024 * 1024 };

/* A key of [agent] that an option of the command line sets. All borrowed. */
struct conf_flag {
    const char *name;  /* option as it was written, for messages: "--log-level" */
    const char *key;   /* "log_level" */
    const char *value; /* as in the ini */
};

/*
 * Sources of settings. A later member overrides the earlier ones and may continue their sections.
 * All borrowed.
 */
struct conf_source {
    const char *path;         /* the main file, a regular one; NULL: none */
    const char *text;         /* used in place of the file's content; NULL: the file is read */
    size_t size;              /* bytes of `text` */
    bool drop_ins;            /* read *.ini of the folder conf.d beside `path`, sorted by name */
    char *const *environment; /* "PYSTROBE_AGENT_RATE=49Hz" and others, up to NULL; may be NULL */
    const struct conf_flag *flags;
    size_t flag_count;
};

/*
 * Reads settings from all of `source`.
 *
 * A variable is named PYSTROBE_SECTION_KEY, in capitals, or PYSTROBE_SECTION_NAME_KEY if the
 * section has a name. In NAME "_" stands for each character that is no letter or digit; if no
 * section has this NAME, the variable makes one, its name in lower case. The text after the prefix
 * of a free key becomes lower case. After header., header_file., header_env. and header_credential.
 * "_" also becomes "-"; after env. and exclude_env. nothing changes.
 * Variables are ignored whose section resembles none, or that Kubernetes sets for a service.
 *
 * Gives:  *out, which the caller ends with conf_free; untouched on failure.
 * Errors: CONF_BAD: `errors` has a line for each mistake, for up to CONF_ERRORS_MAX of them:
 *         "FILE:LINE: [section] key: what is wrong; allowed: ...; did you mean ...?\n".
 *         Secrets are never repeated there. CONF_NOMEM.
 */
MUST_CHECK enum conf_rc conf_load(const struct conf_source *source, struct conf **out,
                                  struct buf *errors);

/* True if both have an exporter of this name with the same settings, from whichever source. */
bool conf_same_exporter(const struct conf *a, const struct conf *b, const char *name);

/* True if the keys of [agent] that begin with "spool" have the same values in both. */
bool conf_same_spool(const struct conf *a, const struct conf *b);

/* An address to listen on: the value of `listen` in [http], parsed. */
struct conf_listen {
    bool is_path;     /* the text is the path of a Unix socket; all else is 0 then */
    bool is_loopback; /* the address is in 127.0.0.0/8, or ::1 */
    char host[48];    /* an IP address, without brackets */
    uint16_t port;
};

/*
 * Parses `listen`: "7997", ":7997" and "localhost:7997" are 127.0.0.1:7997. Resolves no names.
 *
 * Errors: CONF_BAD, `err` says what is wrong; *out is invalid then.
 */
MUST_CHECK enum conf_rc conf_listen(const char *text, struct conf_listen *out, struct err *err);

/* Gives the meaning of `pull` or `page`: true for "on", false for "off", `otherwise` for NULL. */
bool conf_is_on(const char *setting, bool otherwise);

/* True if the main file has no section: perhaps an editor is just writing it. */
bool conf_is_empty(const struct conf *conf);

/* Frees settings. NULL is fine. */
void conf_free(struct conf *conf);

/*
 * Appends every effective setting as ini text, each with a comment that tells its source
 * ("default", "[agent]", "FILE:LINE"). A secret value is shown as "***".
 */
void conf_print(const struct conf *conf, struct buf *out);

/* Appends the sample ini file: every section and key with help, range and default. */
void conf_print_sample(struct buf *out);

/* Gives the value of ${NAME}. NULL or "": none; the template's default is taken. */
typedef const char *conf_lookup(void *ctx, const char *name);

/* Writes a template (service, label.NAME) with its ${...} replaced, cut at `size` - 1 bytes. */
void conf_template_expand(const char *text, conf_lookup *lookup, void *ctx, char *out, size_t size);

/* True if `name` is in `list`, names separated by blanks; "PRE*" stands for each name that begins
 * with "PRE". */
MUST_CHECK bool conf_is_listed(const char *list, const char *name);

/*
 * Checks the base URL of a server: http:// or https://, a host, and perhaps a port and a path.
 *
 * Errors: CONF_BAD, `err` says what is wrong, without the URL, which may contain a password.
 */
MUST_CHECK enum conf_rc conf_url_check(const char *text, struct err *err);

/* Search for the word that a user may have meant. Set `word`, and zero the rest. */
struct conf_nearest {
    const char *word;  /* borrowed: the word as it was written */
    const char *best;  /* borrowed: nearest candidate so far; NULL: none is near enough */
    unsigned distance; /* edits between `word` and `best` */
};

/* Compares `word` with one more candidate. Ignores words over 32 bytes. */
void conf_nearest_try(struct conf_nearest *nearest, const char *candidate);

/*
 * Parses a value with its unit, as in the ini; the caller checks its range.
 *
 * Units:  durations ns us ms s m (or min) h d; rates Hz kHz in any case; sizes B kB KiB MB MiB GB
 *         GiB TB TiB. Up to three decimals: "1.5s". Durations and sizes may have several parts,
 *         the largest unit first: "1m30s".
 * Errors: CONF_BAD, `err` says what is allowed.
 */
MUST_CHECK enum conf_rc conf_duration(const char *text, uint64_t *out_ns, struct err *err);
MUST_CHECK enum conf_rc conf_rate(const char *text, double *out_hz, struct err *err);
MUST_CHECK enum conf_rc conf_size(const char *text, uint64_t *out_bytes, struct err *err);

/* Parses a percentage: "1.5%" is 0.015. Errors: as above. */
MUST_CHECK enum conf_rc conf_share(const char *text, double *out, struct err *err);

#endif
