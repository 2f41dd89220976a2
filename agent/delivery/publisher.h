/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publisher.h - encodes the profile of an interval and hands it to the exporters.
 */
#ifndef AGENT_DELIVERY_PUBLISHER_H
#define AGENT_DELIVERY_PUBLISHER_H

#include "agent/delivery/delivery.h"
#include "agent/delivery/otel.h"
#include "agent/delivery/publisher_otlp.h"
#include "agent/sampling/service.h"
#include "conf/conf.h"

struct publisher {
    struct delivery *delivery;  /* owned */
    const struct label *labels; /* borrowed: the settings' */
    size_t label_count;
    struct otel otel;            /* owned: what the environment says to OTLP exporters */
    struct label *attributes;    /* owned: the labels and those of the environment */
    struct publisher_otlp *otlp; /* owned: the requests of the interval */
    struct buf bytes;            /* owned: what is being encoded */
    uint64_t profiles;           /* encoded so far */
    bool warned;                 /* that labels are left out */
};

enum publisher_flag {
    /* The exporters of before may hang, and have the spool still: profiles wait in memory until it
     * can be had. */
    PUBLISHER_HELD = 1,
    /* What an exporter needs must be there. Else it may come later: each send looks for it. */
    PUBLISHER_READY = 2,
};

/*
 * Opens all exporters of `conf`, whose labels must outlive it. `flags`: of publisher_flag.
 *
 * Errors: EXPORTER_BAD_CONFIG: the settings of one cannot work; EXPORTER_RETRY: something that is
 *         not in the settings is missing; EXPORTER_NOMEM. `err` says of which, and why.
 */
MUST_CHECK enum exporter_rc publisher_open(struct publisher *publisher, const struct conf *conf,
                                           unsigned flags, struct err *err);

/*
 * Takes the labels of other settings, which must outlive it then, for the same exporters; they make
 * new connections. False: out of memory.
 */
MUST_CHECK bool publisher_reload(struct publisher *publisher, const struct conf *conf,
                                 struct err *err);

/*
 * The exporters that there are to be: those of the settings, or else the environment's.
 *
 * Gives: how many. Lends *out until the settings end.
 */
size_t publisher_wanted(const struct conf *conf, const struct exporter_settings **out);

/* Opens one exporter by itself; all that it needs must be there. Gives: *out, ended with
 * exporter_close. Errors: as publisher_open, but `err` does not say of which. */
MUST_CHECK enum exporter_rc publisher_exporter(const struct exporter_settings *section,
                                               struct exporter **out, struct err *err);

/* The same to the same server by a Pyroscope's own protocol, to find out whether it is one. */
MUST_CHECK enum exporter_rc publisher_as_pyroscope(const struct exporter_settings *section,
                                                   struct exporter **out, struct err *err);

/* Encodes and queues what a service's processes did until `now_ns`; nothing if that is nothing. */
void publisher_service(struct publisher *publisher, const struct service *service, uint64_t now_ns);

/* All services of an interval were shipped: what goes together in one request goes now. */
void publisher_interval_end(struct publisher *publisher);

/*
 * Delivers what is queued until `deadline_ns` (monotonic), and ends it.
 *
 * Gives: false if an exporter hangs even then: exporter_global_finish must not be
 *        called, the process is to exit.
 */
bool publisher_close(struct publisher *publisher, uint64_t deadline_ns);

/*
 * Appends the profile of a service, all values in one, as a gzip'd pprof.
 * `labels` become comments; `shown` is the type of the value that tools show first.
 */
MUST_CHECK enum pprof_rc publisher_encode(const struct service *service, uint64_t now_ns,
                                          const struct label *labels, size_t label_count,
                                          const char *shown, struct buf *out);

#endif
