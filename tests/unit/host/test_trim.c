/* SPDX-License-Identifier: Apache-2.0 */
/* test_trim.c - holes in the heap are given back, soon and not too often. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/host/trim.h"
#include "agent/proc/proc.h"
#include "tests/unit/unit_test.h"

enum { BLOCKS = 4096, BLOCK_SIZE = 4000 };

static void waits_until_all_is_over(void **state)
{
    struct trim trim = {0};

    (void)state;
    assert_false(trim_now(&trim, 1));
    trim_soon(&trim, 5 * NS_PER_S);
    assert_false(trim_now(&trim, 5 * NS_PER_S + 1));
    trim_soon(&trim, 5 * NS_PER_S + NS_PER_S / 2);
    assert_false(trim_now(&trim, 6 * NS_PER_S));
    assert_true(trim_now(&trim, 7 * NS_PER_S));
    assert_false(trim_now(&trim, 90 * NS_PER_S));
}

static void waits_for_no_end_that_does_not_come(void **state)
{
    struct trim trim = {0};
    unsigned times = 0;
    uint64_t at;

    (void)state;
    for (at = NS_PER_S; at <= 100 * NS_PER_S; at += NS_PER_S / 2) {
        trim_soon(&trim, at);
        times += trim_now(&trim, at);
    }

    assert_in_range(times, 9, 10);
}

static size_t touched_kib(void)
{
    struct proc_statm pages;

    assert_int_equal(proc_statm_read(getpid(), &pages), PROC_OK);
    return pages.resident * 4;
}

static void gives_back_what_lies_between_things_that_are_kept(void **state)
{
    static char *blocks[BLOCKS];
    struct trim trim = {0};
    size_t before, i;

    (void)state;
    for (i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_SIZE);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, BLOCK_SIZE);
    }
    for (i = 0; i < BLOCKS; i++) {
        if (i % 64 != 63)
            free(blocks[i]);
    }
    if (malloc_usable_size(blocks[63]) == BLOCK_SIZE)
        skip(); /* a sanitizer's or valgrind's allocator: glibc's rounds up */
    before = touched_kib();

    trim_soon(&trim, 1);
    assert_true(trim_now(&trim, 1 + NS_PER_S));

    assert_true(touched_kib() + BLOCKS * 2 < before);
    for (i = 63; i < BLOCKS; i += 64)
        free(blocks[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_until_all_is_over),
        cmocka_unit_test(waits_for_no_end_that_does_not_come),
        cmocka_unit_test(gives_back_what_lies_between_things_that_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
