/* SPDX-License-Identifier: Apache-2.0 */
/* test_lock_holders.c - a thread has a lock while its stack holds what gives the lock back. */
#include <string.h>

#include "tests/images/image.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/images.h"
#include "unwind/target.h"

static const char *const images[] = {
    "tests/golden/unwind/3.6.15-source.img",  "tests/golden/unwind/3.11.2-debian.img",
    "tests/golden/unwind/3.13.18-debian.img", "tests/golden/unwind/3.14.10-debian.img",
    "tests/golden/unwind/3.15.2-debian.img",
};

enum { IMAGES = sizeof(images) / sizeof(images[0]), VALUES = 4, OVERLAY_MAX = 8 };

/* Objects that are not in the image, and where they lie. */
enum { METHOD = 0, LOCK = 256, TYPE = 512, DEFINITION = 1024, TYPE_NAME = 1536, NAME = 2048 };
#define PLANTED UINT64_C(0x600000000000)
#define FUTEX   UINT64_C(0x600100000008) /* that the others wait at */
#define MUTEX   (PLANTED + LOCK)         /* the lock, for waiters that are parked */

static struct {
    enum cpy_rc (*read)(struct mem *mem, const struct mem_range *ranges, size_t count);
    unsigned char planted[4096];
    struct {
        cpy_addr at;
        uint64_t word;
    } overlay[OVERLAY_MAX]; /* words of the image that are others */
    size_t overlay_count;
    cpy_addr state;
    uint32_t depth;
} fake;

static void overlay(cpy_addr at, uint64_t word)
{
    fake.overlay[fake.overlay_count].at = at;
    fake.overlay[fake.overlay_count++].word = word;
}

/* A number that the image lacks is VALUES: so many values has a frame. */
static enum cpy_rc read_range(struct mem *mem, const struct mem_range *range)
{
    unsigned char *into = range->into;

    if (range->from >= PLANTED && range->from - PLANTED + range->size <= sizeof(fake.planted)) {
        memcpy(into, fake.planted + (range->from - PLANTED), range->size);
        return CPY_OK;
    }
    if (fake.read(mem, range, 1) != CPY_OK) {
        if (range->size > 256)
            return CPY_RACED;
        memset(into, 0, range->size);
        into[0] = VALUES;
    }
    for (size_t i = 0; i < fake.overlay_count; i++)
        if (fake.overlay[i].at >= range->from &&
            fake.overlay[i].at - range->from + 8 <= range->size)
            memcpy(into + (fake.overlay[i].at - range->from), &fake.overlay[i].word, 8);
    return CPY_OK;
}

static enum cpy_rc read_with_planted(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    enum cpy_rc rc = CPY_OK;

    for (size_t i = 0; i < count && rc == CPY_OK; i++)
        rc = read_range(mem, &ranges[i]);
    return rc;
}

static void plant(uint32_t at, uint64_t word)
{
    memcpy(fake.planted + at, &word, sizeof(word));
}

static void plant_text(uint32_t at, const char *text)
{
    memcpy(fake.planted + at, text, strlen(text) + 1);
}

/* The thread with the deepest stack. */
static void note_deepest(void *ctx, const struct cpy_thread *thread)
{
    (void)ctx;
    if (thread->depth > fake.depth) {
        fake.depth = thread->depth;
        fake.state = thread->state;
    }
}

/* What `with` keeps, in the innermost frame; `name` is that of the method. */
static void plant_with(const struct cpy_target *target, const char *name)
{
    const struct layout *l = &target->found.layout;
    const uint32_t head = l->object.ob_type + 8;
    const cpy_addr frame = target->scratch->raw->frames[0].addr,
                   values = frame + (l->frame.values ? l->frame.values : l->frame.size);
    const bool pair = l->with_keeps_pair;

    memset(fake.planted, 0, sizeof(fake.planted));
    plant(METHOD, 1);
    plant(METHOD + l->object.ob_type, PLANTED + TYPE);
    plant(METHOD + head + (pair ? 24 : 0), PLANTED + DEFINITION);
    if (!pair)
        plant(METHOD + head + 8, PLANTED + LOCK);
    plant(LOCK + head, pair ? 1 : FUTEX);
    plant(TYPE + l->type.tp_name, PLANTED + TYPE_NAME);
    plant_text(TYPE_NAME, pair ? "method_descriptor" : "builtin_function_or_method");
    plant(DEFINITION, PLANTED + NAME);
    plant_text(NAME, name);
    overlay(values + 8, PLANTED + METHOD);
    overlay(values + 16, PLANTED + LOCK);
    if (!pair)
        return;
    overlay(frame + l->generator.stackpointer, values + 24);
    overlay(FUTEX - 8, MUTEX + head);
}

static struct cpy_target *open_with(const char *path, const char *name)
{
    struct cpy_target *target = NULL;
    struct err err = {""};
    uint64_t mark;

    memset(&fake, 0, sizeof(fake));
    if (image_open_target(path, &target, &err) != CPY_OK)
        fail_msg("%s: %s", path, err.text);
    assert_int_equal(cpy_sample(target, note_deepest, NULL), CPY_OK);
    assert_true(fake.depth > 1);
    fake.read = target->process.mem->read;
    target->process.mem->read = read_with_planted;
    assert_int_equal(cpy_fingerprint(target, fake.state, &mark), CPY_OK); /* walks the stack */
    plant_with(target, name);
    return target;
}

/* Who has the lock that the last of `count` waits is for: those before are of the one thread, which
 * waits at `own`. */
static size_t find_holder(struct cpy_target *target, size_t count, cpy_addr own)
{
    struct cpy_lock_wait waits[3] = {{.state = fake.state, .futex = own},
                                     {.state = fake.state, .futex = own}};

    waits[count - 1] = (struct cpy_lock_wait){.state = 1, .futex = FUTEX};
    assert_int_equal(cpy_lock_holders(target, waits, count), CPY_OK);
    assert_int_equal(waits[count - 1].lock,
                     waits[count - 1].holder == CPY_NO_HOLDER ? 0 : PLANTED + LOCK);
    return waits[count - 1].holder;
}

enum { OWN = 0x5000 };

static void finds_who_took_a_lock_by_with(void **state)
{
    (void)state;
    for (size_t i = 0; i < IMAGES; i++) {
        struct cpy_target *target = image_fits(images[i]) ? open_with(images[i], "__exit__") : NULL;

        if (target && find_holder(target, 2, OWN) != 0)
            fail_msg("%s: nobody has it", images[i]);
        cpy_close(target);
    }
}

static void a_value_above_the_top_of_the_stack_is_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < IMAGES; i++) {
        struct cpy_target *target = image_fits(images[i]) ? open_with(images[i], "__exit__") : NULL;

        if (!target)
            continue;
        plant(METHOD, 0); /* it was freed */
        if (target->found.layout.with_keeps_pair)
            fake.overlay[2].word -= 8;
        assert_true(find_holder(target, 2, OWN) == CPY_NO_HOLDER);
        cpy_close(target);
    }
}

static void another_method_of_a_lock_is_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < IMAGES; i++) {
        struct cpy_target *target = image_fits(images[i]) ? open_with(images[i], "release_") : NULL;

        if (target)
            assert_true(find_holder(target, 2, OWN) == CPY_NO_HOLDER);
        cpy_close(target);
    }
}

static void a_thread_does_not_have_the_lock_that_it_waits_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < IMAGES; i++) {
        struct cpy_target *target = image_fits(images[i]) ? open_with(images[i], "__exit__") : NULL;

        if (target)
            assert_true(find_holder(target, 2, FUTEX) == CPY_NO_HOLDER);
        cpy_close(target);
    }
}

static void where_two_seem_to_have_it_neither_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < IMAGES; i++) {
        struct cpy_target *target = image_fits(images[i]) ? open_with(images[i], "__exit__") : NULL;

        if (target)
            assert_true(find_holder(target, 3, OWN) == CPY_SEVERAL_HOLDERS);
        cpy_close(target);
    }
}

static void objects_with_too_large_a_head_are_none(void **state)
{
    struct cpy_target *target = open_with(images[IMAGES - 1], "__exit__");

    (void)state;
    target->found.layout.object.ob_type = 200;
    assert_true(find_holder(target, 2, OWN) == CPY_NO_HOLDER);
    cpy_close(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_who_took_a_lock_by_with),
        cmocka_unit_test(a_value_above_the_top_of_the_stack_is_none),
        cmocka_unit_test(another_method_of_a_lock_is_none),
        cmocka_unit_test(a_thread_does_not_have_the_lock_that_it_waits_for),
        cmocka_unit_test(where_two_seem_to_have_it_neither_counts),
        cmocka_unit_test(objects_with_too_large_a_head_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
