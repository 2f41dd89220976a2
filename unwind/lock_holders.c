/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_holders.c - finds out who has a lock that another thread waits for. See cpy_lock_holders.
 *
 * A lock does not say who has it. But a frame that took it by `with` keeps on its evaluation stack
 * what gives it back: up to 3.13 the bound method __exit__ of the lock, from 3.14 on the function
 * __exit__ and, next to it, the lock.
 *
 * A lock begins with a pointer to a semaphore, which the threads wait at, or with a PyMutex (RLock
 * from 3.14 on, Lock from a release of 3.13 on). Whoever waits for a PyMutex waits at a semaphore
 * of its own, before which the address of the mutex lies.
 *
 * A value that is left over above the top of a stack could name a lock that was given back. From
 * 3.14 on the frame says where the top is. Before, it does not while C code runs, but nothing else
 * refers to the bound method: once it is freed its count of references is not 1. Where it lies
 * another thread may have its own for the same lock: then two have it, and neither counts.
 *
 * Source: Modules/_threadmodule.c, the parking lot of PyMutex, and what `with` is compiled to, of
 *         CPython 3.6 to 3.15.
 */
#include <stdlib.h>
#include <string.h>

#include "unwind/frame_values.h"

enum {
    READS_MAX = 16384, /* of one call */
    OBJECT_WORDS = 16, /* bytes of the two words behind the head of an object */
    OBJECT_BYTES = 32 + OBJECT_WORDS,
    DESCR_METHOD = 24 /* where a method descriptor has its PyMethodDef, behind its head */
};

/* One call. */
struct search {
    struct cpy_target *target;
    struct reader reader;
    uint32_t head; /* bytes of an object before its own fields */
    struct cpy_lock_wait *waits;
    cpy_addr *parked;     /* owned: of each wait, the mutex, if it is one */
    size_t count, at;     /* `at`: whose stack is searched */
    uint64_t reads_limit; /* value of mem->reads at which the search ends */
};

static bool read_bytes(struct search *s, cpy_addr from, void *into, size_t size)
{
    return s->target->process.mem->reads < s->reads_limit &&
           mem_read(&s->target->prefetch.mem, from, into, size) == CPY_OK;
}

static cpy_addr read_word_at(struct search *s, cpy_addr from)
{
    cpy_addr word = 0;

    return read_bytes(s, from, &word, sizeof(word)) ? word : 0;
}

/* True if the PyMethodDef is called __exit__. */
static bool is_exit(struct search *s, cpy_addr definition)
{
    char name[sizeof("__exit__")];

    return read_bytes(s, read_word_at(s, definition), name, sizeof(name)) &&
           memcmp(name, "__exit__", sizeof(name)) == 0;
}

/* True if the type of an object is called so. */
static bool is_instance(struct search *s, cpy_addr object, const char *type)
{
    return object_type_is(&s->reader, read_word_at(s, object + s->head - 8), type);
}

/* What may be a lock, or an RLock, of the target. */
struct candidate {
    cpy_addr object, mutex;
    cpy_addr semaphore; /* that it points to; 0: not known */
};

static bool waits_for(const struct cpy_lock_wait *wait, cpy_addr parked,
                      const struct candidate *lock)
{
    return wait->futex == lock->semaphore || parked == lock->mutex;
}

/* True if another thread waits for the lock, and not the one whose stack is searched. */
static bool is_waited_for(const struct search *s, const struct candidate *lock)
{
    bool wanted = false;

    for (size_t i = 0; i < s->count; i++)
        wanted = wanted || waits_for(&s->waits[i], s->parked[i], lock);
    return wanted && !waits_for(&s->waits[s->at], s->parked[s->at], lock);
}

/* True if an object, of which that much was read, is the bound method __exit__ of a lock that
 * another thread waits for. */
static bool is_bound_exit(struct search *s, cpy_addr object, const unsigned char *bytes,
                          struct candidate *out)
{
    enum { DEFINITION, SELF, WORDS };
    cpy_addr references, words[WORDS];

    memcpy(&references, bytes, sizeof(references));
    memcpy(words, bytes + s->head, sizeof(words));
    if (references != 1)
        return false;
    *out = (struct candidate){words[SELF], words[SELF] + s->head,
                              read_word_at(s, words[SELF] + s->head)};
    return is_waited_for(s, out) && is_instance(s, object, "builtin_function_or_method") &&
           is_exit(s, words[DEFINITION]);
}

/* The same for a function __exit__, and the lock next to it. */
static bool is_exit_of(struct search *s, cpy_addr function, cpy_addr object, struct candidate *out)
{
    *out = (struct candidate){object, object + s->head, 0};
    return is_waited_for(s, out) && is_instance(s, function, "method_descriptor") &&
           is_exit(s, read_word_at(s, function + s->head + DESCR_METHOD));
}

static void note_lock_holder(struct search *s, const struct candidate *lock)
{
    struct cpy_lock_wait *wait;

    for (size_t i = 0; i < s->count; i++) {
        wait = &s->waits[i];
        if (!waits_for(wait, s->parked[i], lock))
            continue;
        wait->lock = lock->object;
        wait->holder =
            wait->holder == CPY_NO_HOLDER || wait->holder == s->at ? s->at : CPY_SEVERAL_HOLDERS;
    }
}

/* Looks at the values of a frame for bound methods. */
static void search_bound(struct search *s, const struct frame_values_part *part)
{
    unsigned char objects[FRAME_VALUES_MAX][OBJECT_BYTES] = {{0}};
    struct mem_range ranges[FRAME_VALUES_MAX];
    struct candidate lock;
    size_t count = 0, i;

    for (i = 0; i < part->count; i++)
        if (part->values[i] != 0 && part->values[i] % 8 == 0) {
            ranges[count] = (struct mem_range){part->values[i], objects[count], OBJECT_BYTES};
            count++;
        }
    if (mem_read_ranges(&s->target->prefetch.mem, ranges, count) != CPY_OK)
        for (i = 0; i < count; i++) /* some are no objects */
            if (!read_bytes(s, ranges[i].from, objects[i], OBJECT_BYTES))
                memset(objects[i], 0, OBJECT_BYTES);
    for (i = 0; i < count; i++)
        if (is_bound_exit(s, ranges[i].from, objects[i], &lock))
            note_lock_holder(s, &lock);
}

/* Looks at the values of a frame, below the top of its stack, for functions with locks. */
static void search_pairs(struct search *s, const struct frame_values_part *part)
{
    const struct layout *l = &s->target->found.layout;
    const cpy_addr top = read_word_at(s, part->frame + l->generator.stackpointer);
    struct candidate lock;

    for (size_t i = 0; i + 1 < part->count && part->from + 8 * (i + 1) < top; i++)
        if (is_exit_of(s, part->values[i] & l->tag_mask, part->values[i + 1] & l->tag_mask, &lock))
            note_lock_holder(s, &lock);
}

static void search_stack(struct search *s)
{
    const struct raw_stack *stack = s->target->scratch->raw;
    const size_t depth = stack->depth < FRAME_VALUES_DEPTH ? stack->depth : FRAME_VALUES_DEPTH;
    struct frame_values values;

    for (size_t i = 0; i < depth; i += FRAME_VALUES_BATCH) {
        if (frame_values_read(s->target, &stack->frames[i],
                              depth - i < FRAME_VALUES_BATCH ? depth - i : FRAME_VALUES_BATCH,
                              &values) != CPY_OK)
            return;
        for (size_t j = 0; j < values.count; j++)
            if (s->target->found.layout.with_keeps_pair)
                search_pairs(s, &values.parts[j]);
            else
                search_bound(s, &values.parts[j]);
    }
}

enum cpy_rc cpy_lock_holders(struct cpy_target *t, struct cpy_lock_wait *waits, size_t count)
{
    struct search search = {.target = t,
                            .reader = target_reader(t),
                            .head = t->found.layout.object.ob_type + 8,
                            .waits = waits,
                            .parked = calloc(count + 1, sizeof(*search.parked)),
                            .count = count,
                            .reads_limit = t->process.mem->reads + READS_MAX};
    const struct listed *thread;

    if (!search.parked)
        return CPY_NOMEM;
    t->prefetch.now = NULL;
    for (size_t i = 0; i < count; i++) {
        search.parked[i] = read_word_at(&search, waits[i].futex - 8);
        waits[i].lock = 0;
        waits[i].holder = CPY_NO_HOLDER;
    }
    if (search.head > OBJECT_BYTES - OBJECT_WORDS) /* no version has such objects */
        search.at = count;
    for (; search.at < count && t->process.mem->reads < search.reads_limit; search.at++)
        if (frame_values_walk(t, waits[search.at].state, &thread) == CPY_OK)
            search_stack(&search);
    free(search.parked);
    return CPY_OK;
}
