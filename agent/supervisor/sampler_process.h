/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler_process.h - one sampler as its supervisor sees it: its process, which may be lost and
 * restarted, and the profiles that it has handed over.
 *
 * Threads: one.
 */
#ifndef AGENT_SUPERVISOR_SAMPLER_PROCESS_H
#define AGENT_SUPERVISOR_SAMPLER_PROCESS_H

#include "agent/child/child_process.h"
#include "agent/supervisor/ipc_messages.h"
#include "pprof/feed.h"

/*
 * Decoder of one service's profile from one sampler.
 *
 * Cache: tables of names that a sampler has sent
 * Key:   name and labels of the service, and the process if it is held
 * Ends:  with the sampler's process; after a lost piece with the next first one
 * Test:  tests/unit/pprof/test_feed.c: after_a_reset_all_is_new
 */
struct sampler_process_feed {
    char name[sizeof(
        ((struct target_profile *)NULL)->service)]; /* of the service, with its labels */
    struct labels labels;
    struct proc_id held; /* the process whose rows are held; pid 0: none */
    struct pprof_delta_decoder decoder;
    bool stale; /* the decoder lost its tables: skip pieces until a first one comes */
    struct sampler_process_feed *next;
};

struct sampler_process {
    struct child_process child;         /* pid 0: it does not run */
    struct sampler_process_feed *feeds; /* owned list */
    struct report_counts now;           /* counters of the running child */
    size_t processes;                   /* assigned to it */
    uint64_t next_start_ns;             /* monotonic: not started before */
    uint64_t pause_ns;                  /* backoff before the next start */
    uint64_t done;                      /* number of the last interval that it has ended */
    uint64_t committed;                 /* number of the last IPC_COMMIT that it has answered */
    bool is_our_build;                  /* it has said so: further reports are read */
};

/* Called for each report of a sampler. */
struct sampler_process_callbacks {
    void (*other_build)(void *ctx, const struct err *why); /* the sampler counts as lost */
    void (*began)(void *ctx, struct proc_id id, const char *version);
    void (*put_off)(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err);
    void (*ended)(void *ctx, struct proc_id id);
    void (*counted)(void *ctx, struct proc_id id, const struct engine_counts *counts);
    void (*hangs)(void *ctx, const struct engine_hang *hang, const char *dump, size_t size);
    void (*warns)(void *ctx, struct proc_id id, const struct err *text);
    void (*named)(void *ctx, const struct report_named *named);
    void (*child)(void *ctx, const struct process_end *child);
};

/* Starts the sampler. `bpf_reader`: it uses the BPF reader, if it may. False: `err` says why; retry
 * at next_start_ns. */
MUST_CHECK bool sampler_process_start(struct sampler_process *sampler, bool bpf_reader,
                                      uint64_t now_ns, struct err *err);

/* Kills the sampler, if it runs, and adds its counters to `sum`. After one that `failed` by itself
 * the next start waits, with backoff. */
void sampler_process_stop(struct sampler_process *sampler, bool failed, uint64_t now_ns,
                          struct report_counts *sum);

/* Frees it, once it is stopped. */
void sampler_process_finish(struct sampler_process *sampler);

/* Sends a message. False: the sampler is lost. */
MUST_CHECK bool sampler_process_send(struct sampler_process *sampler, enum ipc_message ipc_message,
                                     const void *message, size_t size);

/*
 * Handles the reports that have come, up to the end of interval `running`; the rest waits for
 * sampler_process_renew. False: the sampler has ended, or a report is not valid.
 */
MUST_CHECK bool sampler_process_receive(struct sampler_process *sampler, struct services *services,
                                        uint64_t running,
                                        const struct sampler_process_callbacks *callbacks,
                                        void *ctx);

/* A new interval begins: pieces of the old one that still come are dropped, and counted. */
void sampler_process_renew(struct sampler_process *sampler);

/* Adds the counters of one sampler to others. */
void sampler_process_add_counts(struct report_counts *sum, const struct report_counts *more);

#endif
