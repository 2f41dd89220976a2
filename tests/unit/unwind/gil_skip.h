/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gil_skip.h - a made target of which GIL-skip samples can be taken.
 */
#ifndef TESTS_UNIT_UNWIND_GIL_SKIP_H
#define TESTS_UNIT_UNWIND_GIL_SKIP_H

#include <stdio.h>

#include "tests/unit/unwind/target.h"

enum {
    THREADS = 3,
    LIST_LOOKS = 64
}; /* GIL-skip samples until the interpreters are listed again */

/* The threads, in the order of samples: the newest first. */
static cpy_addr threads[THREADS];

/* Three threads, of which the last holds the GIL; two samples, the second is a GIL-skip sample. */
static inline void make_threads(struct fixture *f)
{
    for (size_t i = THREADS; i-- > 0;)
        threads[i] = add_thread(f, stack_of(f, "old", 5));
    hold_gil(f, threads[2]);
    assert_int_equal(sample(f), CPY_OK);
    f->target->cache.names.last_thread_count = THREADS;
    f->target->cache.names.next_refresh = UINT64_MAX; /* nobody has a name: do not look for them */
    assert_int_equal(sample(f), CPY_OK);
    assert_int_equal(cpy_stats(f->target)->gil_skips, 1);
}

/* All threads go somewhere else, as only those can that hold the GIL for a while. */
static inline void move_all(struct fixture *f, const char *func)
{
    for (size_t i = 0; i < THREADS; i++)
        put_stack(f, threads[i], stack_of(f, func, 5));
}

static inline uint64_t gil_skip_samples(const struct fixture *f)
{
    return cpy_stats(f->target)->gil_skips;
}

/* The functions that a sample gave, as "old new old ". */
static inline const char *functions(const struct fixture *f)
{
    static char text[256];

    text[0] = '\0';
    for (size_t i = 0; i < f->count; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
                       f->innermost[i] ? f->innermost[i]->func : "-");
    return text;
}

/* A sample that reads all threads, and soon (once no name is looked for) one that does not. */
static inline void assert_full_once(struct fixture *f)
{
    uint64_t gil_skips = gil_skip_samples(f);

    assert_int_equal(sample(f), CPY_OK);
    assert_int_equal(gil_skip_samples(f), gil_skips);
    for (int i = 0; i < 8; i++)
        assert_int_equal(sample(f), CPY_OK);
    assert_true(gil_skip_samples(f) > gil_skips);
}

static inline void assert_never_gil_skip(struct fixture *f)
{
    uint64_t gil_skips = gil_skip_samples(f);

    for (int i = 0; i < 4; i++)
        assert_int_equal(sample(f), CPY_OK);
    assert_int_equal(gil_skip_samples(f), gil_skips);
}

#endif
