/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - state of the agent at one moment: source of `pystrobe status` and of the metrics.
 *
 * Shape:   state_new, fill it in, state_share_put; other threads take a reference with
 *          state_share_get, print it, and give the reference back with state_drop.
 * Threads: a state that was shared does not change any more.
 *
 * Names in it come from processes and from the ini file; the printers escape them.
 */
#ifndef AGENT_SERVE_STATE_H
#define AGENT_SERVE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "agent/delivery/delivery.h"
#include "agent/proc/program.h"
#include "agent/supervisor/budget.h"
#include "agent/supervisor/supervisor.h"

enum {
    STATE_NAME_MAX = 256,
    STATE_TARGETS_MAX = 4096 /* most targets in a state; the others are left out */
};

/* One process. */
struct state_target {
    pid_t pid;
    struct program program; /* that was found to be a target; zeros: not known */
    char service[STATE_NAME_MAX];
    char named_by[96]; /* source of the service name, for people */
    char python[32];   /* version; "": not known yet */
    const char *doing; /* static: "sampled", "waits", "apart": in quarantine, or it blocks */
    double rate_hz;    /* current rate: less than wanted_hz if max_cpu has slowed it */
    double wanted_hz;  /* rate of the settings or of a burst */
    bool burst;        /* a burst covers it */
    struct engine_counts counts;
    const char *hang; /* static: hang_name; NULL: it does not hang */
    pid_t hang_tid;   /* as in struct hang */
    uint64_t hang_ns; /* how long it has hung */
    uint64_t hangs;   /* hangs so far */
};

struct state_service {
    char name[STATE_NAME_MAX];
    uint64_t cpu_ns; /* CPU time in its profiles of the last hour: see service_cpu.h */
};

struct state_exporter {
    char name[STATE_NAME_MAX];
    const struct exporter_type *type; /* static; NULL: not known */
    struct delivery_stats delivery;
};

/* A [target] section whose service has no variables. */
struct state_section {
    char name[STATE_NAME_MAX], service[STATE_NAME_MAX];
};

/* The settings, and the last reload. */
struct state_config {
    char path[STATE_NAME_MAX]; /* of the ini file */
    bool good;                 /* the last reload succeeded */
    int64_t loaded_ns;         /* UTC: when the settings in effect were loaded */
    int64_t tried_ns;          /* UTC: when the last reload was tried; 0: there was none */
    uint64_t reloads;          /* reloads that succeeded */
    uint64_t failures;         /* reloads that failed */
    struct err error;          /* why the last failed one failed; "": none has failed */
};

struct state {
    atomic_uint references;
    pid_t pid;                               /* of the agent */
    int64_t taken_ns, started_ns;            /* UTC: time of this state; start of the agent */
    uint64_t taken_mono_ns, started_mono_ns; /* the same, monotonic */
    uint64_t cpu_ns;                         /* CPU time used by all processes of pystrobe */
    uint64_t http_cpu_ns;                    /* of it, for answers over HTTP */
    uint64_t memory_bytes;                   /* resident memory of the agent's process */
    size_t fds, fds_max;                     /* open descriptors of that process; their limit */
    uint64_t log_left_out;                   /* log lines that were left out */
    size_t unkillable; /* child processes that were killed and have not ended */
    uint64_t profiles; /* profiles built so far */
    bool ready;        /* the agent has looked for processes */
    struct state_config config;
    struct budget_state budget;
    struct delivery_spool_stats spool;
    struct engine_stats engine;
    struct supervisor_stats supervisor;
    struct cpy_stats unwinder;
    struct state_target *targets; /* owned */
    size_t target_count, target_room;
    struct state_service *services; /* owned: those that took CPU time, the most first */
    size_t service_count, service_room;
    struct state_exporter *exporters; /* owned */
    size_t exporter_count, exporter_room;
    struct state_section *sections; /* owned */
    size_t section_count, section_room;
};

/* Gives: an empty state with one reference; NULL: out of memory. */
MUST_CHECK struct state *state_new(void);

/* Append a zeroed target, service, exporter or section. Lend it until the next call. NULL: no
 * memory, or there are STATE_TARGETS_MAX targets. */
MUST_CHECK struct state_target *state_add_target(struct state *state);
MUST_CHECK struct state_service *state_add_service(struct state *state);
MUST_CHECK struct state_exporter *state_add_exporter(struct state *state);
MUST_CHECK struct state_section *state_add_section(struct state *state);

/* The service that `target` names: that of the section of this name, or else `target` itself. */
const char *state_service_of(const struct state *state, const char *target);

/* Sets cpu_ns, memory_bytes, fds and fds_max to those of this process. */
void state_own_use(struct state *state);

/* Gives a reference back; the last one frees it. NULL is fine. */
void state_drop(struct state *state);

/* Appends a summary in one line, without a newline, for `systemctl status`. */
void state_line(const struct state *state, struct buf *out);

/* Appends the text that `pystrobe status` prints. */
void state_text(const struct state *state, struct buf *out);

/* Appends one JSON object and a newline, as pystrobe(8) describes it. */
void state_json(const struct state *state, struct buf *out);

/* Appends a line for each exporter: "keeps up" or "falls behind", its name, its pace, with tabs. */
void state_exporters(const struct state *state, struct buf *out);

/* The newest state, for other threads. */
struct state_share {
    pthread_mutex_t lock;
    struct state *newest; /* owned: one reference; NULL: none yet */
};

void state_share_init(struct state_share *share);
void state_share_finish(struct state_share *share);

/* Takes over the reference of `state`. */
void state_share_put(struct state_share *share, struct state *state);

/* Gives: a reference, ended with state_drop; NULL: there is none yet. */
MUST_CHECK struct state *state_share_get(struct state_share *share);

#endif
