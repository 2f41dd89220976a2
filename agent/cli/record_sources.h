/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_sources.h - reads the source files that a recording's profiles name.
 *
 * Each file is read in the root and with the rights of the process that names it. A profile of
 * several processes does not say which one named a file: if these differ in root or rights, no
 * file is read, nor if a process has changed them by itself since it was first read.
 *
 * Shape:   record_sources_consider before a process is read, record_sources_begin once it is
 *          sampled, record_sources_choose for each profile, record_sources_read for each file,
 *          record_sources_explain, record_sources_finish. All zero bytes is an empty one.
 * Threads: one.
 */
#ifndef AGENT_CLI_RECORD_SOURCES_H
#define AGENT_CLI_RECORD_SOURCES_H

#include "agent/dump/source_reader.h"

enum { RECORD_READERS_MAX = 8 };

struct recorded_process; /* private */

struct record_sources {
    bool wanted;                        /* the caller's: false: no files are to be read */
    struct recorded_process *processes; /* owned */
    size_t count, capacity;
    struct recorded_reader { /* one for all processes that can read the same */
        struct source_owner owner;
        struct source_reader *reader; /* owned; NULL: cannot be started */
    } readers[RECORD_READERS_MAX];
    size_t reader_count;
    struct source_reader *chosen; /* borrowed: of the profile that is written */
    bool differ;                  /* a profile had no lines, as its processes differ */
    bool changed;                 /* the same, as one has other rights than before */
    bool foreign;                 /* a process of another user than ours was sampled */
};

/* A process may be sampled soon. */
void record_sources_consider(struct record_sources *sources, pid_t pid);

/* A process is sampled. */
void record_sources_begin(struct record_sources *sources, pid_t pid);

/* From now on files are those that process `pid` names; 0: that any sampled process does. */
void record_sources_choose(struct record_sources *sources, pid_t pid);

/* A format_view's `source`, with a struct record_sources. */
bool record_sources_read(void *sources, const char *file, struct buf *out);

/* Says on the standard error why source lines are missing. */
void record_sources_explain(const struct record_sources *sources);

void record_sources_finish(struct record_sources *sources);

#endif
