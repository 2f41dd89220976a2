/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder exporters: knows how bytes reach a folder or a server, and what the answers mean. Does
 * not know samples, intervals and queues: whoever calls it keeps and repeats.
 *
 * exporter.h - brings the bytes of a profile to where they are kept.
 *
 * Shape:   exporter_open once per [exporter] section, exporter_send for each
 *          profile, exporter_close. A send is one try: queues, retries and
 *          threads are the caller's.
 * Threads: an exporter belongs to one thread at a time; exporter_cancel may be
 *          called from any thread. exporter_global_init once, before threads.
 */
#ifndef EXPORTERS_EXPORTER_H
#define EXPORTERS_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/label.h"
#include "base/time_units.h"
#include "exporters/settings.h"

/* Every outcome: enum name, metric label, text. */
#define EXPORTER_OUTCOMES(X)                                \
    X(OK, "ok", "taken")                                    \
    X(RETRY, "retry", "not taken now, may be taken later")  \
    X(REFUSED, "refused", "refused for good")               \
    X(BAD_CONFIG, "bad_config", "the settings cannot work") \
    X(NOMEM, "nomem", "out of memory")

enum exporter_rc {
#define EXPORTER_ENUM(name, label, text) EXPORTER_##name,
    EXPORTER_OUTCOMES(EXPORTER_ENUM)
#undef EXPORTER_ENUM
};

/* One profile to deliver. Everything is borrowed during the call. */
struct exporter_profile {
    const char *service;
    const char *type; /* "cpu", "wall", "gil"; NULL: all types in one */
    const struct label *labels;
    size_t label_count;
    int64_t start_ns, end_ns; /* UTC */
    const void *bytes;        /* gzip'd: a pprof, or what the form says */
    size_t size;
};

struct exporter; /* private */

#define EXPORTER_RETRY_AFTER_MAX_NS (3600 * NS_PER_S)

/* What became of one try. */
struct exporter_answer {
    struct err err;          /* why it was not taken; "" with EXPORTER_OK */
    uint64_t retry_after_ns; /* the server asked for this pause, at most an hour; 0: for none */
    bool denied;             /* 401 or 403: waits for another secret, which may well come */
    long status;             /* of the server's answer; 0: it gave none, or there is no server */
    bool unsent;             /* no server was reached: it says nothing about this profile */
    struct err note;         /* something to be logged, whatever the outcome; "" as a rule */
    uint64_t dropped;        /* samples or profiles that the server rejected of what it took */
};

/* The steps of a request. */
enum exporter_step {
    EXPORTER_STEP_NAME,
    EXPORTER_STEP_CONNECTION,
    EXPORTER_STEP_TLS,
    EXPORTER_STEP_ANSWER
};

/* How far a request without a profile came. */
struct exporter_probe {
    enum exporter_step step; /* the last one: where it failed, without a status */
    bool secure;             /* by TLS */
    uint64_t resolved_ns, connected_ns, answered_ns; /* since its start; 0: not reached */
    uint64_t secured_ns;
    long status;     /* of the answer; 0: there was none */
    int64_t date_ns; /* the server's clock, UTC, as of a second; 0: it did not say */
    struct err err;  /* why there was no answer */
};

/*
 * Loads libcurl and sets it up: once per process, before threads start; the pair of
 * exporter_global_finish.
 *
 * Errors: EXPORTER_BAD_CONFIG: libcurl is missing; EXPORTER_NOMEM. `err` says why.
 */
MUST_CHECK enum exporter_rc exporter_global_init(struct err *err);
void exporter_global_finish(void);

/* libcurl's version and those of its libraries; "no libcurl". Loads it. Static. */
const char *exporter_curl_version(void);

/*
 * Copies a secret into memory that is in no core file.
 *
 * Gives: the copy, ended with exporter_forget; NULL: no memory.
 */
char *exporter_hide(const char *secret);

/* Wipes and frees such a copy. NULL is fine. */
void exporter_forget(char *secret);

/*
 * Makes an exporter from its settings, whose type is not NULL.
 *
 * Gives:  *out, which the caller ends with exporter_close; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG (`err` says what and what to do), EXPORTER_NOMEM.
 */
MUST_CHECK enum exporter_rc exporter_open(const struct exporter_settings *settings,
                                          struct exporter **out, struct err *err);

/* What it wants to be given. */
enum exporter_form exporter_form(const struct exporter *exporter);

/*
 * Tries once to deliver a profile.
 *
 * Gives:  *answer, set anew whatever the outcome; NULL is fine.
 * Errors: EXPORTER_RETRY, EXPORTER_REFUSED; answer->err has the cause, the server's
 *         words (capped, control characters escaped) or both.
 * Cost:   blocks until done, the exporter's timeout, or exporter_cancel.
 */
MUST_CHECK enum exporter_rc exporter_send(struct exporter *exporter,
                                          const struct exporter_profile *profile, int64_t now_ns,
                                          struct exporter_answer *answer);

/*
 * Tries a server: a request with all that a send has but a profile.
 *
 * Gives:  false: it sends to no server.
 * Cost:   as exporter_send.
 */
bool exporter_probe(struct exporter *exporter, int64_t now_ns, struct exporter_probe *out);

/* Makes a send that is under way, and all later ones, end at once with EXPORTER_RETRY. */
void exporter_cancel(struct exporter *exporter);

/* Ends an exporter. NULL is fine. */
void exporter_close(struct exporter *exporter);

/* The metric label of an outcome, e.g. "refused". Never NULL. */
const char *exporter_rc_label(enum exporter_rc rc);

#endif
