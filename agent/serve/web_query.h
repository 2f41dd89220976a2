/* SPDX-License-Identifier: Apache-2.0 */
/* web_query.h - reads what the page asks for out of the words of an address. */
#ifndef AGENT_SERVE_WEB_QUERY_H
#define AGENT_SERVE_WEB_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "exporters/store_name.h"

enum { WEB_TYPE_SIZE = 64, WEB_LABEL_SIZE = 320, WEB_NUMBER_SIZE = 24, WEB_ARGV_MAX = 13 };

/* From, and up to; UTC in milliseconds. */
struct web_range {
    int64_t from_ms, to_ms;
};

struct web_query {
    char service[STORE_SERVICE_SIZE]; /* a folder of the store */
    char type[WEB_TYPE_SIZE];         /* the value; "": none is named */
    struct web_range range;
    struct web_range before;    /* what to compare with */
    char label[WEB_LABEL_SIZE]; /* KEY=TEXT: with this label alone; "": all */
    bool compares;              /* there is such a range */
    int64_t pid;                /* of this process alone; 0: all of the service */
};

/* The words of an address: gives the value of one, NULL if it is not there. */
struct web_words {
    const char *(*get)(const void *ctx, const char *name);
    const void *ctx;
};

/*
 * Reads `service`, `pid`, `label`, `from`, `to`, `type`, `before_from` and `before_to`. False:
 * `err` says which one is wrong; *out may be filled in in part.
 */
MUST_CHECK bool web_query_read(const struct web_words *words, struct web_query *out,
                               struct err *err);

/* A command line of `pystrobe browse`. */
struct web_command {
    char *argv[WEB_ARGV_MAX];
    char numbers[5][WEB_NUMBER_SIZE];
};

/* Makes one for a store of `what` the query asks for. Lends all of them while they live. */
void web_query_command(const char *store, const char *what, const struct web_query *query,
                       struct web_command *out);

#endif
