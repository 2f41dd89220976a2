/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder exporters: knows how bytes reach a folder or a server, and what the answers mean. Does
 * not know samples, intervals and queues: whoever calls it keeps and repeats.
 *
 * exporter.h - brings batches of profiles to where they are kept.
 *
 * Shape:   exporter_open once per [exporter] section; exporter_start for each batch, up to
 *          exporter_in_flight_max at a time, and exporter_wait for what became of them; or
 *          exporter_send, which does both; exporter_close. A batch is tried once: queues, retries
 *          and threads are the caller's.
 * Threads: an exporter belongs to one thread at a time; exporter_wake, exporter_reconnect and
 *          exporter_cancel may be called from any thread. exporter_global_init comes once, before
 *          any thread is started.
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

struct exporter; /* private */

#define EXPORTER_RETRY_AFTER_MAX_NS (3600 * NS_PER_S)

enum { EXPORTER_IN_FLIGHT_DEFAULT = 4, EXPORTER_IN_FLIGHT_MAX = 16 };

/* What became of one try. */
struct exporter_answer {
    struct err err;          /* why it was not taken; "" with EXPORTER_OK */
    uint64_t retry_after_ns; /* the server asked for this pause, at most an hour; 0: for none */
    bool denied;             /* for want of a secret (401, 403), or of a server: waits for a cure */
    long status;             /* of the server's answer; 0: it gave none, or there is no server */
    bool unsent;             /* no server was reached: it says nothing about this batch */
    struct err note;         /* something to be logged, whatever the outcome; "" as a rule */
    uint64_t dropped;        /* samples or profiles that the server rejected of what it took */
    struct batch_set failed; /* the profiles that the outcome is about; all others were taken */
    size_t failed_count;     /* of those; 0: it is about all */
};

/* The end of a try. */
struct exporter_result {
    void *ctx; /* as exporter_start was given it */
    enum exporter_rc rc;
    struct exporter_answer answer;
};

/* The steps of a request. */
enum exporter_step {
    EXPORTER_STEP_NAME,
    EXPORTER_STEP_CONNECTION,
    EXPORTER_STEP_TLS,
    EXPORTER_STEP_ANSWER
};

/* How far a request with an empty profile came. */
struct exporter_probe {
    enum exporter_step step; /* the last one: where it failed, without a status */
    bool secure;             /* by TLS */
    uint64_t resolved_ns, connected_ns, answered_ns; /* since its start; 0: not reached */
    uint64_t secured_ns;
    long status;     /* of the answer; 0: there was none */
    int64_t date_ns; /* the server's clock, UTC, as of a second; 0: it did not say */
    enum exporter_rc rc;
    struct err err; /* why it was not taken; "" with EXPORTER_OK */
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

/* True if an exporter of these settings can send this header. */
bool exporter_takes_header(const struct exporter_settings *settings, const struct label *header);

/*
 * Makes an exporter from its settings, whose type is not NULL.
 *
 * Gives:  *out, which the caller ends with exporter_close; untouched on failure.
 * Errors: EXPORTER_BAD_CONFIG: the settings cannot work; EXPORTER_RETRY: a directory or a file that
 *         they name is not there, or not fit; EXPORTER_NOMEM. `err` says what and what to do.
 *         With `may_wait` EXPORTER_RETRY is EXPORTER_OK with a text in `err`, which is "" else.
 */
MUST_CHECK enum exporter_rc exporter_open(const struct exporter_settings *settings,
                                          struct exporter **out, struct err *err);

/* What it wants to be given. */
enum exporter_form exporter_form(const struct exporter *exporter);

/* How many batches may be under way at a time: 1 where there is no server. */
size_t exporter_in_flight_max(const struct exporter *exporter);

/* How many profiles a batch for it may have. */
size_t exporter_profiles_max(const struct exporter *exporter);

/*
 * Begins to deliver a batch, which is borrowed until exporter_wait has given its result. Where
 * there is no server it writes the batch at once. `now_ns`: UTC.
 */
void exporter_start(struct exporter *exporter, const struct batch *batch, int64_t now_ns,
                    void *ctx);

/*
 * Waits until a batch has ended, but for at most `timeout_ms`.
 *
 * Gives:  *out. Its rc is EXPORTER_OK, EXPORTER_RETRY, EXPORTER_REFUSED or EXPORTER_NOMEM;
 *         answer.err has the cause, the server's words (capped, control characters escaped) or
 *         both.
 * Errors: false: none has ended; the time is over, or exporter_wake was called.
 * Cost:   a request ends within the exporter's timeout.
 */
MUST_CHECK bool exporter_wait(struct exporter *exporter, unsigned timeout_ms,
                              struct exporter_result *out);

/* Has an exporter_wait that is under way, or else the next one, return. */
void exporter_wake(struct exporter *exporter);

/* Has what is started from now on use new connections, if it sends to a server. */
void exporter_reconnect(struct exporter *exporter);

/*
 * Tries once to deliver a batch, with none under way; waits until it has ended.
 *
 * Gives: *answer, set anew whatever the outcome; NULL is fine.
 */
MUST_CHECK enum exporter_rc exporter_send(struct exporter *exporter, const struct batch *batch,
                                          int64_t now_ns, struct exporter_answer *answer);

/*
 * Tries a server: sends a profile without samples, which it takes and does not keep.
 *
 * Gives:  false: it sends to no server.
 * Cost:   as a request.
 */
bool exporter_probe(struct exporter *exporter, int64_t now_ns, struct exporter_probe *out);

/*
 * Has all that is under way, and all that is started later, end at once with EXPORTER_RETRY; not
 * what a server has answered.
 */
void exporter_cancel(struct exporter *exporter);

/* Ends an exporter. NULL is fine. */
void exporter_close(struct exporter *exporter);

/* The metric label of an outcome, e.g. "refused". Never NULL. */
const char *exporter_rc_label(enum exporter_rc rc);

#endif
