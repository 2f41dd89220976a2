/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - Python's names of threads, as the threading module of the target has them.
 *
 * Shape:   names_of for each thread of a sample; the first thread without a known
 *          name makes names read threading._active again, ever more rarely while
 *          that does not help.
 */
#ifndef UNWIND_OBJECTS_NAMES_H
#define UNWIND_OBJECTS_NAMES_H

#include "unwind/objects/object.h"

enum { NAMES_MAX = 4096 };

/*
 * Cache: names of threads
 * Key:   address of the interpreter, pthread_t, and the kernel's thread id (0 before 3.11)
 * Ends:  when a thread without a known name makes names read all again; not when another thread or
 *        interpreter has the same key
 * Test:  tests/unit/unwind/objects/test_names.c:
 *          tells_no_old_name_of_a_thread_that_got_an_ident_again
 */
struct name {
    cpy_addr interp;
    uint64_t thread_id; /* Thread.ident: the pthread_t, which a later thread may get again */
    uint64_t native_id; /* of the thread that it was told of first; 0: of none yet */
    char *text;         /* owned */
};

struct names {
    struct name *names; /* owned */
    size_t count, capacity;
    uint64_t sample, next_refresh; /* in samples of the target */
    uint64_t wait;                 /* samples between refreshes: doubles up to a bound */
    uint64_t refreshed_in;         /* the sample of the last refresh, and the interpreter */
    cpy_addr refreshed;
    size_t last_thread_count;
    uint64_t refreshes; /* a name that was lent before the last one is gone */
    struct buf text;    /* owned: scratch */
};

void names_init(struct names *names);
void names_finish(struct names *names);

/* To be called before each sample; `thread_count` is that of the sample before. */
void names_next_sample(struct names *names, size_t thread_count);

/* True if names_of would look again for a name that it does not know. */
bool names_are_due(const struct names *names);

/*
 * The name of a thread; NULL: not known. `native_id` is the kernel's id of it, as the target
 * has it.
 *
 * Lends:  until the next sample.
 * Errors: none: what cannot be read is not known.
 */
const char *names_of(struct names *names, const struct reader *reader, cpy_addr interp,
                     uint64_t thread_id, uint64_t native_id);

#endif
