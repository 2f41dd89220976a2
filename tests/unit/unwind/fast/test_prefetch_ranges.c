/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefetch_ranges.c - ranges join, are found, are dropped when nobody uses them, and never
 * take more memory than is allowed. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/prefetch.h"

#define A PREFETCH_BASE
#define B (A + PREFETCH_FAR)
#define C (B + PREFETCH_FAR)
enum { MEGABYTE = 1 << 20, BYTES_ALLOWED = 16 * MEGABYTE, RANGE_ALLOWED = 4 * MEGABYTE };
enum { RANGES_ALLOWED = 1 << 16 };

static int set_up(void **state)
{
    return prefetch_set_up(state, false);
}

static int set_up_by_address(void **state)
{
    return prefetch_set_up(state, true);
}

/* How many ranges are fetched after these 8 bytes were read. */
static size_t asked_after(struct prefetch_fixture *f, cpy_addr first, cpy_addr second)
{
    prefetch_forget(&f->set);
    next_sample(f);
    assert_false(is_there(f, first, 8));
    assert_false(is_there(f, second, 8));
    next_sample(f);
    assert_true(is_there(f, first, 8));
    assert_true(is_there(f, second, 8));
    return f->source.asked_count;
}

static void joins_ranges_that_lie_near_each_other(void **state)
{
    struct prefetch_fixture *f = *state;

    assert_int_equal(asked_after(f, A, A + 8), 1);
    assert_int_equal(asked_after(f, A, A + 500), 1);
    assert_int_equal(asked_after(f, A + 500, A), 1);
    assert_int_equal(asked_after(f, A + 4, A), 1);
}

static void touches_no_page_that_has_neither_of_two_ranges(void **state)
{
    struct prefetch_fixture *f = *state;
    const cpy_addr first = A + PREFETCH_PAGE - 8; /* the last bytes of its page */
    cpy_addr at, page;
    size_t i, pages = 0;

    for (at = first + 1024; at <= A + 4L * PREFETCH_PAGE; at += 504) {
        (void)asked_after(f, first, at);
        (void)asked_after(f, at, first);
        for (i = 0; i < f->source.asked_count; i++) {
            const struct mem_range *range = &f->source.asked[i];

            for (page = range->from / PREFETCH_PAGE;
                 page <= (range->from + range->size - 1) / PREFETCH_PAGE; page++, pages++)
                assert_true(page == A / PREFETCH_PAGE || page == at / PREFETCH_PAGE ||
                            page == (at + 7) / PREFETCH_PAGE);
        }
    }
    assert_true(pages > 0);
}

static void serves_nothing_wrong_of_a_range_that_grew_downwards(void **state)
{
    struct prefetch_fixture *f = *state;

    next_sample(f);
    assert_false(is_there(f, A + 64, 8));
    next_sample(f);
    assert_false(is_there(f, A, 8));

    (void)is_there(f, A + 64, 8); /* whatever it is, the bytes are right */
    assert_false(is_there(f, A, 8));
    next_sample(f);
    assert_true(is_there(f, A, 72));
}

/* Addresses that are no order at all; too far from each other to be one. */
static cpy_addr scattered(cpy_addr i)
{
    return A + (i * 7919 % 1009) * PREFETCH_FAR;
}

static void finds_each_of_many_ranges_whatever_the_order(void **state)
{
    enum { RANGES = 300 };
    struct prefetch_fixture *f = *state;
    cpy_addr i;

    next_sample(f);
    for (i = 0; i < RANGES; i++)
        assert_false(is_served(f, scattered(i), 16, (enum mem_when)(i % 3), 0));
    next_sample(f);

    assert_int_equal(f->source.asked_count, RANGES);
    for (i = RANGES; i-- > 0;)
        if (i % 3 != MEM_AGAIN)
            assert_true(is_served(f, scattered(i) + 8, 8, (enum mem_when)(i % 3), f->source.age));
    for (i = 2; i < RANGES; i += 3)
        assert_true(is_served(f, scattered(i), 16, MEM_AGAIN, f->source.age));
    assert_true(is_there(f, scattered(1), 16)); /* of the state */
    assert_false(is_there(f, scattered(RANGES), 16));
}

static void fetches_by_address_and_by_time_where_that_is_wanted(void **state)
{
    struct prefetch_fixture *f = *state;
    const cpy_addr order[] = {A, C, B};
    size_t i;

    next_sample(f);
    assert_false(is_served(f, B, 8, MEM_AGAIN, 0));
    assert_false(is_there(f, C, 8));
    assert_false(is_there(f, A, 8));
    next_sample(f);

    assert_int_equal(f->source.asked_count, 3);
    for (i = 0; i < 3; i++)
        assert_int_equal(f->source.asked[i].from, order[i]);
}

static void joins_near_ranges_that_were_read_far_apart_in_time(void **state)
{
    struct prefetch_fixture *f = *state;

    next_sample(f);
    assert_false(is_there(f, A + 512, 8));
    assert_false(is_there(f, C, 8));
    assert_false(is_there(f, A, 8));
    next_sample(f);
    assert_int_equal(f->source.asked_count, 2);
    assert_true(is_there(f, A, 520));
    assert_false(is_there(f, C + 512, 8)); /* near one that is sorted already */
    next_sample(f);
    assert_int_equal(f->source.asked_count, 2);
    assert_true(is_there(f, C, 520));
}

static void drops_what_was_not_used_in_a_window(void **state)
{
    enum { LONG_ENOUGH = 40 };
    struct prefetch_fixture *f = *state;
    size_t size;
    int i;

    next_sample(f);
    assert_false(is_there(f, A, 8));
    assert_false(is_there(f, B, 8));
    for (i = 0; i < LONG_ENOUGH; i++) {
        next_sample(f);
        assert_true(is_there(f, A, 8));
        assert_true(was_asked(f, A, &size));
        if (i < 4)
            assert_true(was_asked(f, B, &size)); /* not at once */
    }
    assert_false(was_asked(f, B, &size));
    assert_false(is_there(f, B, 8));
    next_sample(f);
    assert_true(is_there(f, B, 8));
}

static void drops_nothing_sooner_the_older_a_set_is(void **state)
{
    struct prefetch_fixture *f = *state;
    int lasted[2] = {0, 0}, ages[2] = {4, 600}, round, i;
    size_t size;

    for (round = 0; round < 2; round++) {
        for (i = 0; i < ages[round]; i++) {
            next_sample(f);
            (void)is_there(f, A, 8);
        }
        (void)is_there(f, B, 8);
        do {
            next_sample(f);
            (void)is_there(f, A, 8);
            lasted[round]++;
        } while (was_asked(f, B, &size) && lasted[round] < 10000);
    }

    assert_true(lasted[1] > 3 * lasted[0]);
    assert_true(lasted[1] < 200);
}

static void shrinks_a_range_to_what_was_used_of_it(void **state)
{
    enum { LONG_ENOUGH = 40 };
    struct prefetch_fixture *f = *state;
    size_t size = 0;
    int i;

    next_sample(f);
    assert_false(is_there(f, A, 8000));
    next_sample(f);
    assert_true(was_asked(f, A, &size));
    assert_int_equal(size, 8000);
    for (i = 0; i < LONG_ENOUGH; i++) {
        next_sample(f);
        assert_true(is_there(f, A + 600, 100));
    }
    assert_true(was_asked(f, A, &size));
    assert_int_equal(size, 1024);
}

static void leaves_out_what_was_not_used_before_and_between_what_was(void **state)
{
    enum { LONG_ENOUGH = 100 };
    struct prefetch_fixture *f = *state;
    size_t size = 0;
    int i;

    next_sample(f);
    assert_false(is_there(f, A, 40000));
    for (i = 0; i < LONG_ENOUGH; i++) {
        next_sample(f);
        assert_true(is_there(f, A + 600, 100));
        assert_true(is_there(f, A + 9000, 800));
        assert_true(is_there(f, A + 11800, 8)); /* near: the same page */
        assert_true(is_there(f, A + 30000, 8));
    }

    assert_int_equal(f->source.asked_count, 3);
    /* First in steps of the least 2^n that there are not 64 of, then of 512. */
    assert_true(was_asked(f, A + 512, &size));
    assert_true(size <= 1024);
    assert_true(was_asked(f, A + 8704, &size));
    assert_true(size <= 4096);
    assert_false(is_there(f, A + 4096, 8));
}

static void finds_what_joins_while_other_ranges_are_dropped(void **state)
{
    enum { UNUSED = 100, SAMPLES = 60, NEW = 3 };
    struct prefetch_fixture *f = *state;
    cpy_addr at = A + 1000L * PREFETCH_FAR, i, sample;

    next_sample(f);
    for (i = 0; i < UNUSED; i++)
        assert_false(is_there(f, at + i * PREFETCH_FAR, 8));
    for (sample = 0; sample < SAMPLES; sample++) {
        next_sample(f);
        for (i = 0; sample > 0 && i < NEW; i++)
            assert_true(is_there(f, at + i * PREFETCH_FAR, 8));
        at -= (cpy_addr)NEW * PREFETCH_FAR;
        for (i = 0; i < NEW; i++)
            assert_false(is_there(f, at + i * PREFETCH_FAR, 8));
    }
}

static void fetches_no_range_of_more_than_four_megabytes(void **state)
{
    struct prefetch_fixture *f = *state;

    next_sample(f);
    assert_false(is_there(f, A, RANGE_ALLOWED));
    next_sample(f);
    assert_true(is_there(f, A, RANGE_ALLOWED));
    assert_false(is_there(f, A + RANGE_ALLOWED, 8)); /* a range of its own */
    prefetch_forget(&f->set);
    assert_false(is_there(f, B, RANGE_ALLOWED + 1));
    next_sample(f);
    assert_int_equal(f->set.count, 0);
}

static void keeps_all_copies_together_below_sixteen_megabytes(void **state)
{
    struct prefetch_fixture *f = *state;
    struct prefetch_set *sets[2] = {&f->set, &f->other};
    size_t i;

    for (i = 0; i < 2; i++) {
        f->prefetch.now = sets[i];
        assert_false(is_there(f, A + i * 8 * MEGABYTE, RANGE_ALLOWED));
        assert_false(is_there(f, A + i * 8 * MEGABYTE + RANGE_ALLOWED + 2048, 3 * MEGABYTE));
    }
    prefetch_fetch(&f->prefetch, sets, 2);

    assert_true(f->prefetch.bytes > 0 && f->prefetch.bytes <= BYTES_ALLOWED);
    f->prefetch.now = sets[0];
    assert_true(is_there(f, A, RANGE_ALLOWED));
    f->prefetch.now = sets[1];
    assert_false(is_there(f, A + 8L * MEGABYTE, RANGE_ALLOWED)); /* there was no room */
    prefetch_set_finish(&f->prefetch, sets[0]);
    prefetch_fetch(&f->prefetch, &sets[1], 1);
    assert_true(is_there(f, A + 8L * MEGABYTE, RANGE_ALLOWED));
}

/* Where there is no room to spare for what may come. */
static void fetches_as_many_bytes_as_are_allowed(void **state)
{
    struct prefetch_fixture *f = *state;
    cpy_addr i;

    next_sample(f);
    for (i = 0; i < BYTES_ALLOWED / RANGE_ALLOWED; i++)
        assert_false(is_there(f, A + i * 2 * RANGE_ALLOWED, RANGE_ALLOWED));
    next_sample(f);
    for (i = 0; i < BYTES_ALLOWED / RANGE_ALLOWED; i++)
        assert_true(is_there(f, A + i * 2 * RANGE_ALLOWED, RANGE_ALLOWED));
    assert_int_equal(f->prefetch.bytes, BYTES_ALLOWED);
}

static void keeps_no_more_ranges_than_allowed_and_reads_the_rest(void **state)
{
    struct prefetch_fixture *f = *state;
    cpy_addr i;

    next_sample(f);
    for (i = 0; i <= RANGES_ALLOWED; i++)
        (void)is_there(f, A + i * PREFETCH_FAR, 8);
    assert_int_equal(f->set.count, RANGES_ALLOWED);
    next_sample(f);

    assert_true(is_there(f, A + (RANGES_ALLOWED - 1L) * PREFETCH_FAR, 8));
    assert_false(is_there(f, A + RANGES_ALLOWED * (cpy_addr)PREFETCH_FAR, 8));
}

/* A few samples of changing reads, each of which checks the bytes; gives the allocations. */
static unsigned long samples_with(struct prefetch_fixture *f, unsigned long bad)
{
    enum { SAMPLES = 6, RANGES = 12 };
    unsigned char bytes[64];
    cpy_addr i, sample;
    unsigned char fetched;

    alloc_fail_at(bad);
    for (sample = 0; sample < SAMPLES; sample++) {
        next_sample(f);
        fetched = f->source.age++;
        for (i = 0; i < RANGES; i++) {
            const cpy_addr from = scattered(sample + i);
            const uint64_t reads = f->source.mem.reads;

            assert_int_equal(mem_read(&f->prefetch.mem, from, bytes, sizeof(bytes)), CPY_OK);
            assert_int_equal(
                bytes[0],
                source_byte(from, f->source.mem.reads == reads ? fetched : f->source.age));
        }
    }
    return alloc_fail_stop();
}

static void reads_what_is_right_whichever_allocation_fails(void **state)
{
    struct prefetch_fixture *f = *state;
    unsigned long bad = 1, count;

    do {
        prefetch_set_finish(&f->prefetch, &f->set);
        prefetch_finish(&f->prefetch);
        count = samples_with(f, bad);
    } while (bad++ <= count);
    assert_true(count >= 3); /* the plan, the ranges, the copies */
    next_sample(f);
    assert_true(is_there(f, scattered(5), 64)); /* and predicts again once there is memory */
}

static void reads_what_is_right_without_any_memory(void **state)
{
    struct prefetch_fixture *f = *state;
    unsigned char byte;

    alloc_fail_all();
    next_sample(f);
    assert_int_equal(mem_read(&f->prefetch.mem, A, &byte, 1), CPY_OK);
    next_sample(f);
    assert_int_equal(mem_read(&f->prefetch.mem, A, &byte, 1), CPY_OK);

    assert_true(alloc_fail_stop() >= 2);
    assert_int_equal(byte, source_byte(A, f->source.age));
    assert_int_equal(f->source.mem.reads, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, prefetch_tear_down)
#define BY_ADDRESS(name) \
    cmocka_unit_test_setup_teardown(name, set_up_by_address, prefetch_tear_down)
#define BOTH(name) TEST(name), BY_ADDRESS(name)
    const struct CMUnitTest tests[] = {
        BOTH(joins_ranges_that_lie_near_each_other),
        BOTH(touches_no_page_that_has_neither_of_two_ranges),
        BOTH(serves_nothing_wrong_of_a_range_that_grew_downwards),
        BOTH(finds_each_of_many_ranges_whatever_the_order),
        BY_ADDRESS(fetches_by_address_and_by_time_where_that_is_wanted),
        BOTH(joins_near_ranges_that_were_read_far_apart_in_time),
        BOTH(drops_what_was_not_used_in_a_window),
        BOTH(drops_nothing_sooner_the_older_a_set_is),
        cmocka_unit_test_setup_teardown(shrinks_a_range_to_what_was_used_of_it, set_up,
                                        prefetch_tear_down),
        cmocka_unit_test_setup_teardown(leaves_out_what_was_not_used_before_and_between_what_was,
                                        set_up_by_address, prefetch_tear_down),
        BOTH(finds_what_joins_while_other_ranges_are_dropped),
        BOTH(fetches_no_range_of_more_than_four_megabytes),
        BOTH(keeps_all_copies_together_below_sixteen_megabytes),
        TEST(fetches_as_many_bytes_as_are_allowed),
        BY_ADDRESS(keeps_no_more_ranges_than_allowed_and_reads_the_rest),
        BOTH(reads_what_is_right_whichever_allocation_fails),
        BOTH(reads_what_is_right_without_any_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
