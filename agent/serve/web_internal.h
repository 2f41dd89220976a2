/* SPDX-License-Identifier: Apache-2.0 */
/* web_internal.h - shared by the HTTP server's files: requests, answers, and their handlers. */
#ifndef AGENT_SERVE_WEB_INTERNAL_H
#define AGENT_SERVE_WEB_INTERNAL_H

#include <pthread.h>

#include "agent/serve/microhttpd_api.h"
#include "agent/serve/web.h"
#include "agent/serve/web_budget.h"

enum {
    WEB_TEXT_MAX = 1 << 20,    /* bytes of the dump of one process */
    WEB_BODY_MAX = 16 << 20,   /* bytes of one answer */
    WEB_HELD_MAX = 32 << 20,   /* bytes of all answers that are not read yet: see web_send.c */
    WEB_SMALL_MAX = 256 << 10, /* answers of up to so many bytes do not count in WEB_HELD_MAX */
    WEB_DEAR_MAX = 4           /* answers that start processes, at a time */
};

/* The local store, for all requests; its path changes with the settings. */
struct web_store {
    pthread_mutex_t lock;
    char *path;       /* owned; NULL: there is none */
    unsigned readers; /* requests that read it now, each with a process */
};

/* Cached text of /metrics. */
struct web_metrics {
    pthread_mutex_t lock;
    struct buf text;   /* owned */
    uint64_t taken_ns; /* taken_mono_ns of the state that `text` was made from; 0: no text */
};

/* One request, and what its handler may use. All borrowed. */
struct web_request {
    const struct web_sources *sources;
    struct MHD_Connection *connection;
    atomic_bool *stop; /* true: the server ends; a handler that waits must stop */
    struct web_store *store;
    struct web_metrics *metrics;
    struct web_cpu *cpu;
};

struct web_answer {
    unsigned status;      /* HTTP status; 200 at first */
    const char *type;     /* static: Content-Type; web_text_plain at first */
    const char *name;     /* static: file name for saving; NULL: the browser shows the answer */
    const char *encoding; /* static: Content-Encoding; NULL: none */
    bool no_body;         /* answer to HEAD */
    unsigned retry_s;     /* Retry-After, seconds; 0: none, but 1 with status 503 */
    size_t held_bytes;    /* taken with asked_use_take_memory for this answer */
    struct buf body;      /* owned until web_send */
};

extern const char web_text_plain[]; /* the content type of plain text */

/* The value of argument `name` in the URL; "": it has none; NULL: no such argument. Lends until the
 * request ends. */
const char *web_argument(const struct web_request *request, const char *name);

/* Makes the answer an error: `status`, and a text with a newline, escaped. */
void web_refuse(struct web_answer *answer, unsigned status, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Tells that making the answer may take so long: the connection does not time out before. */
void web_takes(const struct web_request *request, unsigned seconds);

/* CPU time of all answers, with that of the processes started for them that have ended. */
uint64_t web_used_ns(void);

/* In how many seconds there is CPU time for an answer that starts processes; 0: now. */
unsigned web_wait_s(const struct web_request *request);

/* Queues the answer and takes over its body. Sets answer->held_bytes to the bytes that the caller
 * gives back with asked_use_return_memory once the client has read it. Gives: MHD_NO: no memory. */
MUST_CHECK enum MHD_Result web_send(struct MHD_Connection *connection, struct web_answer *answer);

/* Sets *usual to the number in argument `name`; without that argument it stays. False: it is no
 * number from `min` to `max`; web_refuse was called. */
MUST_CHECK bool web_number(const struct web_request *request, struct web_answer *answer,
                           const char *name, long min, long max, long *usual);

/* Copies argument `target` or `pid` to `out`; "" without both. False: web_refuse was called. */
MUST_CHECK bool web_target(const struct web_request *request, struct web_answer *answer,
                           char out[CONTROL_TARGET_MAX]);

/* Makes a profile as `pull` asks. Gives: *out, whose profile is the caller's. False: web_refuse was
 * called. */
MUST_CHECK bool web_pull(const struct web_request *request, const struct on_demand_request *pull,
                         struct web_answer *answer, struct on_demand_answer *out);

/* /debug/pprof/, /debug/pprof/profile, /debug/stacks. */
void web_pull_index(const struct web_request *request, struct web_answer *answer);
void web_pull_profile(const struct web_request *request, struct web_answer *answer);
void web_pull_stacks(const struct web_request *request, struct web_answer *answer);

/* /, /help, /page.css, /page.js. */
void web_page(const struct web_request *request, struct web_answer *answer);
void web_page_help(const struct web_request *request, struct web_answer *answer);
void web_page_style(const struct web_request *request, struct web_answer *answer);
void web_page_script(const struct web_request *request, struct web_answer *answer);

/* /api/...: data for the page, as JSON or (profile) as a pprof file; pystrobe(8) describes each. */
void web_api_state(const struct web_request *request, struct web_answer *answer);
void web_api_services(const struct web_request *request, struct web_answer *answer);
void web_api_timeline(const struct web_request *request, struct web_answer *answer);
void web_api_graph(const struct web_request *request, struct web_answer *answer);
void web_api_profile(const struct web_request *request, struct web_answer *answer);
void web_api_threads(const struct web_request *request, struct web_answer *answer);
void web_api_sample(const struct web_request *request, struct web_answer *answer);

#endif
