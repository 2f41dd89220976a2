/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_sources.h - reads the source files that a recording's profiles name.
 *
 * Each file is read in the root directory and with the rights of the process that names it. No file
 * is read if a profile is of several processes that differ in these, because it does not say which
 * one named a file. Nor is one read if a process has changed them itself since it was first read.
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
    bool wanted;                        /* set by the caller; false: no file is read */
    struct recorded_process *processes; /* owned */
    size_t count, capacity;             /* of `processes` */
    struct recorded_reader {            /* shared by all processes that can read the same files */
        struct source_owner owner;
        struct source_reader *reader; /* owned; NULL: could not be started */
    } readers[RECORD_READERS_MAX];
    size_t reader_count;
    struct source_reader *chosen; /* borrowed from `readers`; NULL: no file can be read now */
    bool differ;                  /* a profile got no source lines, as its processes differ */
    bool changed;                 /* a process has changed its own rights or root directory */
    bool foreign;                 /* a sampled process is, or may be, another user's than ours */
};

/* Notes the rights of a process that may be sampled soon. */
void record_sources_consider(struct record_sources *sources, pid_t pid);

/* Notes that a process which was considered is sampled. */
void record_sources_begin(struct record_sources *sources, pid_t pid);

/* Chooses the reader for the files that process `pid` names; 0: that all sampled ones name. */
void record_sources_choose(struct record_sources *sources, pid_t pid);

/* The `source` callback of a struct format_view, whose `ctx` is a struct record_sources. Appends a
 * file's bytes. False: it cannot be read. */
bool record_sources_read(void *sources, const char *file, struct buf *out);

/* Prints to stderr why source lines are missing, if some are. */
void record_sources_explain(const struct record_sources *sources);

void record_sources_finish(struct record_sources *sources);

#endif
