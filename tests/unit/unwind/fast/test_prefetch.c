/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefetch.c - what was read before is fetched with one call, in order, and never mixed up
 * with what is newer. */
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/prefetch.h"

#define A PREFETCH_BASE
#define B (A + PREFETCH_FAR)
#define C (B + PREFETCH_FAR)
#define D (C + PREFETCH_FAR)

static int set_up(void **state)
{
    return prefetch_set_up(state, false);
}

static void reads_as_without_it_where_no_set_is_given(void **state)
{
    struct prefetch_fixture *f = *state;
    int i;

    for (i = 0; i < 2; i++)
        assert_false(is_there(f, A, 8));
    assert_int_equal(f->prefetch.misses, 0);
    assert_int_equal(f->prefetch.mem.reads, f->source.mem.reads);
    assert_null(mem_look(&f->prefetch.mem, A, 8, 8));
}

static void serves_what_was_fetched_as_it_was_then(void **state)
{
    struct prefetch_fixture *f = *state;
    unsigned char then;

    next_sample(f);
    assert_false(is_there(f, A, 24));
    next_sample(f);
    then = f->source.age++;

    assert_true(is_served(f, A, 24, MEM_FIRST, then));
    assert_true(is_served(f, A + 8, 16, MEM_FIRST, then));
    assert_int_equal(f->prefetch.misses, 1);
}

static void serves_nothing_that_goes_beyond_what_was_fetched(void **state)
{
    struct prefetch_fixture *f = *state;

    next_sample(f);
    assert_false(is_there(f, B, 24));
    next_sample(f);

    assert_false(is_there(f, B + 8, 17));
    assert_false(is_there(f, B - 1, 8));
    assert_false(is_there(f, UINT64_MAX - 64, 8));
    assert_int_equal(f->prefetch.misses, 4);
}

static void serves_what_joined_only_after_the_next_fetch(void **state)
{
    struct prefetch_fixture *f = *state;

    next_sample(f);
    assert_false(is_there(f, A, 8));
    assert_false(is_there(f, A, 8));
    next_sample(f);
    assert_false(is_there(f, A + 8, 8)); /* now the range is larger, its copy is not */
    assert_false(is_there(f, A + 8, 8));
    next_sample(f);
    assert_true(is_there(f, A, 16));
}

static void reads_all_of_a_read_anew_if_a_part_is_missing(void **state)
{
    struct prefetch_fixture *f = *state;
    unsigned char first[8], second[8];
    const struct mem_range both[2] = {{A, first, 8}, {B, second, 8}};

    next_sample(f);
    assert_false(is_there(f, A, 8));
    next_sample(f);
    f->source.age++;

    assert_int_equal(mem_read_ranges(&f->prefetch.mem, both, 2), CPY_OK);
    assert_int_equal(first[0], source_byte(A, f->source.age)); /* as new as the other one */
    assert_int_equal(second[0], source_byte(B, f->source.age));
    next_sample(f);
    assert_true(is_there(f, A, 8));
    assert_true(is_there(f, B, 8));
}

static void reads_all_sets_with_one_call_set_by_set(void **state)
{
    struct prefetch_fixture *f = *state;
    struct prefetch_set *sets[2] = {&f->set, &f->other};
    const cpy_addr order[] = {C, A, D, B};
    uint64_t reads;
    size_t i;

    for (i = 0; i < 4; i++) {
        f->prefetch.now = sets[i / 2];
        assert_false(is_there(f, order[i], 8));
    }
    reads = f->source.mem.reads;
    prefetch_fetch(&f->prefetch, sets, 2);

    assert_int_equal(f->source.mem.reads, reads + 1);
    assert_int_equal(f->source.asked_count, 4);
    for (i = 0; i < 4; i++) {
        assert_int_equal(f->source.asked[i].from, order[i]);
        f->prefetch.now = sets[i / 2];
        assert_true(is_there(f, order[i], 8));
    }
    assert_false(is_there(f, order[0], 8)); /* sets do not serve each other */
}

static void fetches_first_all_else_then_the_state_then_what_is_read_again(void **state)
{
    struct prefetch_fixture *f = *state;
    const cpy_addr order[] = {C, D, B, A};
    size_t i;

    next_sample(f);
    assert_false(is_served(f, A, 8, MEM_AGAIN, 0));
    assert_false(is_served(f, B, 8, MEM_STATE, 0));
    assert_false(is_served(f, C, 8, MEM_FIRST, 0));
    assert_false(is_served(f, D, 8, MEM_FIRST, 0));
    next_sample(f);

    assert_int_equal(f->source.asked_count, 4);
    for (i = 0; i < 4; i++)
        assert_int_equal(f->source.asked[i].from, order[i]);
}

static void fetches_more_ranges_than_one_call_takes(void **state)
{
    enum { RANGES = MEM_RANGES_MAX + 1 };
    struct prefetch_fixture *f = *state;
    uint64_t reads;
    cpy_addr i;

    next_sample(f);
    for (i = 0; i < RANGES; i++)
        assert_false(is_there(f, A + i * PREFETCH_FAR, 8));
    reads = f->source.mem.reads;
    next_sample(f);

    assert_int_equal(f->source.mem.reads, reads + 2);
    for (i = 0; i < RANGES; i++)
        assert_true(is_there(f, A + i * PREFETCH_FAR, 8));
}

/* Copies to some bytes farther on in a line take some CPUs three to six times as long. */
static void large_ranges_lie_in_their_cache_lines_as_in_the_process(void **state)
{
    static const struct {
        cpy_addr from;
        size_t size;
    } wanted[] = {
        {A + 16, 8}, {B + 56, 2000}, {C, 200 << 10}, {C + PREFETCH_FAR + (200 << 10), 5000}};
    struct prefetch_fixture *f = *state;
    const struct mem_range *asked;
    size_t i;

    next_sample(f);
    for (i = 0; i < 4; i++)
        assert_false(is_there(f, wanted[i].from, wanted[i].size));
    next_sample(f);

    assert_int_equal(f->source.asked_count, 4);
    for (asked = f->source.asked; asked < f->source.asked + 4; asked++)
        if (asked->size >= 1024)
            assert_int_equal(((uintptr_t)asked->into - asked->from) % 64, 0);
    for (i = 0; i < 4; i++)
        assert_true(is_there(f, wanted[i].from, wanted[i].size));
}

static void serves_each_time_of_reading_from_its_own_ranges(void **state)
{
    struct prefetch_fixture *f = *state;

    next_sample(f);
    assert_false(is_served(f, A, 8, MEM_FIRST, 0));
    assert_false(is_served(f, B, 8, MEM_STATE, 0));
    assert_false(is_served(f, C, 8, MEM_AGAIN, 0));
    next_sample(f);

    assert_true(is_served(f, C, 8, MEM_AGAIN, f->source.age));
    assert_false(is_served(f, A, 8, MEM_AGAIN, 0));
    assert_false(is_served(f, A, 8, MEM_STATE, 0));
    assert_true(is_served(f, B, 8, MEM_FIRST, f->source.age)); /* frames may lie in the state */
    assert_false(is_served(f, C, 8, MEM_FIRST, 0));
}

static void reads_again_in_truth_once_something_was_missing(void **state)
{
    struct prefetch_fixture *f = *state;
    unsigned char then;

    next_sample(f);
    assert_false(is_served(f, A, 8, MEM_FIRST, 0));
    assert_false(is_served(f, A, 8, MEM_AGAIN, 0));
    next_sample(f);
    then = f->source.age++;
    assert_true(is_served(f, A, 8, MEM_AGAIN, then));
    assert_false(is_served(f, B, 8, MEM_FIRST, 0));

    assert_true(is_served(f, A, 8, MEM_FIRST, then));
    assert_false(is_served(f, A, 8, MEM_AGAIN, 0));
    next_sample(f);
    assert_true(is_served(f, A, 8, MEM_AGAIN, f->source.age));
}

static bool is_late(const struct prefetch_fixture *f)
{
    return f->prefetch.mem.is_late(&f->prefetch.mem);
}

static void is_late_only_if_the_state_was_fetched_and_nothing_was_missing(void **state)
{
    struct prefetch_fixture *f = *state;

    assert_false(is_late(f)); /* no set */
    next_sample(f);
    assert_false(is_served(f, A, 8, MEM_STATE, 0));
    assert_false(is_served(f, B, 8, MEM_FIRST, 0));
    assert_false(is_late(f)); /* it was read first */
    next_sample(f);
    assert_false(is_late(f)); /* nobody asked for it */
    assert_true(is_served(f, A, 8, MEM_STATE, f->source.age));
    assert_true(is_late(f));
    assert_true(is_there(f, B, 8));
    assert_true(is_late(f));
    assert_false(is_there(f, C, 8)); /* that is newer */
    assert_false(is_late(f));
    next_sample(f);
    assert_true(is_served(f, A, 8, MEM_STATE, f->source.age));
    assert_false(is_served(f, D, 8, MEM_STATE, 0)); /* another state: read now */
    assert_false(is_late(f));
}

static void leaves_what_is_read_once_out_of_the_set(void **state)
{
    struct prefetch_fixture *f = *state;

    next_sample(f);
    f->prefetch.mem.once = true;
    assert_false(is_there(f, A, 8));
    f->prefetch.mem.once = false;
    next_sample(f);

    assert_int_equal(f->source.asked_count, 1);
    assert_int_equal(f->source.mem.reads, 1); /* the one above: there is nothing to fetch */
    assert_int_equal(f->prefetch.misses, 0);
}

/* How much is fetched of what was looked for. */
static size_t looked(struct prefetch_fixture *f, size_t size, size_t most)
{
    size_t asked = 0;

    prefetch_forget(&f->set);
    next_sample(f);
    assert_null(mem_look(&f->prefetch.mem, A, size, most));
    next_sample(f);
    assert_true(was_asked(f, A, &asked));
    assert_non_null(mem_look(&f->prefetch.mem, A, size, most));
    return asked;
}

static void fetches_what_may_grow_in_steps_up_to_what_is_mapped(void **state)
{
    struct prefetch_fixture *f = *state;

    assert_int_equal(looked(f, 100, 8192), 512);
    assert_int_equal(looked(f, 512, 8192), 512);
    assert_int_equal(looked(f, 513, 8192), 1024);
    assert_int_equal(looked(f, 100, 300), 300);
    assert_int_equal(looked(f, 100, 100), 100);
}

static void lends_what_was_fetched_and_reads_nothing_to_look(void **state)
{
    struct prefetch_fixture *f = *state;
    const unsigned char *bytes;
    uint64_t reads;

    (void)looked(f, 100, 8192);
    reads = f->source.mem.reads;
    bytes = mem_look(&f->prefetch.mem, A + 8, 500, 8192);

    assert_non_null(bytes);
    assert_int_equal(bytes[0], source_byte(A + 8, f->source.age));
    assert_int_equal(bytes[499], source_byte(A + 8 + 499, f->source.age));
    assert_null(mem_look(&f->prefetch.mem, A + 8, 505, 8192));
    assert_null(mem_look(&f->prefetch.mem, B, 8, 8192));
    assert_int_equal(f->source.mem.reads, reads);
}

static void empties_only_the_set_whose_range_is_gone(void **state)
{
    struct prefetch_fixture *f = *state;
    struct prefetch_set *sets[2] = {&f->set, &f->other};

    f->prefetch.now = &f->set;
    assert_false(is_there(f, A, 8));
    assert_false(is_there(f, B, 8));
    f->prefetch.now = &f->other;
    assert_false(is_there(f, C, 8));
    f->source.hole = B + 4;
    prefetch_fetch(&f->prefetch, sets, 2);

    assert_true(is_there(f, C, 8));
    f->prefetch.now = &f->set;
    assert_false(is_late(f));
    assert_false(is_there(f, A, 8)); /* it joins again ... */
    prefetch_fetch(&f->prefetch, sets, 2);
    assert_true(is_there(f, A, 8)); /* ... without what is gone */
    f->source.hole = A;
    next_sample(f);
    f->source.hole = 0;
    assert_false(is_there(f, A, 8));
}

static void fails_as_the_memory_does_where_something_is_missing(void **state)
{
    struct prefetch_fixture *f = *state;
    unsigned char byte;

    next_sample(f);
    f->source.hole = A;

    assert_int_equal(mem_read(&f->prefetch.mem, A, &byte, 1), CPY_RACED);
}

static void serves_nothing_of_a_set_that_was_forgotten(void **state)
{
    struct prefetch_fixture *f = *state;

    next_sample(f);
    assert_false(is_there(f, A, 8));
    assert_false(is_served(f, B, 8, MEM_STATE, 0));
    next_sample(f);
    assert_true(is_served(f, B, 8, MEM_STATE, f->source.age));
    prefetch_forget(&f->set);

    assert_false(is_late(f));
    assert_false(is_there(f, A, 8));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, prefetch_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(reads_as_without_it_where_no_set_is_given),
        TEST(serves_what_was_fetched_as_it_was_then),
        TEST(serves_nothing_that_goes_beyond_what_was_fetched),
        TEST(serves_what_joined_only_after_the_next_fetch),
        TEST(reads_all_of_a_read_anew_if_a_part_is_missing),
        TEST(reads_all_sets_with_one_call_set_by_set),
        TEST(fetches_first_all_else_then_the_state_then_what_is_read_again),
        TEST(fetches_more_ranges_than_one_call_takes),
        TEST(large_ranges_lie_in_their_cache_lines_as_in_the_process),
        TEST(serves_each_time_of_reading_from_its_own_ranges),
        TEST(reads_again_in_truth_once_something_was_missing),
        TEST(is_late_only_if_the_state_was_fetched_and_nothing_was_missing),
        TEST(leaves_what_is_read_once_out_of_the_set),
        TEST(fetches_what_may_grow_in_steps_up_to_what_is_mapped),
        TEST(lends_what_was_fetched_and_reads_nothing_to_look),
        TEST(empties_only_the_set_whose_range_is_gone),
        TEST(fails_as_the_memory_does_where_something_is_missing),
        TEST(serves_nothing_of_a_set_that_was_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
