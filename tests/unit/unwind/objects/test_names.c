/* SPDX-License-Identifier: Apache-2.0 */
/* test_names.c - Python's names of threads are found, and never told of another thread. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"
#include "unwind/objects/names.h"

/* Idents, as pthread_t are: two digits of 30 bits. */
#define IDENT_A UINT64_C(0x7f1200000700)
#define IDENT_B UINT64_C(0x7f1200000800)

struct fixture {
    struct fake *fake;
    struct names names;
    cpy_addr interp;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->fake = fake_of(14);
    f->interp = fake_room(f->fake, f->fake->layout.interp.size);
    names_init(&f->names);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    names_finish(&f->names);
    mem_close(&f->fake->mem);
    free(f);
    return 0;
}

/* A Thread object with its attributes inline. */
static cpy_addr put_thread(struct fake *fake, const char *name)
{
    struct fake_item keys[] = {{fake_str(fake, "_target"), 0}, {fake_str(fake, "_name"), 0}};
    cpy_addr type = fake_class(fake, TYPE_MANAGED_DICT | TYPE_INLINE_VALUES, -1,
                               fake_keys(fake, KEYS_SPLIT, keys, 2));
    cpy_addr thread = fake_instance(fake, type);

    fake_put8(fake, thread + TYPE_BASICSIZE + 3, 1);
    fake_put64(fake, thread + TYPE_BASICSIZE + 8 + 8, fake_str(fake, name));
    return thread;
}

/* Sets interp.modules["threading"]._active = {ident: Thread(name)...}; NULL: no such thread. */
static void put_active(struct fixture *f, cpy_addr interp, const char *name_a, const char *name_b)
{
    struct fake *fake = f->fake;
    struct fake_item active[2] = {{0, 0}, {0, 0}}, modules, threading;
    cpy_addr module;

    if (name_a)
        active[0] = (struct fake_item){fake_int(fake, IDENT_A), put_thread(fake, name_a)};
    if (name_b)
        active[1] = (struct fake_item){fake_int(fake, IDENT_B), put_thread(fake, name_b)};
    threading =
        (struct fake_item){fake_str(fake, "_active"), fake_dict(fake, KEYS_GENERAL, active, 2)};
    module = fake_instance(fake, fake_class(fake, 0, 16, 0));
    fake_put64(fake, module + 16, fake_dict(fake, KEYS_UNICODE, &threading, 1));
    modules = (struct fake_item){fake_str(fake, "threading"), module};
    fake_put64(fake, interp + fake->layout.interp.modules,
               fake_dict(fake, KEYS_UNICODE, &modules, 1));
}

static const char *name_in(struct fixture *f, cpy_addr interp, uint64_t ident, uint64_t native)
{
    return names_of(&f->names, &f->fake->reader, interp, ident, native);
}

static const char *name_of(struct fixture *f, uint64_t ident, uint64_t native)
{
    return name_in(f, f->interp, ident, native);
}

static void finds_the_names_of_all_threads_in_one_look(void **state)
{
    struct fixture *f = *state;
    uint64_t reads;

    put_active(f, f->interp, "MainThread", "Wörker");
    names_next_sample(&f->names, 0);
    assert_string_equal(name_of(f, IDENT_A, 1), "MainThread");
    reads = f->fake->mem.reads;
    names_next_sample(&f->names, 2);
    assert_string_equal(name_of(f, IDENT_A, 1), "MainThread");

    assert_int_equal(f->fake->mem.reads, reads);
    assert_non_null(name_of(f, IDENT_B, 2));
    assert_int_equal(f->fake->mem.reads, reads);
}

static void knows_no_name_of_a_thread_that_threading_has_not(void **state)
{
    struct fixture *f = *state;

    put_active(f, f->interp, "MainThread", NULL);
    names_next_sample(&f->names, 0);
    assert_null(name_of(f, IDENT_B, 2));
    assert_string_equal(name_of(f, IDENT_A, 1), "MainThread");
}

static void knows_no_name_without_the_threading_module(void **state)
{
    struct fixture *f = *state;

    names_next_sample(&f->names, 0);
    assert_null(name_of(f, IDENT_A, 1));
}

static void looks_ever_more_rarely_where_that_does_not_help(void **state)
{
    enum { SAMPLES = 5000 };
    struct fixture *f = *state;
    uint64_t reads;
    int looks = 0;

    put_active(f, f->interp, "MainThread", NULL);
    for (int i = 0; i < SAMPLES; i++) {
        names_next_sample(&f->names, 1);
        reads = f->fake->mem.reads;
        assert_null(name_of(f, IDENT_B, 2));
        looks += f->fake->mem.reads != reads;
    }
    assert_in_range(looks, 10, 30);
}

static void looks_again_when_a_thread_has_come(void **state)
{
    struct fixture *f = *state;

    put_active(f, f->interp, "MainThread", NULL);
    for (int i = 0; i < 100; i++) {
        names_next_sample(&f->names, 1);
        assert_null(name_of(f, IDENT_B, 2));
    }
    put_active(f, f->interp, "MainThread", "late");
    names_next_sample(&f->names, 2);
    assert_string_equal(name_of(f, IDENT_B, 2), "late");
}

static void tells_no_old_name_of_a_thread_that_got_an_ident_again(void **state)
{
    struct fixture *f = *state;

    put_active(f, f->interp, "MainThread", "first");
    names_next_sample(&f->names, 2);
    assert_string_equal(name_of(f, IDENT_A, 1), "MainThread");
    assert_string_equal(name_of(f, IDENT_B, 2), "first");
    put_active(f, f->interp, "MainThread", "second");
    names_next_sample(&f->names, 2); /* as many threads as before */
    assert_string_equal(name_of(f, IDENT_A, 1), "MainThread");
    assert_string_equal(name_of(f, IDENT_B, 3), "second");
    put_active(f, f->interp, "MainThread", NULL);
    names_next_sample(&f->names, 2);
    assert_null(name_of(f, IDENT_B, 4));
    assert_string_equal(name_of(f, IDENT_A, 1), "MainThread");
}

static void looks_at_every_interpreter_though_one_has_a_nameless_thread(void **state)
{
    struct fixture *f = *state;
    cpy_addr other = fake_room(f->fake, f->fake->layout.interp.size);

    put_active(f, f->interp, "MainThread", NULL);
    put_active(f, other, NULL, "sub");
    names_next_sample(&f->names, 3);
    assert_null(name_of(f, IDENT_B, 2)); /* it never gets one */
    assert_string_equal(name_in(f, other, IDENT_B, 3), "sub");
    assert_null(name_in(f, other, IDENT_A, 1)); /* names of another interpreter are not its own */
}

static void forgets_what_it_read_of_a_dict_that_broke_off(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = f->fake;
    size_t used = fake->used;

    put_active(f, f->interp, "MainThread", "worker");
    for (cpy_addr at = FAKE_BASE + used; at < FAKE_BASE + fake->used; at += 8) {
        const char *name;

        fake->hole = at;
        fake->hole_end = at + 8;
        names_finish(&f->names);
        names_init(&f->names);
        names_next_sample(&f->names, 2);
        name = name_of(f, IDENT_A, 1);
        assert_true(!name || strcmp(name, "MainThread") == 0);
        name = name_of(f, IDENT_B, 2);
        assert_true(!name || strcmp(name, "worker") == 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(finds_the_names_of_all_threads_in_one_look),
        TEST(knows_no_name_of_a_thread_that_threading_has_not),
        TEST(knows_no_name_without_the_threading_module),
        TEST(looks_ever_more_rarely_where_that_does_not_help),
        TEST(looks_again_when_a_thread_has_come),
        TEST(tells_no_old_name_of_a_thread_that_got_an_ident_again),
        TEST(looks_at_every_interpreter_though_one_has_a_nameless_thread),
        TEST(forgets_what_it_read_of_a_dict_that_broke_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
