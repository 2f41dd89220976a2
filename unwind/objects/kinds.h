/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.h - what the instances of a type are to cpy_tasks, remembered for built-in types.
 *
 * A class written in Python may have any name and its memory is used again once it is
 * gone; a type that C code has as a static variable is neither.
 */
#ifndef UNWIND_OBJECTS_KINDS_H
#define UNWIND_OBJECTS_KINDS_H

#include "unwind/objects/object.h"

enum kind {
    KIND_OTHER,
    KIND_GENERATOR, /* a generator, coroutine or asynchronous generator */
    KIND_HELPER,    /* what stands for one while it is awaited */
    KIND_STR,
    KIND_INT
};

enum { KINDS_KNOWN = 32 };

/*
 * Cache: kinds of the instances of types
 * Key:   address of the type object, if it is a static variable of C code
 * Ends:  never: such a type object stays what it is; others are not kept
 * Test:  tests/unit/unwind/stack/test_chain.c: ends_at_a_class_that_is_only_called_coroutine
 */
struct kinds {
    struct {
        cpy_addr type; /* 0: free */
        enum kind kind;
    } known[KINDS_KNOWN];
    size_t next; /* to be replaced */
};

/* The kind of a type object. */
MUST_CHECK enum cpy_rc kinds_of(struct kinds *kinds, const struct reader *reader, cpy_addr type,
                                enum kind *out);

#endif
