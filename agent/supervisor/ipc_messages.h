/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_messages.h - the messages between the supervisor and its samplers, sent over an ipc_channel.
 *
 * Both run the same build of the program, so a message is a struct as it is in memory. A sampler is
 * started from /proc/self/exe (child_process.h), which is the file that the agent runs, also after
 * an upgrade has replaced or removed its name. The first report of a sampler tells its build; the
 * supervisor reads no further report of another build.
 *
 * Trust:   a target may have corrupted the sampler that sends a report. So ipc_read checks sizes,
 *          and the receiver terminates texts and checks numbers before it uses them.
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
    IPC_BURST = 4,  /* struct ipc_burst: engine_burst */
    IPC_SHARE = 5,  /* struct ipc_share: engine_share */
    IPC_COMMIT = 6, /* struct ipc_commit: engine_commit, and hand over all profiles */
    IPC_CHILD = 7   /* struct process_end: engine_note_child, for a child of another sampler */
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
    double share_ns; /* for each target of the owner, ns a second; INFINITY: no limit */
};

struct ipc_commit {
    uint64_t number; /* comes back in REPORT_COMMITTED */
    struct split_pids split_pids;
};

/* From a sampler. The first is the same in all builds. */
enum report {
    REPORT_BUILD = 0,     /* struct report_build: once, before all others */
    REPORT_BEGAN = 1,     /* struct report_began: sampling of this process began */
    REPORT_PUT_OFF = 2,   /* struct report_put_off: engine_callbacks.put_off */
    REPORT_ENDED = 3,     /* struct proc_id: this process has exited */
    REPORT_ROWS = 4,      /* struct report_rows, then a piece of profile (pprof/feed.h) */
    REPORT_COUNTS = 5,    /* struct report_counts: counters since the sampler's start */
    REPORT_DONE = 6,      /* uint64_t: this interval has ended; later reports belong to the next */
    REPORT_EACH = 7,      /* struct report_each: the counts of some processes */
    REPORT_COMMITTED = 8, /* uint64_t: answer to the IPC_COMMIT of this number */
    REPORT_HANG = 9,      /* struct engine_hang, then a dump of threads and tasks; may be empty */
    REPORT_WARNING = 10,  /* struct report_warning: engine_settings.warns */
    REPORT_NAMED = 11,    /* struct report_named: engine_callbacks.named */
    REPORT_CHILD = 12     /* struct process_end: engine_callbacks.child */
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
    uint8_t ends_hold; /* not 0: the held rows of the process now join this service */
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
    struct proc_id held; /* this and the next four: as in struct service */
    char python[32];
    uint64_t period_ns;
    uint64_t owner;
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
