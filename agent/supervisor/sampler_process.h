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
struct sampler_process_feed {
    char name[sizeof(
        ((struct target_profile *)NULL)->service)]; /* of the service, with its labels */
    struct labels labels;
    struct pprof_delta_decoder decoder;
    bool stale; /* what the numbers stood for is gone: not before a first piece comes */
    struct sampler_process_feed *next;
};

struct sampler_process {
    struct child_process child;         /* runs if its pid is not 0 */
    struct sampler_process_feed *feeds; /* owned list */
    struct report_counts now;           /* of the sampler that runs */
    size_t processes;                   /* that it is to sample */
    uint64_t begun;                     /* samplers so far */
    uint64_t next_start_ns;             /* not started before */
    uint64_t pause_ns;                  /* before it is started again if it is lost soon */
    uint64_t done;                      /* the interval that it has ended last */
    uint64_t committed;                 /* the order to settle that it has carried out last */
    uint64_t lost_pieces;               /* that came too late for their interval */
    uint64_t cpu_ns;                    /* of the samplers that have ended */
};

/* What a sampler reports. */
struct sampler_process_callbacks {
    void (*began)(void *ctx, struct proc_id id, const char *version);
    void (*put_off)(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err);
    void (*ended)(void *ctx, struct proc_id id);
    void (*counted)(void *ctx, struct proc_id id, const struct engine_counts *counts);
    void (*hangs)(void *ctx, const struct engine_hang *hang, const char *dump, size_t size);
};

/* Starts the sampler; `onsite`: it is to read on site, if it may. False: `err` says why; it is to
 * be tried again at next_start_ns. */
MUST_CHECK bool sampler_process_start(struct sampler_process *sampler, bool bpf_reader,
                                      uint64_t now_ns, struct err *err);

/* Ends the sampler at once, if it runs. `sum` gets its counters. One that `failed` by itself is
 * started again after a pause, which grows. */
void sampler_process_stop(struct sampler_process *sampler, bool failed, uint64_t now_ns,
                          struct report_counts *sum);

/* Frees what is left of it once it is stopped. */
void sampler_process_finish(struct sampler_process *sampler);

/* Sends an order. False: the sampler is lost. */
MUST_CHECK bool sampler_process_send(struct sampler_process *sampler, enum ipc_message ipc_message,
                                     const void *message, size_t size);

/*
 * Reads what has come, up to the end of interval `running`: what follows waits for
 * sampler_process_renew. False: the sampler has ended, or reports what makes no sense.
 */
MUST_CHECK bool sampler_process_receive(struct sampler_process *sampler, struct services *services,
                                        uint64_t running,
                                        const struct sampler_process_callbacks *callbacks,
                                        void *ctx);

/* The services begin a new interval: what still comes of the old one is lost, and counted. */
void sampler_process_renew(struct sampler_process *sampler);

/* The CPU time of all its samplers so far. */
uint64_t sampler_process_cpu_ns(const struct sampler_process *sampler);

/* Adds the counters of one sampler to others. */
void sampler_process_add_counts(struct report_counts *sum, const struct report_counts *more);

#endif
