/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.h - the functions, lines or threads that pystrobe top has seen, each once, with sums.
 *
 * Shape:   top_items_init, top_items_get as they are met, read `items`, top_items_finish.
 * Threads: a table belongs to one thread at a time.
 */
#ifndef AGENT_TOP_ITEMS_H
#define AGENT_TOP_ITEMS_H

#include <stdbool.h>

#include "agent/sampling/service.h"
#include "base/arena.h"

enum {
    TOP_VALUES = VALUES_USUAL,
    TOP_ITEMS_MAX = 1 << 16,      /* of one table; those that come later share the first item */
    TOP_ITEMS_TEXT_MAX = 32 << 20 /* bytes of their names */
};

/* What was spent in one thing itself, and in all that it called, for each value of a service. */
struct top_sum {
    int64_t own[TOP_VALUES], total[TOP_VALUES];
};

/*
 * What tells one thing from another; what a kind of thing does not have is 0 or "".
 *
 * Cache: what functions, lines and threads took
 * Key:   name, file and line; of a thread pid, the kernel's thread id and its name
 * Ends:  never; a later thread with the same ids and name adds to the same item
 * Test:  tests/unit/top/test_model.c: threads_have_their_shares_and_what_they_do
 */
struct top_key {
    const char *name; /* of a function or thread, as the profile has it */
    const char *file;
    int32_t line;      /* the first of a function; of a line its number; 0: not known */
    uint32_t function; /* of a line: the item of its function */
    pid_t pid, tid;    /* of a thread; tid 0: of CPU time that no thread was seen with */
};

struct top_item {
    struct top_key key; /* its strings are the table's */
    struct top_sum whole, recent;
    uint32_t slice; /* the last in which it was met, */
    uint32_t part;  /* and where its share of that is */
    uint64_t row;   /* the row whose stack it was met on last */
    /* Of threads: */
    uint32_t doing;   /* the function that was innermost for longest in its last slice */
    int64_t doing_ns; /* for so long */
    char state;       /* the kernel's letter for what it does now; 0: not known, or it ended */
};

struct top_items {
    struct top_item *items; /* owned; the first stands for all that there is no room for */
    size_t count, capacity;
    uint32_t *buckets; /* owned: indices by hash; 0: free */
    size_t bucket_count;
    struct arena text; /* owned */
};

/* Makes a table with nothing but its first item, which is called `rest`. False: out of memory. */
MUST_CHECK bool top_items_init(struct top_items *items, const char *overflow_name);

/* The index of the item with this key, made if it is new; 0 if there is no room. Items move. */
MUST_CHECK uint32_t top_items_get(struct top_items *items, const struct top_key *key);

void top_items_finish(struct top_items *items);

#endif
