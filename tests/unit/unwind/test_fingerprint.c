/* SPDX-License-Identifier: Apache-2.0 */
/* test_fingerprint.c - a thread's fingerprint changes with what its frames hold, and else never.
 */
#include <string.h>

#include "tests/images/image.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/images.h"
#include "unwind/target.h"

static const char *const images[] = {
    "tests/golden/unwind/3.6.15-source.img",  "tests/golden/unwind/3.10.13-source.img",
    "tests/golden/unwind/3.11.2-debian.img",  "tests/golden/unwind/3.13.18-debian.img",
    "tests/golden/unwind/3.14.10-debian.img", "tests/golden/unwind/3.15.2-debian.img",
};

enum { IMAGES = sizeof(images) / sizeof(images[0]) };

static enum cpy_rc (*real_read)(struct mem *mem, const struct mem_range *ranges, size_t count);
static cpy_addr flipped; /* the word there is read with another bit; 0: none is */
static bool fails;

/* An image has what a sample reads, field by field. A number that it lacks is 4: so many values has
 * a frame. */
static enum cpy_rc read_flipped(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    unsigned char *into;
    size_t i;

    for (i = 0; i < count && !fails; i++) {
        into = ranges[i].into;
        if (real_read(mem, &ranges[i], 1) != CPY_OK) {
            if (ranges[i].size > 256)
                return CPY_RACED;
            memset(into, 0, ranges[i].size);
            into[0] = 4;
        }
        if (flipped != 0 && flipped >= ranges[i].from && flipped - ranges[i].from < ranges[i].size)
            into[flipped - ranges[i].from] ^= 0x10;
    }
    return fails ? CPY_RACED : CPY_OK;
}

struct seen {
    cpy_addr state;
    uint32_t depth;
};

/* The thread with the deepest stack. */
static void note_deepest(void *ctx, const struct cpy_thread *thread)
{
    struct seen *seen = ctx;

    if (thread->depth > seen->depth)
        *seen = (struct seen){thread->state, thread->depth};
}

static struct cpy_target *open_image(const char *path, struct seen *seen)
{
    struct cpy_target *target = NULL;
    struct err err = {""};

    if (image_open_target(path, &target, &err) != CPY_OK)
        fail_msg("%s: %s", path, err.text);
    *seen = (struct seen){0};
    assert_int_equal(cpy_sample(target, note_deepest, seen), CPY_OK);
    assert_true(seen->depth > 1);
    real_read = target->process.mem->read;
    target->process.mem->read = read_flipped;
    flipped = 0;
    fails = false;
    return target;
}

/* Where the first value of a thread's innermost frame is: what its last walk has left tells. */
static cpy_addr first_value(const struct cpy_target *target)
{
    const struct layout *l = &target->found.layout;

    return target->scratch->raw->frames[0].addr +
           (l->frame.values ? l->frame.values : l->frame.size);
}

static void stays_the_same_while_nothing_changes(void **state)
{
    uint64_t one = 0, other = 1;
    struct cpy_target *target;
    struct seen seen;
    size_t i;

    (void)state;
    for (i = 0; i < IMAGES; i++) {
        if (!image_fits(images[i]))
            continue;
        target = open_image(images[i], &seen);
        assert_int_equal(cpy_fingerprint(target, seen.state, &one), CPY_OK);
        assert_int_equal(cpy_fingerprint(target, seen.state, &other), CPY_OK);
        assert_int_equal(one, other);
        cpy_close(target);
    }
}

static void changes_with_a_variable(void **state)
{
    uint64_t before = 0, after = 0;
    struct cpy_target *target;
    struct seen seen;
    size_t i;

    (void)state;
    for (i = 0; i < IMAGES; i++) {
        if (!image_fits(images[i]))
            continue;
        target = open_image(images[i], &seen);
        assert_int_equal(cpy_fingerprint(target, seen.state, &before), CPY_OK);
        flipped = first_value(target);
        assert_int_equal(cpy_fingerprint(target, seen.state, &after), CPY_OK);
        assert_int_not_equal(before, after);
        cpy_close(target);
    }
}

static void changes_when_the_gil_was_handed_over(void **state)
{
    struct seen seen;
    struct cpy_target *target = open_image(images[IMAGES - 1], &seen);
    uint64_t before = 0, after = 0;

    (void)state;
    assert_int_equal(cpy_fingerprint(target, seen.state, &before), CPY_OK);
    target->list.interps[0].switches++;
    assert_int_equal(cpy_fingerprint(target, seen.state, &after), CPY_OK);
    assert_int_not_equal(before, after);
    cpy_close(target);
}

static void says_so_where_there_is_no_such_thread_or_no_memory(void **state)
{
    struct seen seen;
    struct cpy_target *target = open_image(images[0], &seen);
    uint64_t mark = 5;

    (void)state;
    assert_int_equal(cpy_fingerprint(target, seen.state + 8, &mark), CPY_RACED);
    fails = true;
    assert_int_equal(cpy_fingerprint(target, seen.state, &mark), CPY_RACED);
    assert_int_equal(mark, 5);
    cpy_close(target);
}

static void leaves_the_next_sample_as_it_would_be(void **state)
{
    struct seen seen, again = {0};
    struct cpy_target *target = open_image(images[IMAGES - 1], &seen);
    uint64_t mark;

    (void)state;
    assert_int_equal(cpy_fingerprint(target, seen.state, &mark), CPY_OK);
    assert_int_equal(cpy_sample(target, note_deepest, &again), CPY_OK);
    assert_int_equal(again.state, seen.state);
    assert_int_equal(again.depth, seen.depth);
    cpy_close(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_the_same_while_nothing_changes),
        cmocka_unit_test(changes_with_a_variable),
        cmocka_unit_test(changes_when_the_gil_was_handed_over),
        cmocka_unit_test(says_so_where_there_is_no_such_thread_or_no_memory),
        cmocka_unit_test(leaves_the_next_sample_as_it_would_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
