/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler_process.h - the supervisor's side of one sampler: its process, which may be lost and
 * restarted, and the decoders of the profiles that it hands over.
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
 * Ends:  with the interval or the sampler's process; a first piece of an interval resets it
 * Test:  tests/unit/pprof/test_feed.c: after_a_reset_all_is_new
 */
struct sampler_process_feed {
    char name[sizeof(
        ((struct target_profile *)NULL)->service)]; /* of the service, with its labels */
    struct labels labels;
    struct proc_id held; /* the process whose rows are held; pid 0: none */
    struct pprof_delta_decoder decoder;
    bool stale; /* the decoder lacks tables: pieces are skipped until the first of an interval */
    struct sampler_process_feed *next;
};

struct sampler_process {
    struct child_process child;         /* pid 0: it does not run */
    struct sampler_process_feed *feeds; /* owned list */
    struct report_counts now;           /* last REPORT_COUNTS of the running child */
    size_t processes;                   /* number of processes assigned to it */
    uint64_t next_start_ns;             /* monotonic: not started before */
    uint64_t pause_ns;                  /* backoff before the next start after a failure */
    uint64_t done;                      /* number of the last interval that it has ended */
    uint64_t committed;                 /* number of the last IPC_COMMIT that it has answered */
    bool is_our_build;                  /* REPORT_BUILD has named our build */
};

/* Called for each report of a sampler; see enum report. Pointers are lent for the call. */
struct sampler_process_callbacks {
    /* Its build is not ours; sampler_process_receive then gives false. */
    void (*other_build)(void *ctx, const struct err *why);
    void (*began)(void *ctx, struct proc_id id, const char *version);
    void (*put_off)(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err);
    void (*ended)(void *ctx, struct proc_id id);
    void (*counted)(void *ctx, struct proc_id id, const struct engine_counts *counts);
    void (*hangs)(void *ctx, const struct engine_hang *hang, const char *dump, size_t size);
    void (*warns)(void *ctx, struct proc_id id, const struct err *text);
    void (*named)(void *ctx, const struct report_named *named);
    void (*child)(void *ctx, const struct process_end *child);
};

/* Starts the sampler. `bpf_reader`: it tries to use the BPF reader. False: `err` says why; retry at
 * next_start_ns. */
MUST_CHECK bool sampler_process_start(struct sampler_process *sampler, bool bpf_reader,
                                      uint64_t now_ns, struct err *err);

/* Kills the sampler, if it runs, and adds its counters to `sum`. `failed`: it ended by itself; then
 * next_start_ns is set with backoff. */
void sampler_process_stop(struct sampler_process *sampler, bool failed, uint64_t now_ns,
                          struct report_counts *sum);

/* Kills the sampler, if it runs, and frees what it holds. */
void sampler_process_finish(struct sampler_process *sampler);

/* Sends a message of `size` bytes. False: the sampler is lost. */
MUST_CHECK bool sampler_process_send(struct sampler_process *sampler, enum ipc_message ipc_message,
                                     const void *message, size_t size);

/*
 * Handles the reports that have come, up to REPORT_DONE of interval `running`; the rest waits until
 * `running` is another. Adds rows to `services`. False: the sampler has ended, or a report is bad.
 */
MUST_CHECK bool sampler_process_receive(struct sampler_process *sampler, struct services *services,
                                        uint64_t running,
                                        const struct sampler_process_callbacks *callbacks,
                                        void *ctx);

/* Begins an interval: frees the decoders, so that late pieces of the old interval are skipped. */
void sampler_process_renew(struct sampler_process *sampler);

/* Adds the counters of one sampler to `sum`. */
void sampler_process_add_counts(struct report_counts *sum, const struct report_counts *more);

#endif
