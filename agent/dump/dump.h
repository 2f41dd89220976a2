/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/dump: knows one snapshot of a process, its tasks and source lines, as text or JSON.
 * Does not know profiles, intervals and services.
 *
 * dump.h - what `pystrobe dump` found, and the two ways in which it is shown.
 */
#ifndef AGENT_DUMP_DUMP_H
#define AGENT_DUMP_DUMP_H

#include "agent/dump/source.h"
#include "base/buf.h"
#include "unwind/cpy.h"

/* All borrowed. */
struct dump {
    pid_t pid;
    const char *command; /* its command line; NULL: no head at all */
    const char *python;  /* its version */
    bool free_threaded;
    const char *warning; /* NULL: none */
    int64_t taken_unix_ns;
    const struct cpy_thread *threads; /* those of one interpreter stand together */
    size_t thread_count;

    /* How it is to be shown. */
    uint32_t frames;       /* enum cpy_frame_option: what was asked for */
    bool each_thread;      /* text only: no thread is moved or shares a stack with others */
    bool colour;           /* text only */
    struct source *source; /* text only; NULL: no source lines */
};

/*
 * Appends a text for people: like a traceback, but the most recent call first. The main thread is
 * first, and threads that have the same stack and do the same share one, unless `each_thread`.
 *
 * Cost: compares each thread with those before it; memory for the text only.
 */
void dump_text(const struct dump *dump, struct buf *out);

/* Appends one JSON object, as pystrobe(8) describes it. */
void dump_json(const struct dump *dump, struct buf *out);

#endif
