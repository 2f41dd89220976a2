/* SPDX-License-Identifier: Apache-2.0 */
/* test_candidates.c - every process is found by its pid, and gone ones are ended once. */
#include <stdlib.h>

#include "agent/discover/candidates.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"

enum { COUNT = 3 * CANDIDATE_BUCKETS };

static bool everyone(void *ctx, const struct candidate *candidate)
{
    (void)ctx;
    (void)candidate;
    return true;
}

static bool has_odd_pid(void *ctx, const struct candidate *candidate)
{
    (void)ctx;
    return candidate->id.pid % 2 != 0;
}

static void count_one(void *ctx, struct candidate *candidate)
{
    size_t *count = ctx;

    assert_true(candidate->id.pid > 0);
    ++*count;
}

/* Candidates of pid 1 to COUNT: three in each bucket. */
static struct candidates *make(void)
{
    struct candidates *candidates = calloc(1, sizeof(*candidates));

    assert_non_null(candidates);
    for (pid_t pid = 1; pid <= COUNT; pid++)
        assert_non_null(candidates_add(candidates, (struct proc_id){pid, 7 * (uint64_t)pid}));
    return candidates;
}

static void end(struct candidates *candidates)
{
    size_t ended = 0, count = candidates->count;

    candidates_sweep(candidates, everyone, count_one, &ended);
    assert_int_equal(ended, count);
    assert_int_equal(candidates->count, 0);
    free(candidates);
}

static void finds_each_by_its_pid(void **state)
{
    struct candidates *candidates = make();

    (void)state;
    assert_int_equal(candidates->count, COUNT);
    for (pid_t pid = 1; pid <= COUNT; pid++) {
        assert_non_null(candidates_find(candidates, pid));
        assert_int_equal(candidates_find(candidates, pid)->id.pid, pid);
        assert_int_equal(candidates_find(candidates, pid)->id.start, 7 * (uint64_t)pid);
    }
    assert_null(candidates_find(candidates, COUNT + 1));
    assert_null(candidates_find(candidates, 0));
    end(candidates);
}

static void starts_as_new(void **state)
{
    struct candidates *candidates = make();
    const struct candidate *candidate = candidates_find(candidates, 1);

    (void)state;
    assert_int_equal(candidate->state, CANDIDATE_NEW);
    end(candidates);
}

static void sweeps_out_those_that_are_gone_and_no_others(void **state)
{
    struct candidates *candidates = make();
    size_t ended = 0;

    (void)state;
    candidates_sweep(candidates, has_odd_pid, count_one, &ended);

    assert_int_equal(ended, COUNT / 2);
    assert_int_equal(candidates->count, COUNT / 2);
    for (pid_t pid = 1; pid <= COUNT; pid++)
        assert_int_equal(candidates_find(candidates, pid) != NULL, pid % 2 == 0);
    end(candidates);
}

static void adds_nothing_without_memory(void **state)
{
    struct candidates *candidates = make();
    const struct candidate *candidate;

    (void)state;
    alloc_fail_all();
    candidate = candidates_add(candidates, (struct proc_id){COUNT + 1, 1});
    (void)alloc_fail_stop();
    assert_null(candidate);
    assert_int_equal(candidates->count, COUNT);
    end(candidates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_by_its_pid),
        cmocka_unit_test(starts_as_new),
        cmocka_unit_test(sweeps_out_those_that_are_gone_and_no_others),
        cmocka_unit_test(adds_nothing_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
