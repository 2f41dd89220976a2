/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_messages.h - what the supervisor and its samplers tell each other, each a message of
 * ipc_channel.h.
 *
 * Both are the same program, so messages are structs as they lie in memory. A report may come
 * from a sampler that a target has broken: ipc_read checks sizes, texts are ended by whoever
 * reads them, and numbers are looked at before they are used.
 */
#ifndef AGENT_SUPERVISOR_IPC_MESSAGES_H
#define AGENT_SUPERVISOR_IPC_MESSAGES_H

#include <string.h>

#include "agent/sampling/engine.h"

/* To a sampler. */
enum ipc_message {
    IPC_TAKE = 1,    /* struct ipc_take: sample this process */
    IPC_DROP = 2,    /* struct proc_id: sample it no more */
    IPC_END = 3,     /* struct ipc_end: end the interval, hand over what there is */
    IPC_BURST = 4,   /* struct ipc_burst: sample some more often for a while */
    IPC_STRETCH = 5, /* double: all periods are so many times as long as asked for */
    IPC_COMMIT = 6   /* struct ipc_commit: hand over all that was counted up to now */
};

struct ipc_take {
    struct proc_id id;
    struct target_profile profile;
};

struct ipc_end {
    uint64_t number; /* of the interval */
    bool last;       /* take a last sample of each process before */
};

struct ipc_burst {
    struct burst burst;
    uint64_t duration_ns;
};

struct ipc_commit {
    uint64_t number;
    struct split_pids split_pids;
};

/* From a sampler. */
enum report {
    REPORT_BEGAN = 1,     /* struct report_began: this process is sampled */
    REPORT_PUT_OFF = 2,   /* struct report_put_off: it cannot be sampled now */
    REPORT_ENDED = 3,     /* struct proc_id: it has ended */
    REPORT_ROWS = 4,      /* struct report_rows, then a piece as pprof/feed.h has it */
    REPORT_COUNTS = 5,    /* struct report_counts: what happened so far */
    REPORT_DONE = 6,      /* uint64_t: that interval has ended; what follows belongs to the next */
    REPORT_EACH = 7,      /* struct report_each: the counts of some processes */
    REPORT_COMMITTED = 8, /* uint64_t: all up to that order to settle has been handed over */
    REPORT_HANG = 9       /* struct engine_hang, then a text: what its threads and tasks do */
};

struct report_began {
    struct proc_id id;
    char version[32];
};

struct report_put_off {
    struct proc_id id;
    enum cpy_rc rc;
    struct err err;
};

struct report_rows {
    char service[sizeof(((struct target_profile *)NULL)->service)];
    struct labels labels;
    char python[32];
    uint64_t period_ns;
    uint8_t begins; /* not 0: the first piece of an interval, numbers begin anew */
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

/* Copies a message out. False: it has another size. */
static inline bool ipc_read(void *out, size_t out_size, const void *bytes, size_t size)
{
    if (size != out_size)
        return false;
    memcpy(out, bytes, size);
    return true;
}

#endif
