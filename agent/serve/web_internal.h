/* SPDX-License-Identifier: Apache-2.0 */
/* web_internal.h - what the HTTP server's files share: requests, answers, and who makes them. */
#ifndef AGENT_SERVE_WEB_INTERNAL_H
#define AGENT_SERVE_WEB_INTERNAL_H

#include <pthread.h>

#include "agent/serve/microhttpd_api.h"
#include "agent/serve/web.h"
#include "agent/serve/web_budget.h"

enum {
    WEB_TEXT_MAX = 1 << 20,
    WEB_BODY_MAX = 16 << 20, /* of one answer */
    WEB_HELD_MAX = 32 << 20, /* of all answers that are not read yet: see web_send.c */
    WEB_SMALL_MAX = 256 << 10,
    WEB_DEAR_MAX = 4 /* answers that start processes, at a time */
};

/* The local store, for all requests; its path changes with the settings. */
struct web_store {
    pthread_mutex_t lock;
    char *path;       /* owned; NULL: there is none */
    unsigned readers; /* processes that read it now */
};

/* The text of /metrics that was made last. */
struct web_metrics {
    pthread_mutex_t lock;
    struct buf text;
    uint64_t taken_ns; /* of the state that it was made from; 0: there is none */
};

/* What can be asked for. All borrowed. */
struct web_request {
    const struct web_sources *sources;
    struct MHD_Connection *connection;
    atomic_bool *stop; /* whoever waits is to look at it */
    struct web_store *store;
    struct web_metrics *metrics;
    struct web_cpu *cpu;
};

struct web_answer {
    unsigned status;      /* 200 at first */
    const char *type;     /* static: of the content; text at first */
    const char *name;     /* static: to be saved as; NULL: to be shown */
    const char *encoding; /* static: of the content; NULL: none */
    bool no_body;         /* of HEAD */
    unsigned retry_s;     /* when to ask again; 0: nothing is said of it */
    size_t held_bytes;    /* counted by asked_use_take_memory */
    struct buf body;
};

extern const char web_text_plain[]; /* the content type of plain text */

/* The value of `name` in the address; NULL: it is not there. Lends it while the request lives. */
const char *web_argument(const struct web_request *request, const char *name);

/* The answer is a text that says what is wrong, and a newline. */
void web_refuse(struct web_answer *answer, unsigned status, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* The answer may take so long: the connection does not end before. */
void web_takes(const struct web_request *request, unsigned seconds);

/* CPU time of all answers, with that of the processes started for them that have ended. */
uint64_t web_used_ns(void);

/* In how many seconds there is CPU time for an answer that starts processes; 0: now. */
unsigned web_wait_s(const struct web_request *request);

/* Sends the answer and takes over its body; answer->held_bytes is what it holds until it has been
 * read. */
MUST_CHECK enum MHD_Result web_send(struct MHD_Connection *connection, struct web_answer *answer);

/* A number of the address from `min` to `max`; `usual` if there is none. False: the answer says
 * what is wrong. */
MUST_CHECK bool web_number(const struct web_request *request, struct web_answer *answer,
                           const char *name, long min, long max, long *usual);

/* Whom it is about: `target` or `pid` of the address, "" for all. False: see the answer. */
MUST_CHECK bool web_target(const struct web_request *request, struct web_answer *answer,
                           char out[CONTROL_TARGET_MAX]);

/* Pulls a profile of `target` for `seconds`. False: see the answer. Gives: *out, whose profile is
 * the caller's. */
MUST_CHECK bool web_pull(const struct web_request *request, const struct on_demand_request *pull,
                         struct web_answer *answer, struct on_demand_answer *out);

/* /debug/pprof/, /debug/pprof/profile, /debug/stacks. */
void web_pull_index(const struct web_request *request, struct web_answer *answer);
void web_pull_profile(const struct web_request *request, struct web_answer *answer);
void web_pull_stacks(const struct web_request *request, struct web_answer *answer);

/* The page and what belongs to it. */
void web_page(const struct web_request *request, struct web_answer *answer);
void web_page_help(const struct web_request *request, struct web_answer *answer);
void web_page_style(const struct web_request *request, struct web_answer *answer);
void web_page_script(const struct web_request *request, struct web_answer *answer);

/* What it shows, as JSON, and as a pprof file: pystrobe(8) describes each. */
void web_api_state(const struct web_request *request, struct web_answer *answer);
void web_api_services(const struct web_request *request, struct web_answer *answer);
void web_api_timeline(const struct web_request *request, struct web_answer *answer);
void web_api_graph(const struct web_request *request, struct web_answer *answer);
void web_api_profile(const struct web_request *request, struct web_answer *answer);
void web_api_threads(const struct web_request *request, struct web_answer *answer);
void web_api_sample(const struct web_request *request, struct web_answer *answer);

#endif
