/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder exporters: knows how bytes reach a folder or a server, and what the answers mean. Does
 * not know samples, intervals and queues: the caller queues and retries.
 *
 * exporter.h - delivers batches of profiles to a directory or a server.
 *
 * Shape:   exporter_open once per [exporter] section; exporter_start for each batch, up to
 *          exporter_in_flight_max at a time, and exporter_wait for their results; or
 *          exporter_send, which does both; exporter_close. A batch is tried once: queues, retries
 *          and threads are the caller's.
 * Threads: an exporter belongs to one thread at a time; exporter_wake, exporter_reconnect and
 *          exporter_cancel may be called from any thread.
 */
#ifndef EXPORTERS_EXPORTER_H
#define EXPORTERS_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/label.h"
#include "base/time_units.h"
#include "exporters/batch.h"
#include "exporters/settings.h"

enum exporter_rc {
    EXPORTER_OK,         /* taken */
    EXPORTER_RETRY,      /* not taken now, may be taken later */
    EXPORTER_REFUSED,    /* refused for good */
    EXPORTER_BAD_CONFIG, /* the settings cannot work */
    EXPORTER_NOMEM       /* out of memory */
};

struct exporter; /* private */

#define EXPORTER_RETRY_AFTER_MAX_NS (3600 * NS_PER_S)

enum { EXPORTER_IN_FLIGHT_DEFAULT = 4, EXPORTER_IN_FLIGHT_MAX = 16 };

/* Details of the outcome of one try. */
struct exporter_answer {
    struct err err;          /* why it was not taken; "" with EXPORTER_OK */
    uint64_t retry_after_ns; /* pause that the server asked for, at most an hour; 0: none */
    bool denied;             /* a user has to mend it: 401, 403, 407, or another kind of server */
    long status;             /* HTTP status of the answer; 0: no answer, or there is no server */
    bool unsent;             /* no server was reached: it says nothing about this batch */
    struct err note;         /* text to log, whatever the outcome; usually "" */
    uint64_t dropped;        /* profiles that the server rejected although it took the batch */
    struct batch_set failed; /* the profiles that the outcome is about; all others were taken */
    size_t failed_count;     /* number of these profiles; 0: the outcome is about all */
};

/* The end of a try. */
struct exporter_result {
    void *ctx; /* as exporter_start was given it */
    enum exporter_rc rc;
    struct exporter_answer answer;
};

/* The steps of a request: resolve the name, connect, TLS handshake, wait for the answer. */
enum exporter_step {
    EXPORTER_STEP_NAME,
    EXPORTER_STEP_CONNECTION,
    EXPORTER_STEP_TLS,
    EXPORTER_STEP_ANSWER
};

/* Result of a request with an empty profile. Times count from its start; 0: not reached. */
struct exporter_probe {
    enum exporter_step step; /* last step; if `status` is 0, it failed there */
    bool secure;             /* the URL is https:// */
    uint64_t resolved_ns, connected_ns, answered_ns;
    uint64_t secured_ns; /* end of the TLS handshake */
    long status;         /* HTTP status of the answer; 0: no answer */
    int64_t date_ns;     /* the server's clock, UTC, whole seconds; 0: it sent no Date */
    enum exporter_rc rc;
    struct err err; /* why it was not taken; "" with EXPORTER_OK */
};

/*
 * Loads libcurl and sets it up: once per process, before threads start. exporter_global_finish
 * undoes the setup.
 *
 * Errors: EXPORTER_BAD_CONFIG: libcurl is missing; EXPORTER_NOMEM. `err` says why.
 */
MUST_CHECK enum exporter_rc exporter_global_init(struct err *err);
void exporter_global_finish(void);

/* Loads libcurl. Gives its version and those of its libraries, or "no libcurl"; static. */
const char *exporter_curl_version(void);

/*
 * Copies a secret into memory that is in no core file.
 *
 * Gives: the copy, which the caller ends with exporter_forget; NULL: out of memory.
 */
char *exporter_hide(const char *secret);

/* Wipes and frees such a copy. NULL is fine. */
void exporter_forget(char *secret);

/* True if an exporter of these settings can send this header. */
bool exporter_takes_header(const struct exporter_settings *settings, const struct label *header);

/*
 * Makes an exporter from its settings, whose type is not NULL.
 *
 * Gives:  *out, which the caller ends with exporter_close; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG: the settings cannot work; EXPORTER_RETRY: a directory or a file that
 *         they name is missing or unfit; EXPORTER_NOMEM. `err` says which, and what to do. With
 *         settings->may_wait a missing or unfit one gives EXPORTER_OK and a text in `err`; without
 *         such a problem `err` is "".
 */
MUST_CHECK enum exporter_rc exporter_open(const struct exporter_settings *settings,
                                          struct exporter **out, struct err *err);

/* The form of the batches that it takes. */
enum exporter_form exporter_form(const struct exporter *exporter);

/* How many batches may be started and not ended at a time: 1 if there is no server. */
size_t exporter_in_flight_max(const struct exporter *exporter);

/* Upper limit of the profiles in a batch for it. */
size_t exporter_profiles_max(const struct exporter *exporter);

/*
 * Begins to deliver a batch, which is borrowed until exporter_wait has given its result with this
 * `ctx`. If there is no server, it writes the batch at once. `now_ns`: UTC.
 */
void exporter_start(struct exporter *exporter, const struct batch *batch, int64_t now_ns,
                    void *ctx);

/*
 * Waits until a batch has ended, but for at most `timeout_ms`.
 *
 * Gives:  *out. Its rc is EXPORTER_OK, EXPORTER_RETRY, EXPORTER_REFUSED or EXPORTER_NOMEM;
 *         answer.err has the cause, the server's words (cut, control characters escaped) or both.
 * Errors: false: none has ended yet. May come before the time is over: after exporter_wake, after
 *         any network activity, or at once if there is no server.
 * Cost:   a request ends within the exporter's timeout.
 */
MUST_CHECK bool exporter_wait(struct exporter *exporter, unsigned timeout_ms,
                              struct exporter_result *out);

/* Makes the exporter_wait in progress return, or else the next one. */
void exporter_wake(struct exporter *exporter);

/* Makes batches that are started from now on use new connections to the server, if there is one. */
void exporter_reconnect(struct exporter *exporter);

/*
 * Tries once to deliver a batch and waits until it has ended. No other may be in progress.
 *
 * Gives: *answer, set whatever the outcome; `answer` may be NULL.
 */
MUST_CHECK enum exporter_rc exporter_send(struct exporter *exporter, const struct batch *batch,
                                          int64_t now_ns, struct exporter_answer *answer);

/*
 * Tests the server with a profile without samples, which servers accept and do not store.
 *
 * Gives:  true and *out, whatever the outcome; false: there is no server, or no free request.
 * Cost:   waits for one request.
 */
bool exporter_probe(struct exporter *exporter, int64_t now_ns, struct exporter_probe *out);

/*
 * Makes all batches in progress, and all that are started later, end at once with EXPORTER_RETRY,
 * except those that a server has answered.
 */
void exporter_cancel(struct exporter *exporter);

/* Closes and frees an exporter. NULL is fine. */
void exporter_close(struct exporter *exporter);

#endif
