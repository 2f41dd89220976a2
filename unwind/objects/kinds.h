/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.h - sorts the types of objects into the kinds that reading asyncio tasks needs.
 *
 * Only static types of C code are recognised by their names, and remembered: a class made at
 * run time may have any name, and other objects may get its memory.
 */
#ifndef UNWIND_OBJECTS_KINDS_H
#define UNWIND_OBJECTS_KINDS_H

#include "unwind/objects/object.h"

enum kind {
    KIND_OTHER,
    KIND_GENERATOR, /* a generator, coroutine or asynchronous generator */
    KIND_HELPER,    /* wrapper of one while it is awaited, as __await__() returns it */
    KIND_STR,       /* str or a subclass */
    KIND_INT        /* int or a subclass */
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
    size_t next; /* index of the item that is replaced next */
};

/* The kind of the instances of a type object. Errors: those of mem_read. */
MUST_CHECK enum cpy_rc kinds_of(struct kinds *kinds, const struct reader *reader, cpy_addr type,
                                enum kind *out);

#endif
