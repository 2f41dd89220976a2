/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code.h - decodes code objects once and knows when an address holds another one.
 *
 * Shape:   codes_init; for each stack codes_check (all its code objects in one read),
 *          then codes_find for each; codes_sweep between samples; codes_finish.
 * Validity: code objects die and their addresses are used again. From 3.14 on the
 *          interpreter counts that (_code_object_generation); an entry that was checked
 *          under the same count is good. Before, and after the count has moved, the
 *          entry's pointers are compared with what the object has now.
 */
#ifndef UNWIND_OBJECTS_CODE_H
#define UNWIND_OBJECTS_CODE_H

#include "base/pointer_table.h"
#include "unwind/objects/object.h"

enum { CODES_MAX = 65536, CODES_BYTES_MAX = 32 << 20 }; /* cached at most; then all are dropped */

/* A decoded code object. Owned by the cache, in one piece with its strings and table. */
struct code_entry {
    struct cpy_code code; /* what is lent to the caller */
    cpy_addr addr;
    uint64_t generation; /* under which it was checked; 0: check at each sample */
    uint64_t checked;    /* the pass in which it was checked */
    cpy_addr filename, qualname, linetable;
    cpy_addr co_code;        /* before 3.11 */
    int32_t first_traceable; /* code unit before which a frame is not complete */
    int64_t unit_count;      /* code units */
    struct code_entry *next_dead;
    size_t bytes, table_size;
    unsigned char *table; /* inside this piece of memory */
};

struct codes {
    struct pointer_table by_addr; /* struct code_entry, owned */
    size_t bytes;                 /* of all of them */
    struct code_entry *dead;      /* owned: replaced during this sample, still lent */
    struct buf text;              /* owned: scratch for decoding */
    uint64_t next_id, pass;
    uint64_t decoded, replaced, evicted; /* how many so far */
    cpy_addr code_type;
};

void codes_init(struct codes *codes);
void codes_finish(struct codes *codes);

/* Frees what was replaced since the last sweep; empties a cache that is too large. */
void codes_sweep(struct codes *codes);

/*
 * Makes sure that each address of `addrs` is decoded and up to date.
 *
 * `generation`: what tells the state of the interpreter's code objects, 0 where
 * nothing does.
 * Errors: CPY_RACED: one of them is no code object (any more); CPY_NOMEM.
 * Cost:   nothing where the generation vouches for all; else one read for all.
 */
MUST_CHECK enum cpy_rc codes_check(struct codes *codes, const struct reader *reader,
                                   const cpy_addr *addrs, size_t count, uint64_t generation);

/* An entry that codes_check has seen. Lends until codes_sweep; NULL: was never checked. */
static inline const struct code_entry *codes_find(const struct codes *codes, cpy_addr addr)
{
    return pointer_table_find(&codes->by_addr, addr);
}

#endif
