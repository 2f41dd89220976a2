/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publisher.h - encodes the profiles of an interval and queues them at the exporters.
 *
 * Shape:   publisher_open; publisher_service for each service of an interval, then
 *          publisher_interval_end; publisher_close.
 * Threads: one.
 */
#ifndef AGENT_DELIVERY_PUBLISHER_H
#define AGENT_DELIVERY_PUBLISHER_H

#include "agent/delivery/delivery.h"
#include "agent/delivery/otel.h"
#include "agent/delivery/publisher_otlp.h"
#include "agent/sampling/service.h"
#include "conf/conf.h"

struct publisher {
    struct delivery *delivery;  /* owned: the exporters with their queues and threads */
    const struct label *labels; /* borrowed from the settings; each profile gets them */
    size_t label_count;
    struct otel otel;         /* owned: settings of OTLP exporters from the environment */
    struct label *attributes; /* owned array: `labels`, then otel.attributes; texts are borrowed */
    struct publisher_otlp *otlp; /* owned, not NULL when open: OTLP requests of the interval */
    struct buf bytes;            /* owned: the profile that is being encoded */
    /* Profiles and OTLP requests queued so far. Each form (enum exporter_form), value type and part
     * of a profile counts as one, however many exporters take it. */
    uint64_t profiles;
    bool warned; /* logged already that a profile has more labels than a Pyroscope server takes */
};

enum publisher_flag {
    /* Open even if the spool is locked, and keep profiles in memory until it is free. Meant for a
     * reload: the spool's thread of the previous publisher may still wait for the disk, and keeps
     * the spool locked until it ends. */
    PUBLISHER_WAIT_FOR_SPOOL = 1,
    /* Fail if a directory or file that an exporter needs is missing now. Without this flag the
     * exporter opens, and each send checks again. */
    PUBLISHER_STRICT = 2,
};

/*
 * Opens the spool and all exporters of `conf`. Borrows the labels of `conf` until publisher_reload
 * or publisher_close, and copies the rest. `flags` are bits of enum publisher_flag.
 *
 * Gives:  EXPORTER_OK: *publisher, which the caller ends with publisher_close.
 * Errors: EXPORTER_BAD_CONFIG: the settings of an exporter cannot work.
 *         EXPORTER_RETRY: an environment variable that a secret needs is missing; a file or
 *         directory is missing (with PUBLISHER_STRICT); another agent uses the spool (without
 *         PUBLISHER_WAIT_FOR_SPOOL); or there is no memory for the spool or a secret.
 *         EXPORTER_NOMEM: out of memory otherwise, a thread could not be started, or there are more
 *         than DELIVERY_EXPORTERS_MAX exporters. `err` gives the reason and, if one exporter is the
 *         cause, its name. After an error nothing has to be closed.
 */
MUST_CHECK enum exporter_rc publisher_open(struct publisher *publisher, const struct conf *conf,
                                           unsigned flags, struct err *err);

/*
 * Replaces the labels by those of `conf`, which it borrows as publisher_open does; the old settings
 * may then be freed. Makes the exporters open new connections. They keep their settings and queues,
 * so the caller makes sure that `conf` has the same exporters as before.
 *
 * Errors: false: out of memory; nothing has changed.
 */
MUST_CHECK bool publisher_reload(struct publisher *publisher, const struct conf *conf,
                                 struct err *err);

/*
 * Finds the settings of the exporters to open: all exporters of `conf`. If `conf` has none and
 * otel_makes_exporter is true, one exporter of type otlp.
 *
 * Gives: the number of entries in *out; may be 0.
 * Lends: *out: static, or a part of `conf` until `conf` is freed.
 */
size_t publisher_wanted(const struct conf *conf, const struct exporter_settings **out);

/*
 * Opens one exporter without a publisher, as strictly as PUBLISHER_STRICT.
 *
 * Gives:  *out, which the caller ends with exporter_close; untouched on failure.
 * Errors: as publisher_open, but `err` does not name the exporter.
 */
MUST_CHECK enum exporter_rc publisher_exporter(const struct exporter_settings *section,
                                               struct exporter **out, struct err *err);

/* Works as publisher_exporter, but gives the exporter the type pyroscope instead of that of
 * `section`. If exporter_probe then sets out->rc to EXPORTER_OK, the server is a Pyroscope. */
MUST_CHECK enum exporter_rc publisher_as_pyroscope(const struct exporter_settings *section,
                                                   struct exporter **out, struct err *err);

/* Encodes the profile of a service, from the start of the interval to `now_ns` (CLOCK_MONOTONIC),
 * in each form that an exporter takes, and adds it to the batches and OTLP requests of the
 * interval. These are queued when they are full, or by publisher_interval_end. `now_ns` is the same
 * for all services of an interval. Does nothing if the profile is empty. A profile that cannot be
 * encoded is logged and lost. */
void publisher_service(struct publisher *publisher, const struct service *service, uint64_t now_ns);

/* Ends the interval: queues the OTLP requests and the batches (batch.h) that publisher_service has
 * filled. Call it after the last publisher_service of the interval. */
void publisher_interval_end(struct publisher *publisher);

/*
 * Ends the interval, and tries until `deadline_ns` (CLOCK_MONOTONIC) to send the queued profiles.
 * After that, unsent profiles stay in the spool; any that are only in memory are lost (logged).
 * Returns at most 200 ms after the deadline, or 200 ms after the call if the deadline has passed.
 * From then until publisher_close, only the counters of publisher->delivery may be used.
 */
void publisher_stop(struct publisher *publisher, uint64_t deadline_ns);

/*
 * Stops the publisher as publisher_stop does, if it is not stopped yet, and frees it.
 *
 * Gives: false if a thread of an exporter or of the spool still hangs. The caller then must not
 *        call exporter_global_finish, and should end the process.
 */
bool publisher_close(struct publisher *publisher, uint64_t deadline_ns);

/*
 * Appends the profile of a service to `out`, as pprof compressed with gzip, with all value types,
 * from the start of the interval to `now_ns` (CLOCK_MONOTONIC). `labels` become comments of
 * the profile, as far as PPROF_COMMENTS_MAX allows; may be NULL if `label_count` is 0. `shown` is
 * the type of the value that viewers show first, such as "cpu".
 *
 * Errors: PPROF_NOMEM, PPROF_FULL (over out->max); `out` may have part of the bytes.
 */
MUST_CHECK enum pprof_rc publisher_encode(const struct service *service, uint64_t now_ns,
                                          const struct label *labels, size_t label_count,
                                          const char *shown, struct buf *out);

#endif
