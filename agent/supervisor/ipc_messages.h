/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_messages.h - the messages between the supervisor and its samplers, sent over an ipc_channel.
 *
 * Both run the same build of the program, so a message is a struct as it is in memory. A sampler is
 * started from /proc/self/exe (child_process.h), which is the file that the agent runs, also once
 * an upgrade has replaced or removed its name. Its first report says which build it is; of another
 * build nothing else is read.
 * Trust:   a target may have corrupted the sampler that sends a report. So ipc_read checks
 *          sizes, the receiver terminates texts, and checks numbers before it uses them.
 */
#ifndef AGENT_SUPERVISOR_IPC_MESSAGES_H
#define AGENT_SUPERVISOR_IPC_MESSAGES_H

#include <string.h>

#include "agent/host/build_id.h"
#include "agent/sampling/engine.h"

/* To a sampler. */
enum ipc_message {
    IPC_TAKE = 1,   /* struct ipc_take: sample this process */
    IPC_DROP = 2,   /* struct proc_id: stop sampling it */
    IPC_END = 3,    /* struct ipc_end: end the interval and hand over its profiles */
    IPC_BURST = 4,  /* struct ipc_burst: sample some processes at a higher rate for a while */
    IPC_SHARE = 5,  /* struct ipc_share: CPU time of each target of an owner */
    IPC_COMMIT = 6, /* struct ipc_commit: commit and hand over all time up to now */
    IPC_CHILD = 7   /* struct process_end: a child that another sampler has sampled */
};

struct ipc_take {
    struct proc_id id;
    struct target_profile profile;
};

struct ipc_end {
    uint64_t number; /* of the interval */
    bool last;       /* take a last sample of each process first */
};

struct ipc_burst {
    struct burst burst;
    uint64_t duration_ns;
};

struct ipc_share {
    uint64_t owner;
    double share_ns; /* a second; INFINITY: they are sampled as asked for */
};

struct ipc_commit {
    uint64_t number;
    struct split_pids split_pids;
};

/* From a sampler. The first is the same in all builds. */
enum report {
    REPORT_BUILD = 0,     /* struct report_build: once, before all others */
    REPORT_BEGAN = 1,     /* struct report_began: sampling of this process began */
    REPORT_PUT_OFF = 2,   /* struct report_put_off: it cannot be sampled now */
    REPORT_ENDED = 3,     /* struct proc_id: it has ended */
    REPORT_ROWS = 4,      /* struct report_rows, then a piece of profile (pprof/feed.h) */
    REPORT_COUNTS = 5,    /* struct report_counts: what happened so far */
    REPORT_DONE = 6,      /* uint64_t: that interval has ended; later reports belong to the next */
    REPORT_EACH = 7,      /* struct report_each: the counts of some processes */
    REPORT_COMMITTED = 8, /* uint64_t: answer to the IPC_COMMIT of that number */
    REPORT_HANG = 9,      /* struct engine_hang, then a text: what its threads and tasks do */
    REPORT_WARNING = 10,  /* struct report_warning: what a user is to know of this process */
    REPORT_NAMED = 11,    /* struct report_named: what it is called */
    REPORT_CHILD = 12     /* struct process_end: what was counted of a process that has ended */
};

struct report_build {
    char id[BUILD_ID_MAX]; /* build_id */
};

struct report_began {
    struct proc_id id;
    char version[32];
};

struct report_named {
    struct proc_id id;
    struct labels labels;
    uint8_t ends_hold; /* not 0: the rows that are held of it are of this service */
    char service[sizeof(((struct target_profile *)NULL)->service)];
    char named_by[sizeof(((struct target_profile *)NULL)->named_by)];
};

struct report_put_off {
    struct proc_id id;
    enum cpy_rc rc;
    struct err err;
};

struct report_warning {
    struct proc_id id;
    struct err text;
};

struct report_rows {
    char service[sizeof(((struct target_profile *)NULL)->service)];
    struct labels labels;
    struct proc_id held; /* the process whose rows are to be held; pid 0: none */
    char python[32];
    uint64_t period_ns;
    uint64_t owner; /* and owner_bytes: see struct service */
    double owner_bytes;
    uint8_t begins; /* not 0: first piece of an interval, the encoder has new tables */
};

struct report_counts {
    struct engine_stats stats;
    struct cpy_stats unwinder;
};

enum { REPORT_EACH_MAX = 32 };

struct report_each {
    size_t count;
    struct {
        struct proc_id id;
        struct engine_counts counts;
    } items[REPORT_EACH_MAX];
};

/* Copies a message to `out`. False: its size is wrong. */
static inline bool ipc_read(void *out, size_t out_size, const void *bytes, size_t size)
{
    if (size != out_size)
        return false;
    memcpy(out, bytes, size);
    return true;
}

#endif
