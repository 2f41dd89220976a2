/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler_process.h - the place of one sampler, which may be lost and started anew: its process,
 * and what it has handed over.
 *
 * Threads: one.
 */
#ifndef AGENT_SUPERVISOR_SAMPLER_PROCESS_H
#define AGENT_SUPERVISOR_SAMPLER_PROCESS_H

#include "agent/child/child_process.h"
#include "agent/supervisor/ipc_messages.h"
#include "pprof/feed.h"

/* One service's profile as it comes from one sampler. */
struct slot_feed {
    char name[sizeof(((struct choice *)NULL)->service)]; /* of the service, with its labels */
    struct labels labels;
    struct pprof_taker taker;
    bool stale; /* what the numbers stood for is gone: not before a first piece comes */
    struct slot_feed *next;
};

struct slot {
    struct helper helper;     /* runs if its pid is not 0 */
    struct slot_feed *feeds;  /* owned list */
    struct report_counts now; /* of the sampler that runs */
    size_t processes;         /* that it is to sample */
    uint64_t begun;           /* samplers so far */
    uint64_t next_start_ns;   /* not started before */
    uint64_t pause_ns;        /* before it is started again if it is lost soon */
    uint64_t done;            /* the interval that it has ended last */
    uint64_t settled;         /* the order to settle that it has carried out last */
    uint64_t lost_pieces;     /* that came too late for their interval */
    uint64_t cpu_ns;          /* of the samplers that have ended */
};

/* What a sampler reports. */
struct slot_news {
    void (*began)(void *ctx, struct proc_id id, const char *version);
    void (*put_off)(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err);
    void (*ended)(void *ctx, struct proc_id id);
    void (*counted)(void *ctx, struct proc_id id, const struct engine_counts *counts);
    void (*hangs)(void *ctx, const struct engine_hang *hang, const char *dump, size_t size);
};

/* Starts the sampler; `onsite`: it is to read on site, if it may. False: `err` says why; it is to
 * be tried again at next_start_ns. */
MUST_CHECK bool slot_start(struct slot *slot, bool onsite, uint64_t now_ns, struct err *err);

/* Ends the sampler at once, if it runs. `sum` gets its counters. One that `failed` by itself is
 * started again after a pause, which grows. */
void slot_stop(struct slot *slot, bool failed, uint64_t now_ns, struct report_counts *sum);

/* Frees what is left of it once it is stopped. */
void slot_finish(struct slot *slot);

/* Sends an order. False: the sampler is lost. */
MUST_CHECK bool slot_order(struct slot *slot, enum order order, const void *message, size_t size);

/*
 * Reads what has come, up to the end of interval `running`: what follows waits for slot_renew.
 * False: the sampler has ended, or reports what makes no sense.
 */
MUST_CHECK bool slot_receive(struct slot *slot, struct services *services, uint64_t running,
                             const struct slot_news *news, void *ctx);

/* The services begin a new interval: what still comes of the old one is lost, and counted. */
void slot_renew(struct slot *slot);

/* The CPU time of all its samplers so far. */
uint64_t slot_cpu_ns(const struct slot *slot);

/* Adds the counters of one sampler to others. */
void slot_add_counts(struct report_counts *sum, const struct report_counts *more);

#endif
