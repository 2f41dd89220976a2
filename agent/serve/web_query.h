/* SPDX-License-Identifier: Apache-2.0 */
/* web_query.h - parses the query parameters of a URL of the web page, and makes the command line of
 * `pystrobe browse` that answers it. */
#ifndef AGENT_SERVE_WEB_QUERY_H
#define AGENT_SERVE_WEB_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "exporters/store_name.h"

/* Bytes of the arrays below, with the final 0 byte. WEB_ARGV_MAX: entries, with the final NULL. */
enum { WEB_TYPE_SIZE = 64, WEB_LABEL_SIZE = 320, WEB_NUMBER_SIZE = 24, WEB_ARGV_MAX = 13 };

/* Profiles that start at `from_ms` or later, and before `to_ms`: UTC, milliseconds since 1970. */
struct web_range {
    int64_t from_ms, to_ms;
};

struct web_query {
    char service[STORE_SERVICE_SIZE]; /* its folder in the store */
    char type[WEB_TYPE_SIZE];         /* value type, such as "cpu"; "": not given */
    struct web_range range;
    struct web_range before;    /* range to compare with; all 0 unless `compares` */
    char label[WEB_LABEL_SIZE]; /* KEY=TEXT: only samples with this label; "": all */
    bool compares;              /* before_from and before_to were given */
    int64_t pid;                /* only samples of this process; 0: of all */
};

/* Parameters of a URL. `get` gives a decoded value, lent until its next call; NULL: absent. */
struct web_words {
    const char *(*get)(const void *ctx, const char *name);
    const void *ctx;
};

/*
 * Reads the parameters. Required: service, from, to. Optional: pid, label, type, and before_from
 * together with before_to, in ms as struct web_range. Each `from` must be less than its `to`.
 *
 * Errors: false; `err` names the parameter and the reason. *out may be set in part.
 */
MUST_CHECK bool web_query_read(const struct web_words *words, struct web_query *out,
                               struct err *err);

/* Command line "pystrobe browse ...". Do not copy it: `argv` (NULL at the end) points into it. */
struct web_command {
    char *argv[WEB_ARGV_MAX];
    char numbers[5][WEB_NUMBER_SIZE];
};

/* Makes the command line for the store in directory `store`. `what` must be "difference" if
 * query->compares (the type "" then means "cpu"), else "graph", "profile" or "timeline". For
 * "timeline", query->type must be "". *out borrows all arguments. */
void web_query_command(const char *store, const char *what, const struct web_query *query,
                       struct web_command *out);

#endif
