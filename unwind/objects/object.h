/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - reads Python objects (str, bytes, int, dict, instance attributes) of a target.
 *
 * The folder unwind/objects/ knows single objects: their values, decoded code objects, the names of
 * threads. It knows neither stacks nor samples.
 *
 * Threads: as the target.
 * Errors:  those of mem_read. CPY_RACED also for memory that cannot be a live object of that type:
 *          it was reused, or the target is hostile. CPY_NOMEM: `out` is full.
 */
#ifndef UNWIND_OBJECTS_OBJECT_H
#define UNWIND_OBJECTS_OBJECT_H

#include "base/buf.h"
#include "unwind/layouts/layout.h"
#include "unwind/read/mem.h"

/* How a target is read and where things lie in it. Pointers are borrowed. */
struct reader {
    struct mem *mem;
    const struct layout *layout;
    bool tasks; /* walk_read_thread also reads the asyncio task that runs in the thread */
};

enum {
    OBJECT_TEXT_MAX = 4096,       /* characters of a str that are kept; "..." replaces the rest */
    OBJECT_BYTES_MAX = 4 << 20,   /* of a bytes object: see object_read_bytes */
    OBJECT_ENTRIES_MAX = 1 << 17, /* entries of a dict */
    OBJECT_SLOTS_MAX = 1 << 20,   /* of a set's table */
    OBJECT_SIZE_MAX = 4096        /* tp_basicsize */
};

/* Appends a str as UTF-8 and a NUL. NULs inside and lone surrogates become U+FFFD. */
MUST_CHECK enum cpy_rc object_read_str(const struct reader *reader, cpy_addr str, struct buf *out);

/* The same; *span is the number of bytes of the str that object_take_str needs. */
MUST_CHECK enum cpy_rc object_read_str_span(const struct reader *reader, cpy_addr str,
                                            struct buf *out, uint32_t *span);

/*
 * The same for a copy: `bytes` has `span` bytes of the str from offset unicode.length on.
 * Errors: CPY_RACED: no str whose kept characters end there; CPY_NOMEM.
 */
MUST_CHECK enum cpy_rc object_take_str(const struct layout *layout, const unsigned char *bytes,
                                       uint32_t span, struct buf *out);

/*
 * Appends the content of a bytes object; *size is its full size. Of an object over OBJECT_BYTES_MAX
 * only the first `most` bytes are appended, after a check of its type.
 */
MUST_CHECK enum cpy_rc object_read_bytes(const struct reader *reader, cpy_addr bytes, size_t most,
                                         struct buf *out, uint64_t *size);

/* True if the type object `type` is called `name` (at most 31 bytes); false also if unreadable. */
bool object_type_is(const struct reader *reader, cpy_addr type, const char *name);

/* A value, and the address of the reference to it; both 0: there is none. */
struct object_slot {
    cpy_addr value, at;
};

/* Finds the value of the str key `name` (ASCII, at most 31 bytes) in a dict; *out may be none. */
MUST_CHECK enum cpy_rc object_dict_find(const struct reader *reader, cpy_addr dict,
                                        const char *name, struct object_slot *out);

/* The same among the first `most` entries only, which are the oldest keys. */
MUST_CHECK enum cpy_rc object_dict_find_first(const struct reader *reader, cpy_addr dict,
                                              const char *name, uint64_t most,
                                              struct object_slot *out);

/* Callback for an entry of a dict; `at`: address of the reference to `value`. False: stop. */
typedef bool object_each_entry(void *ctx, cpy_addr key, cpy_addr value, cpy_addr at);

/* Calls `each` for each entry of a dict. */
MUST_CHECK enum cpy_rc object_dict_each(const struct reader *reader, cpy_addr dict,
                                        object_each_entry *each, void *ctx);

/*
 * Finds the value of an int key in a dict by its hash; *out may be none.
 *
 * Errors: also CPY_RACED: the key is not less than 2^61 - 1.
 * Cost:   four reads as a rule, whatever the size of the dict.
 */
MUST_CHECK enum cpy_rc object_dict_find_int(const struct reader *reader, cpy_addr dict,
                                            uint64_t key, struct object_slot *out);

/* Writes *count members of a set, at most `most`, into `out`; *total is the size of the set. */
MUST_CHECK enum cpy_rc object_read_set(const struct reader *reader, cpy_addr set, cpy_addr *out,
                                       size_t most, size_t *count, uint64_t *total);

/* The attribute `name` of an object, not of its type; *out may be none. CPY_RACED also if the
 * object can have no attributes. */
MUST_CHECK enum cpy_rc object_attribute(const struct reader *reader, cpy_addr object,
                                        const char *name, struct object_slot *out);

/* The value of an int from 0 to UINT64_MAX; CPY_RACED: it is another one. */
MUST_CHECK enum cpy_rc object_read_uint(const struct reader *reader, cpy_addr integer,
                                        uint64_t *out);

#endif
