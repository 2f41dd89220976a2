/* SPDX-License-Identifier: Apache-2.0 */
/* test_nomem.c - whichever allocation fails, it is said, nothing leaks, the next try works.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/pprof/example.h"
#include "tests/unit/unit_test.h"

enum { BUDGET = 1 << 20, TRIES_MAX = 1000 };

static void ignore(void *ctx)
{
    (void)ctx;
}

/* Makes a profile, encodes it, decodes that, merges, adds it up and makes it fit: everything that
 * allocates. */
static enum pprof_rc there_and_back(struct buf *out)
{
    static const struct pprof_rename renames[] = {{"tid", "thread_id"}, {NULL, NULL}};
    const struct pprof_fit fit = {
        .renames = renames, .texts = true, .label_max = 2, .depth_max = 2};
    struct pprof *fitted = NULL;
    struct pprof_decoded decoded = {0};
    struct pprof_top *top = NULL;
    struct pprof *p = NULL;
    size_t count;
    enum pprof_rc rc = pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p);

    if (rc == PPROF_OK)
        rc = example_fill(p, "012");
    if (rc == PPROF_OK)
        rc = pprof_encode_parts(p, &example_meta, &(struct pprof_bounds){1, 1}, out, ignore, NULL);
    if (rc == PPROF_OK)
        out->size = 0;
    if (rc == PPROF_OK)
        rc = pprof_encode(p, &example_meta, out);
    if (rc == PPROF_OK)
        rc = pprof_decode(out->data, out->size, BUDGET, &decoded, NULL);
    if (rc == PPROF_OK)
        rc = pprof_merge(p, decoded.profile);
    if (rc == PPROF_OK)
        rc = pprof_top(p, 0, &top, &count);
    if (rc == PPROF_OK && count != 4)
        rc = PPROF_BAD;
    if (rc == PPROF_OK)
        rc = pprof_fit(p, &fit, &fitted);
    if (rc == PPROF_OK && pprof_row_count(fitted) != 3)
        rc = PPROF_BAD;
    free(top);
    pprof_free(fitted);
    pprof_free(decoded.profile);
    pprof_free(p);
    return rc;
}

static void each_failing_allocation_is_out_of_memory(void **state)
{
    enum pprof_rc rc = PPROF_NOMEM;
    struct buf out;
    unsigned long n, seen;

    (void)state;
    for (n = 1; n < TRIES_MAX && rc != PPROF_OK; n++) {
        buf_init(&out, BUDGET);
        alloc_fail_at(n);
        rc = there_and_back(&out);
        seen = alloc_fail_stop();
        assert_true(seen >= n || rc == PPROF_OK);
        assert_true(rc == PPROF_OK || rc == PPROF_NOMEM);
        buf_finish(&out);
    }

    assert_int_equal(rc, PPROF_OK); /* the last one asked for fewer than n */
    assert_true(n > 30);
}

static void the_profile_goes_on_after_a_failure(void **state)
{
    struct buf out;
    struct pprof *p;
    unsigned long n;

    (void)state;
    for (n = 1; n < 15; n++) {
        assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
        alloc_fail_at(n);
        (void)!example_fill(p, "012");
        (void)alloc_fail_stop();
        pprof_reset(p);
        assert_int_equal(example_fill(p, "012"), PPROF_OK);
        assert_int_equal(pprof_total(p, 0), 6);
        buf_init(&out, BUDGET);
        assert_int_equal(pprof_encode(p, &example_meta, &out), PPROF_OK);
        buf_finish(&out);
        pprof_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failing_allocation_is_out_of_memory),
        cmocka_unit_test(the_profile_goes_on_after_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
