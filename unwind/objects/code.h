/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code.h - decodes code objects once, and finds out when another one has the same address.
 *
 * Shape:   codes_init; codes_sweep before each sample; for each stack codes_check (all its code
 *          objects in one read), then codes_find for each; codes_finish.
 * Validity: code objects die, and another one may have the same address, and its names and its line
 *          table the same addresses, too. An entry is good if
 *          - 3.14 and later: the interpreter has counted no more code objects that died
 *            (_code_object_generation);
 *          - 3.12 and 3.13: the object has the same pointers and the same version (co_version, a
 *            number that an interpreter gives once; 0: it has given all);
 *          - else: the object has the same pointers, and at these the same names and the same line
 *            table.
 *          Before 3.14, most samples do not check the code objects of frames that are unchanged
 *          since the sample before, if none was found replaced lately: see codes_trusted.
 * Source:  Objects/codeobject.c and Python/pystate.c, tags v3.6.15 to v3.15.0.
 */
#ifndef UNWIND_OBJECTS_CODE_H
#define UNWIND_OBJECTS_CODE_H

#include "base/pointer_table.h"
#include "unwind/objects/object.h"

enum { CODES_MAX = 65536, CODES_BYTES_MAX = 32 << 20 }; /* cached at most; then all are dropped */

/* QUIET: samples without a replaced code object after which unchanged frames are trusted. EACH: one
 * of so many samples compares them nevertheless. */
enum { CODES_QUIET = 128, CODES_EACH = 8 };

enum { CODES_TABLE_COMPARED = 16 << 10 }; /* first bytes of a line table that are compared */

/* A decoded code object. Owned by the cache, in one allocation with its strings and table. */
struct code_entry {
    struct cpy_code code; /* lent to the caller */
    cpy_addr addr;        /* of the code object */
    uint64_t generation;  /* codes_owner.generation at the last check; 0: check in each sample */
    uint64_t checked;     /* codes.pass in which its own fields were last compared */
    uint64_t compared;    /* codes.sample in which its names and line table were last compared */
    uint64_t stamp;       /* codes_stamp of `version`; 0: it has none */
    cpy_addr filename, qualname, linetable; /* pointers in the code object */
    cpy_addr co_code;                       /* likewise, before 3.11; else 0 */
    int32_t first_traceable;                /* code unit before which a frame is not complete */
    int64_t unit_count;                     /* code units of its bytecode */
    struct code_entry *next_dead;           /* in codes.dead */
    size_t bytes, table_size;               /* of this allocation; of `table` */
    uint64_t table_length;         /* the table's size in the target; over table_size: too large */
    unsigned char *table;          /* inside this allocation */
    uint32_t func_span, file_span; /* of its names, see object_take_str */
    uint32_t version;              /* co_version; 0: none */
};

/* Bytes of the table for linetable.h. 0 for a table that is too large: only its first part is kept,
 * and its frames have no line. */
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
    struct pointer_table by_addr;   /* struct code_entry, owned */
    size_t bytes;                   /* of all entries in by_addr */
    struct code_entry *dead;        /* owned: list of entries replaced in this sample, still lent */
    struct buf text;                /* owned: scratch for decoding */
    uint64_t next_id, pass, sample; /* next cpy_code.id; codes_check, codes_sweep calls so far */
    uint64_t replaced_at; /* the sample in which a code object was found replaced last; 0: none */
    uint64_t restarts;    /* times that the process began a new Python runtime */
    uint64_t decoded, replaced, evicted; /* code objects so far */
    cpy_addr code_type; /* of all code objects: a static variable; 0: none was met yet */
};

void codes_init(struct codes *codes);
void codes_finish(struct codes *codes);

/* Begins a sample: frees replaced entries; frees all entries if they are over a limit. */
void codes_sweep(struct codes *codes);

/*
 * A number for `count` of an interpreter. No other interpreter of the process, past or future, has
 * the same number for any count: a runtime gives each id once, and `restarts` counts runtimes.
 * (Before 3.12 another runtime is not noticed, and 3.6 has no ids: there only comparing helps.)
 */
static inline uint64_t codes_stamp(const struct codes *codes, uint64_t interp_id, uint64_t count)
{
    /* Multiples of these are far apart, and counts are small. */
    return count + (interp_id + 1) * UINT64_C(0x9e3779b97f4a7c15) +
           codes->restarts * UINT64_C(0xd1b54a32d192ed03);
}

/* The interpreter that code objects belong to. */
struct codes_owner {
    uint64_t interp_id;
    uint64_t generation; /* codes_stamp of its count of code objects that died; 0: no count */
};

/*
 * True if no code object was found replaced for so long that unchanged frames are trusted to have
 * the same ones. Few programs replace functions while they run, and those do it repeatedly. After
 * the first replacement, samples may show the old function instead of the new one at its address
 * for about CODES_EACH samples, until the thread is read in a sample that compares. Comparing in
 * each sample would take up to half of its time.
 */
static inline bool codes_trusted(const struct codes *codes)
{
    return codes->sample - codes->replaced_at >= CODES_QUIET;
}

/* True if this sample compares trusted entries, too. */
static inline bool codes_compared_now(const struct codes *codes)
{
    return codes->sample % CODES_EACH == 0;
}

/*
 * Makes sure that the code object at each address of `addrs` is decoded and up to date.
 *
 * Errors: CPY_RACED: one of them is no code object (any more); CPY_NOMEM; those of mem_read.
 * Cost:   no read if owner->generation is as at the last check; else one for all memory that was
 *         not fetched. Names and line tables are compared once a sample.
 */
MUST_CHECK enum cpy_rc codes_check(struct codes *codes, const struct reader *reader,
                                   const cpy_addr *addrs, size_t count,
                                   const struct codes_owner *owner);

/* Makes the next check decode a code object again, because a frame does not fit its entry. */
void codes_distrust(struct codes *codes, cpy_addr addr);

/* The entry of an address, after codes_check. Lends until codes_sweep; NULL: there is none. */
static inline const struct code_entry *codes_find(const struct codes *codes, cpy_addr addr)
{
    return pointer_table_find(&codes->by_addr, addr);
}

#endif
