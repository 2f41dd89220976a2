/* SPDX-License-Identifier: Apache-2.0 */
/* test_token_bucket.c - so many at once, and so many a second from then on. */
#include "agent/host/token_bucket.h"

#include "base/time_units.h"
#include "tests/unit/unit_test.h"

/* How many of `count` are let through at one moment. */
static unsigned count_taken(struct token_bucket *bucket, unsigned count, uint64_t now_ns)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < count; i++)
        taken += token_bucket_take(bucket, now_ns);
    return taken;
}

static void lets_through_what_it_holds_and_gets(void **state)
{
    struct token_bucket bucket = token_bucket_full(2, 5, NS_PER_S);

    (void)state;
    assert_int_equal(count_taken(&bucket, 100, NS_PER_S), 5);
    assert_int_equal(count_taken(&bucket, 100, NS_PER_S + NS_PER_S / 4), 0);
    assert_int_equal(count_taken(&bucket, 100, 3 * NS_PER_S), 4);
    assert_int_equal(count_taken(&bucket, 100, 1000 * NS_PER_S), 5);
}

static void gets_nothing_of_a_clock_that_goes_back(void **state)
{
    struct token_bucket bucket = token_bucket_full(1, 1, 10 * NS_PER_S), empty = {0};

    (void)state;
    assert_true(token_bucket_take(&bucket, 10 * NS_PER_S));
    assert_false(token_bucket_take(&bucket, 9 * NS_PER_S));
    assert_false(token_bucket_take(&bucket, 10 * NS_PER_S)); /* that second counts once */
    assert_true(token_bucket_take(&bucket, 11 * NS_PER_S));
    assert_false(token_bucket_take(&empty, 10 * NS_PER_S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lets_through_what_it_holds_and_gets),
        cmocka_unit_test(gets_nothing_of_a_clock_that_goes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
