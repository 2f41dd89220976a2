/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code.h - decodes code objects once and knows when an address holds another one.
 *
 * Shape:   codes_init; for each stack codes_check (all its code objects in one read),
 *          then codes_find for each; codes_sweep between samples; codes_finish.
 * Validity: code objects die, and another one may have the same address, and its names and its line
 *          table the same addresses, too. An entry is good if
 *          - 3.14 and later: the interpreter has counted no more code objects that died
 *            (_code_object_generation);
 *          - 3.12 and 3.13: the object has the same pointers and the same version (co_version, a
 *            number that an interpreter gives once; 0: it has given all);
 *          - else: the object has the same pointers, and at these the same names and the same line
 *            table.
 *          Before 3.14 frames that are as they were in the sample before are trusted in most
 *          samples of a process that has replaced no code object lately: see codes_trusted.
 * Source:  Objects/codeobject.c and Python/pystate.c, tags v3.6.15 to v3.15.0.
 */
#ifndef UNWIND_OBJECTS_CODE_H
#define UNWIND_OBJECTS_CODE_H

#include "base/pointer_table.h"
#include "unwind/objects/object.h"

enum { CODES_MAX = 65536, CODES_BYTES_MAX = 32 << 20 }; /* cached at most; then all are dropped */

/* Samples without a replaced code object until entries are trusted; then one sample in so many
 * compares them still. */
enum { CODES_QUIET = 128, CODES_EACH = 8 };

enum { CODES_TABLE_COMPARED = 16 << 10 }; /* first bytes of a line table that are compared */

/* A decoded code object. Owned by the cache, in one piece with its strings and table. */
struct code_entry {
    struct cpy_code code; /* what is lent to the caller */
    cpy_addr addr;
    uint64_t generation; /* of its owner when it was checked; 0: check at each sample */
    uint64_t checked;    /* the pass in which its head was checked */
    uint64_t compared;   /* the sample in which its names and its line table were compared */
    uint64_t stamp;      /* codes_stamp of its version; 0: it has none */
    cpy_addr filename, qualname, linetable;
    cpy_addr co_code;        /* before 3.11 */
    int32_t first_traceable; /* code unit before which a frame is not complete */
    int64_t unit_count;      /* code units */
    struct code_entry *next_dead;
    size_t bytes, table_size;
    uint64_t table_length;         /* the table's own size; above table_size: it is too large */
    unsigned char *table;          /* inside this piece of memory */
    uint32_t func_span, file_span; /* of its names, see object_take_str */
    uint32_t version;              /* co_version; 0: none */
};

/* Bytes of the table that lines are looked up in. None of one that is too large: only the first
 * part of it is kept, and its frames have no line. */
static inline size_t code_lines_size(const struct code_entry *entry)
{
    return entry->table_length == entry->table_size ? entry->table_size : 0;
}

/*
 * Cache: decoded code objects
 * Key:   address of the code object
 * Ends:  when the object is not the same (Validity above); all when there are too many
 * Test:  tests/unit/unwind/objects/test_code_reuse.c: notices_another_name_at_the_same_address
 *        tests/unit/unwind/objects/test_code_reuse.c:
 *          notices_another_line_table_at_the_same_address
 *        tests/unit/unwind/test_reused_addresses.c:
 *          names_functions_of_interpreters_that_are_made_in_turn
 *        tests/unit/unwind/test_reused_addresses.c:
 *          names_functions_of_a_runtime_that_was_begun_again
 *        tests/integration/test_reuse.py:
 *          test_functions_that_are_made_in_turn_at_the_same_addresses
 */
struct codes {
    struct pointer_table by_addr; /* struct code_entry, owned */
    size_t bytes;                 /* of all of them */
    struct code_entry *dead;      /* owned: replaced during this sample, still lent */
    struct buf text;              /* owned: scratch for decoding */
    uint64_t next_id, pass, sample;
    uint64_t replaced_at; /* the sample in which a code object was found replaced last; 0: none */
    uint64_t restarts;    /* times that the process began a new Python runtime */
    uint64_t decoded, replaced, evicted; /* how many so far */
    cpy_addr code_type; /* of all code objects: a static variable; 0: none was met yet */
};

void codes_init(struct codes *codes);
void codes_finish(struct codes *codes);

/* Begins a sample: frees what was replaced since the last one; empties a cache if too large. */
void codes_sweep(struct codes *codes);

/*
 * A number for `count` of an interpreter: no other interpreter of the process, before or after it,
 * has the same one for any count. Ids of interpreters are given once, but for those of another
 * runtime, which `restarts` counts. (Not so before 3.12, where nothing tells of another runtime,
 * and 3.6 has no ids: there only a comparison finds out.)
 */
static inline uint64_t codes_stamp(const struct codes *codes, uint64_t interp_id, uint64_t count)
{
    /* Multiples of these are far apart, and counts are small. */
    return count + (interp_id + 1) * UINT64_C(0x9e3779b97f4a7c15) +
           codes->restarts * UINT64_C(0xd1b54a32d192ed03);
}

/* The interpreter whose code objects they are. */
struct codes_owner {
    uint64_t interp_id;
    uint64_t generation; /* codes_stamp of its count of code objects that died; 0: no count */
};

/*
 * True if no code object was found replaced for so long that a frame which is as it was in the
 * sample before has the same one. Few programs replace functions while they run, and those that
 * do so do it again and again. One that begins to may be given the function that was at the same
 * address, called from the same place, for CODES_EACH samples or so: until its thread is read in a
 * sample that compares. To compare them in each sample takes up to half of the time of one.
 */
static inline bool codes_trusted(const struct codes *codes)
{
    return codes->sample - codes->replaced_at >= CODES_QUIET;
}

/* True if this is a sample in which trusted entries are compared, too. */
static inline bool codes_compared_now(const struct codes *codes)
{
    return codes->sample % CODES_EACH == 0;
}

/*
 * Makes sure that each address of `addrs` is decoded and up to date.
 *
 * Errors: CPY_RACED: one of them is no code object (any more); CPY_NOMEM.
 * Cost:   nothing where the generation vouches for all; else one read for all that was not
 *         fetched. Names and line tables are compared once a sample.
 */
MUST_CHECK enum cpy_rc codes_check(struct codes *codes, const struct reader *reader,
                                   const cpy_addr *addrs, size_t count,
                                   const struct codes_owner *owner);

/* Has a code object decoded again at the next check, because a frame does not fit what is known. */
void codes_distrust(struct codes *codes, cpy_addr addr);

/* An entry that codes_check has seen. Lends until codes_sweep; NULL: was never checked. */
static inline const struct code_entry *codes_find(const struct codes *codes, cpy_addr addr)
{
    return pointer_table_find(&codes->by_addr, addr);
}

#endif
