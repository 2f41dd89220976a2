/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/dump: knows one snapshot of a process, its tasks and source lines, as text or JSON.
 * Does not know profiles, intervals and services.
 *
 * dump.h - writes the threads of one snapshot as text or as JSON, for `pystrobe dump`.
 */
#ifndef AGENT_DUMP_DUMP_H
#define AGENT_DUMP_DUMP_H

#include "agent/dump/source.h"
#include "base/buf.h"
#include "unwind/cpy.h"

/* All borrowed. */
struct dump {
    pid_t pid;
    const char *command; /* its command line; NULL: the text has no head with process and Python */
    const char *python;  /* its version */
    bool free_threaded;
    const char *warning;              /* NULL: none */
    int64_t taken_unix_ns;            /* UTC, since 1970 */
    const struct cpy_thread *threads; /* those of one interpreter stand together */
    size_t thread_count;

    /* Options of the output. */
    uint32_t frames;       /* bits of enum cpy_frame_option that were requested */
    bool each_thread;      /* text only: keep the order of threads, and write each one's stack */
    bool colour;           /* text only */
    struct source *source; /* text only; NULL: no source lines */
};

/*
 * Appends text: like tracebacks, but the most recent call first. Unless `each_thread`, the main
 * thread comes first, and threads with the same stack and the same state share one.
 *
 * Cost: compares each thread with those before it; memory for the text only.
 */
void dump_text(const struct dump *dump, struct buf *out);

/* Appends one JSON object, as pystrobe(8) describes it. */
void dump_json(const struct dump *dump, struct buf *out);

#endif
