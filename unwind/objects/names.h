/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - Python's names of threads, as the threading module of the target has them.
 *
 * The module keeps its Thread objects in the dict threading._active, by Thread.ident. A name is
 * looked up there by the hash of the ident, so a look costs the same whatever the number of
 * threads. When to look is decided in unwind/thread_names.h.
 *
 * Source:  Lib/threading.py, tags v3.6.0 to v3.15.0.
 */
#ifndef UNWIND_OBJECTS_NAMES_H
#define UNWIND_OBJECTS_NAMES_H

#include "unwind/objects/object.h"

/*
 * The dict threading._active of an interpreter.
 *
 * Cache: where threading._active is
 * Key:   address and id of the interpreter
 * Ends:  when the module's variable is not at its place or has another value, when the process
 *        begins another runtime, or when the table is full; that there is none, after a number of
 *        samples that doubles
 * Test:  tests/unit/unwind/objects/test_names.c:
 *          looks_for_the_dict_again_where_the_module_has_another
 *        tests/unit/unwind/objects/test_names.c: knows_interpreters_at_one_address_by_their_id
 */
struct names_dict {
    cpy_addr interp;
    uint64_t interp_id;
    struct object_slot active; /* the variable threading._active; both 0: not found */
    uint64_t next, wait;       /* if not found: sample of the next search, and samples up to it */
};

struct names {
    struct names_dict *dicts; /* owned */
    size_t count, capacity;
    uint64_t sample; /* number of the current sample */
    struct buf text; /* owned: the name that was read last */
};

enum { NAMES_SPAN_MAX = 64 };

/* Where a name was read, so that names_are_same can check it with one read. */
struct names_seen {
    struct object_slot thread, name; /* the Thread in the dict, and the name in the Thread */
    uint32_t span; /* bytes of the str from its length on; 0: over NAMES_SPAN_MAX, or not known */
    unsigned char bytes[NAMES_SPAN_MAX]; /* these bytes */
};

void names_init(struct names *names);
void names_finish(struct names *names);

/* Forgets where the dicts are: the process has begun another runtime. */
void names_forget(struct names *names);

/*
 * Reads the name of the thread whose Thread.ident is `ident` (a pthread_t), and notes where.
 *
 * Lends:  the name, until the next call; NULL: not known, or it cannot be read. threading had the
 *         same Thread object for this ident before and after the name was read.
 * Cost:   about twelve reads, most of them at the same addresses for all threads.
 */
const char *names_read(struct names *names, const struct reader *reader, cpy_addr interp,
                       uint64_t interp_id, uint64_t ident, struct names_seen *seen);

/* True if the thread still has that name. It misses a new name if the Thread object keeps its
 * attributes elsewhere by now. False also if it cannot be told. Cost: one read of three ranges. */
bool names_are_same(const struct reader *reader, const struct names_seen *seen);

#endif
