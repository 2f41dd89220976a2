/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - what a struct cpy_target is made of; shared by target.c and image.c. */
#ifndef UNWIND_TARGET_H
#define UNWIND_TARGET_H

#include "unwind/asyncio.h"
#include "unwind/code.h"
#include "unwind/find.h"
#include "unwind/names.h"
#include "unwind/seat.h"
#include "unwind/tids.h"
#include "unwind/walk.h"

struct cpy_target {
    pid_t pid;
    int proc_fd;     /* owned: /proc/PID; -1 for an image */
    struct mem *mem; /* owned */
    struct found found;
    struct cpy_info info;
    struct cpy_stats stats;
    struct codes codes;
    struct names names;
    struct tids tids;
    struct seat seat;
    struct asyncio asyncio;
    unsigned seated;              /* samples that are still to be taken from the target's CPU */
    struct walk_scratch *scratch; /* owned */
    struct raw_stack *raw;        /* owned */
    cpy_addr *addrs;              /* owned: CPY_DEPTH_MAX code addresses */
    struct cpy_frame *frames;     /* owned: CPY_DEPTH_MAX */
    struct thread_words *threads; /* owned: those of the interpreter being sampled */
    size_t thread_capacity, thread_count;
    size_t seen_threads; /* in the last sample, all interpreters */
};

/* A target without memory or runtime: what cpy_open and cpy_open_image start from. */
MUST_CHECK struct cpy_target *target_new(void);

/* Takes what was found as the target's. */
void target_settle(struct cpy_target *target);

/* The words of an interpreter that a sample needs. */
struct interp {
    cpy_addr addr, next, threads_head, threads_main, gil, holder;
    uint64_t id;
};

/* Begins a sample: gives the first interpreter. Frees what the one before has lent. */
MUST_CHECK enum cpy_rc target_begin(struct cpy_target *target, cpy_addr *interp);

/* Ends it. */
void target_end(struct cpy_target *target);

/* Reads an interpreter, and its threads into target->threads. */
MUST_CHECK enum cpy_rc target_list_threads(struct cpy_target *target, cpy_addr addr,
                                           struct interp *out);

/* Names and lines for the frames in target->raw: fills target->frames. */
MUST_CHECK enum cpy_rc target_resolve(struct cpy_target *target, uint64_t generation,
                                      uint32_t *depth);

/* Finds out where tasks lie, if that is not known yet. */
void target_look_for_asyncio(struct cpy_target *target);

/* An image as memory. image.c. Gives *out and the runtime that it is of. */
MUST_CHECK enum cpy_rc image_open(const char *path, struct mem **out, cpy_addr *runtime,
                                  uint32_t *hexversion, struct err *err);

/* Memory that remembers what is read through it. Takes over `inner`. */
MUST_CHECK struct mem *image_recorder(struct mem *inner);

/* Writes what a recorder has seen. */
MUST_CHECK enum cpy_rc image_write(const struct mem *recorder, const char *path, cpy_addr runtime,
                                   uint32_t hexversion, struct err *err);

#endif
