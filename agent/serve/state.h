/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - what the agent knows of itself at one moment: what `pystrobe status` and the
 * metrics are printed from.
 *
 * Shape:   state_new, fill it in, state_share_put; who prints takes it with state_share_get and
 *          gives it back with state_drop.
 * Threads: once shared a state does not change any more.
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
    STATE_TARGETS_MAX = 4096 /* that are listed; the others are counted */
};

/* One process. */
struct state_target {
    pid_t pid;
    struct program program; /* that was found to be a target */
    char service[STATE_NAME_MAX];
    char named_by[96]; /* why it is called so */
    char python[32];   /* "" as long as it is not known */
    const char *doing; /* static: "sampled", "waits", "apart" */
    double rate_hz;    /* now: less than wanted_hz if max_cpu has slowed it */
    double wanted_hz;  /* as the settings or a burst ask for it */
    bool burst;        /* sampled more often for a while */
    struct engine_counts counts;
    const char *hang; /* static: how it hangs; NULL: it does not */
    pid_t hang_tid;   /* of the thread that is stuck; 0: none is, or not known */
    uint64_t hang_ns; /* for how long */
    uint64_t hangs;   /* how often it hung so far */
};

/* A service, and the CPU time of its profiles in the last hour: see service_cpu.h. */
struct state_service {
    char name[STATE_NAME_MAX];
    uint64_t cpu_ns;
};

struct state_exporter {
    char name[STATE_NAME_MAX];
    const struct exporter_type *type; /* static; NULL: not known */
    struct delivery_stats delivery;
};

/* The settings, and the last try to read them anew. */
struct state_config {
    char path[STATE_NAME_MAX];
    bool good;         /* the last one */
    int64_t loaded_ns; /* UTC: the settings in effect */
    int64_t tried_ns;  /* UTC: the last try; 0: there was none */
    uint64_t reloads;  /* that were applied */
    uint64_t failures; /* that were not */
    struct err error;  /* the first mistake of the last one; "" if it was good */
};

struct state {
    atomic_uint references;
    pid_t pid;
    int64_t taken_ns, started_ns; /* UTC */
    uint64_t taken_mono_ns, started_mono_ns;
    uint64_t cpu_ns;       /* used by all of pystrobe */
    uint64_t http_cpu_ns;  /* of it, for answers over HTTP */
    uint64_t memory_bytes; /* resident */
    size_t fds, fds_max;
    uint64_t log_left_out;
    size_t unkillable; /* processes of ours that were killed and do not end */
    uint64_t profiles; /* built */
    bool ready;        /* it has looked for processes */
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
};

/* Gives: an empty state with one reference; NULL: out of memory. */
MUST_CHECK struct state *state_new(void);

/* One more target, service or exporter, zeroed, to be filled in. NULL: no memory, or too many. */
MUST_CHECK struct state_target *state_add_target(struct state *state);
MUST_CHECK struct state_service *state_add_service(struct state *state);
MUST_CHECK struct state_exporter *state_add_exporter(struct state *state);

/* Fills in what this process itself uses: CPU time, memory, descriptors. */
void state_own_use(struct state *state);

/* Gives a reference back; the last one frees it. NULL is fine. */
void state_drop(struct state *state);

/* The most important in one line, without a newline, as `systemctl status` shows it. */
void state_line(const struct state *state, struct buf *out);

/* For people, as `pystrobe status` prints it. */
void state_text(const struct state *state, struct buf *out);

/* One JSON object and a newline, as pystrobe(8) describes it. */
void state_json(const struct state *state, struct buf *out);

/* A line an exporter: "keeps up" or "falls behind", its name and its pace, with tabs between. */
void state_exporters(const struct state *state, struct buf *out);

/* The newest state, for other threads. */
struct state_share {
    pthread_mutex_t lock;
    struct state *newest; /* owned: one reference */
};

void state_share_init(struct state_share *share);
void state_share_finish(struct state_share *share);

/* Takes over the reference of `state`. */
void state_share_put(struct state_share *share, struct state *state);

/* Gives: a reference, ended with state_drop; NULL: there is none yet. */
MUST_CHECK struct state *state_share_get(struct state_share *share);

#endif
