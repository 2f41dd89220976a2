/* SPDX-License-Identifier: Apache-2.0 */
/* test_names.c - Python's names of threads are found, and never told of another thread. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit_test.h"
#include "tests/unit/unwind/threading.h"
#include "unwind/objects/names.h"

/* Idents, as pthread_t are: two digits of 30 bits. */
#define IDENT_A UINT64_C(0x7f1200000700)
#define IDENT_B UINT64_C(0x7f1200801700)

struct fixture {
    struct fake *fake;
    struct names names;
    struct names_seen seen;
    cpy_addr interp, variable, type; /* `variable`: threading._active */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->fake = fake_of(14);
    f->interp = fake_room(f->fake, f->fake->layout.interp.size);
    f->type = threading_class(f->fake);
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

/* A dict {ident: Thread(name)...}; NULL: no such thread. */
static cpy_addr make_active(struct fixture *f, const char *name_a, const char *name_b)
{
    const struct fake_int_item items[] = {
        {IDENT_A, name_a ? threading_thread(f->fake, f->type, name_a) : 0},
        {IDENT_B, name_b ? threading_thread(f->fake, f->type, name_b) : 0}};

    return fake_int_dict(f->fake, items, 2);
}

/* Imports threading, with such a dict as _active. */
static void import(struct fixture *f, const char *name_a, const char *name_b)
{
    f->variable = threading_import(f->fake, f->interp);
    fake_put64(f->fake, f->variable, make_active(f, name_a, name_b));
}

static const char *name_in(struct fixture *f, uint64_t interp_id, uint64_t ident)
{
    return names_read(&f->names, &f->fake->reader, f->interp, interp_id, ident, &f->seen);
}

static const char *name_of(struct fixture *f, uint64_t ident)
{
    return name_in(f, 0, ident);
}

static void finds_the_name_of_each_thread(void **state)
{
    struct fixture *f = *state;

    import(f, "MainThread", "Wörker");
    assert_string_equal(name_of(f, IDENT_A), "MainThread");
    assert_non_null(name_of(f, IDENT_B));
    assert_null(name_of(f, IDENT_B + 8));
}

/* A str that is put at the address of another, as when that is freed, is another. */
static void sees_by_one_read_whether_a_name_is_the_same(void **state)
{
    struct fixture *f = *state;
    const struct layout *l = &f->fake->layout;
    cpy_addr text;
    uint64_t reads;

    assert_false(names_are_same(&f->fake->reader, &f->seen)); /* none was read */
    import(f, "MainThread", "job 1");
    assert_string_equal(name_of(f, IDENT_B), "job 1");
    reads = f->fake->mem.reads;
    assert_true(names_are_same(&f->fake->reader, &f->seen));
    assert_int_equal(f->fake->mem.reads, reads + 1);
    text = f->seen.name.value + l->unicode.ascii_data;
    fake_put8(f->fake, text + 4, '2');
    assert_false(names_are_same(&f->fake->reader, &f->seen));
    assert_string_equal(name_of(f, IDENT_B), "job 2");
    assert_true(names_are_same(&f->fake->reader, &f->seen));
    fake_put64(f->fake, f->seen.name.at, fake_str(f->fake, "job 3"));
    assert_false(names_are_same(&f->fake->reader, &f->seen));
    assert_string_equal(name_of(f, IDENT_B), "job 3");
    fake_put64(f->fake, f->seen.thread.at, threading_thread(f->fake, f->type, "job 3"));
    assert_false(names_are_same(&f->fake->reader, &f->seen));
    assert_null(name_of(f, IDENT_B + 8));
    assert_false(names_are_same(&f->fake->reader, &f->seen));
}

static void does_not_compare_a_long_name(void **state)
{
    struct fixture *f = *state;

    import(f, "MainThread",
           "a name of a thread that is so long that it takes more than there is room");
    assert_non_null(name_of(f, IDENT_B));
    assert_false(names_are_same(&f->fake->reader, &f->seen));
}

static void knows_no_name_of_a_thread_that_threading_has_not(void **state)
{
    struct fixture *f = *state;

    import(f, "MainThread", NULL);
    assert_null(name_of(f, IDENT_B));
    assert_string_equal(name_of(f, IDENT_A), "MainThread");
}

static void looks_ever_more_rarely_for_a_module_that_is_not_there(void **state)
{
    enum { SAMPLES = 5000 };
    struct fixture *f = *state;
    uint64_t reads;
    int looks = 0;

    for (int i = 0; i < SAMPLES; i++) {
        f->names.sample++;
        reads = f->fake->mem.reads;
        assert_null(name_of(f, IDENT_A));
        assert_null(name_of(f, IDENT_B));
        looks += f->fake->mem.reads != reads;
    }
    assert_in_range(looks, 10, 30);
    import(f, "MainThread", NULL);
    f->names.sample += 512;
    assert_string_equal(name_of(f, IDENT_A), "MainThread");
}

static void looks_for_the_dict_again_where_the_module_has_another(void **state)
{
    struct fixture *f = *state;

    import(f, "MainThread", "old");
    assert_string_equal(name_of(f, IDENT_B), "old");
    fake_put64(f->fake, f->variable, make_active(f, "MainThread", "new"));
    assert_string_equal(name_of(f, IDENT_B), "new");
    import(f, "MainThread", "newer"); /* the module is another, too, in another runtime */
    names_forget(&f->names);
    assert_string_equal(name_of(f, IDENT_B), "newer");
}

static void knows_interpreters_at_one_address_by_their_id(void **state)
{
    struct fixture *f = *state;

    import(f, "first", NULL);
    assert_string_equal(name_in(f, 1, IDENT_A), "first");
    import(f, "second", NULL);
    assert_string_equal(name_in(f, 2, IDENT_A), "second");
}

static void keeps_no_more_interpreters_than_there_can_be(void **state)
{
    struct fixture *f = *state;

    import(f, "MainThread", NULL);
    for (uint64_t id = 0; id < 3 * CPY_INTERPRETERS_MAX; id++)
        assert_string_equal(name_in(f, id, IDENT_A), "MainThread");
    assert_true(f->names.count <= CPY_INTERPRETERS_MAX);
}

static struct fixture *changing;

/* The thread ends; another one gets its ident, and its name is where that of the first was. */
static void replace_thread(struct fake *fake)
{
    struct fixture *f = changing;
    struct object_slot thread;

    fake->change = NULL;
    assert_int_equal(
        object_dict_find_int(&fake->reader, fake_get64(fake, f->variable), IDENT_A, &thread),
        CPY_OK);
    fake_put64(fake, thread.at, threading_thread(fake, f->type, "after"));
    fake_put64(fake, thread.value + THREADING_NAME, fake_str(fake, "stranger"));
}

static void tells_no_name_of_a_thread_that_was_replaced_meanwhile(void **state)
{
    enum { READS = 40 };
    struct fixture *f = *state;
    const char *name;
    int unknown = 0;

    changing = f;
    for (uint64_t read = 1; read < READS; read++) {
        import(f, "before", NULL);
        names_forget(&f->names);
        f->fake->change = replace_thread;
        f->fake->change_at = f->fake->mem.reads + read;
        name = name_of(f, IDENT_A);
        unknown += name == NULL;
        assert_true(!name || strcmp(name, "before") == 0 || strcmp(name, "after") == 0);
    }
    assert_true(unknown > 0);
}

static void knows_no_name_where_memory_is_missing(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = f->fake;
    size_t used = fake->used;

    import(f, "MainThread", "worker");
    for (cpy_addr at = FAKE_BASE + used; at < FAKE_BASE + fake->used; at += 8) {
        const char *name;

        fake->hole = at;
        fake->hole_end = at + 8;
        names_forget(&f->names);
        name = name_of(f, IDENT_A);
        assert_true(!name || strcmp(name, "MainThread") == 0);
        name = name_of(f, IDENT_B);
        assert_true(!name || strcmp(name, "worker") == 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(finds_the_name_of_each_thread),
        TEST(sees_by_one_read_whether_a_name_is_the_same),
        TEST(does_not_compare_a_long_name),
        TEST(knows_no_name_of_a_thread_that_threading_has_not),
        TEST(looks_ever_more_rarely_for_a_module_that_is_not_there),
        TEST(looks_for_the_dict_again_where_the_module_has_another),
        TEST(knows_interpreters_at_one_address_by_their_id),
        TEST(keeps_no_more_interpreters_than_there_can_be),
        TEST(tells_no_name_of_a_thread_that_was_replaced_meanwhile),
        TEST(knows_no_name_where_memory_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
