/* SPDX-License-Identifier: Apache-2.0 */
/* test_code.c - code objects are decoded once, and an address that is used again is noticed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

/* A cache and a target with code objects. */
struct fixture {
    struct fake *fake;
    struct codes codes;
    cpy_addr type;
};

static const struct codes_owner uncounted;

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->fake = fake_of(14);
    f->type = fake_type(f->fake, "code", 0);
    codes_init(&f->codes);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    codes_finish(&f->codes);
    mem_close(&f->fake->mem);
    free(f);
    return 0;
}

/* Writes a code object over whatever is at `at`. */
static void put_code(struct fixture *f, cpy_addr at, const char *func, int32_t first_line)
{
    fake_put_code(f->fake, at,
                  &(struct fake_code){.type = f->type,
                                      .func = func,
                                      .units = 10,
                                      .first_line = (uint32_t)first_line,
                                      .first_traceable = 3,
                                      .table = "\x87\x01",
                                      .table_size = 2});
}

static cpy_addr new_code(struct fixture *f, const char *func, int32_t first_line)
{
    cpy_addr at = fake_room(f->fake, f->fake->layout.code.size);

    put_code(f, at, func, first_line);
    return at;
}

static enum cpy_rc check(struct fixture *f, cpy_addr at, uint64_t generation)
{
    return codes_check(&f->codes, &f->fake->reader, &at, 1,
                       &(struct codes_owner){.generation = generation});
}

static void decodes_names_lines_and_table(void **state)
{
    struct fixture *f = *state;
    cpy_addr at = new_code(f, "Wörker.run", 42);
    const struct code_entry *entry;

    assert_int_equal(check(f, at, 1), CPY_OK);
    entry = codes_find(&f->codes, at);
    assert_non_null(entry);
    assert_string_equal(entry->code.file, "/srv/app.py");
    assert_int_equal(entry->code.first_line, 42);
    assert_int_equal(entry->first_traceable, 3);
    assert_int_equal(entry->unit_count, 10);
    assert_int_equal(entry->table_size, 2);
    assert_memory_equal(entry->table, "\x87\x01", 2);
}

static void reads_nothing_again_under_the_same_generation(void **state)
{
    struct fixture *f = *state;
    cpy_addr at = new_code(f, "f", 1);
    uint64_t reads;

    assert_int_equal(check(f, at, 7), CPY_OK);
    reads = f->fake->mem.reads;
    assert_int_equal(check(f, at, 7), CPY_OK);

    assert_int_equal(f->fake->mem.reads, reads);
    assert_int_equal(f->codes.decoded, 1);
}

static void compares_after_the_generation_has_moved(void **state)
{
    struct fixture *f = *state;
    cpy_addr at = new_code(f, "f", 1);
    uint64_t reads;

    assert_int_equal(check(f, at, 7), CPY_OK);
    reads = f->fake->mem.reads;
    assert_int_equal(check(f, at, 8), CPY_OK);

    assert_int_equal(f->fake->mem.reads, reads + 1);
    assert_int_equal(f->codes.decoded, 1);
}

/* An address is used for other code; the cache is told so by `before` and `after`. */
static void reuse(struct fixture *f, uint64_t before, uint64_t after)
{
    cpy_addr at = new_code(f, "old", 1);
    uint64_t id;

    assert_int_equal(check(f, at, before), CPY_OK);
    id = codes_find(&f->codes, at)->code.id;
    put_code(f, at, "new", 2);
    assert_int_equal(check(f, at, after), CPY_OK);

    assert_string_equal(codes_find(&f->codes, at)->code.func, "new");
    assert_int_equal(codes_find(&f->codes, at)->code.first_line, 2);
    assert_int_not_equal(codes_find(&f->codes, at)->code.id, id);
}

static void notices_other_code_at_an_address_by_the_generation(void **state)
{
    reuse(*state, 7, 8);
}

static void notices_other_code_at_an_address_without_a_generation(void **state)
{
    reuse(*state, 0, 0);
}

static void notices_each_pointer_that_changes(void **state)
{
    struct fixture *f = *state;
    const struct layout *l = &f->fake->layout;
    const uint32_t fields[] = {l->code.qualname, l->code.filename};
    cpy_addr at = new_code(f, "old", 1);

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(check(f, at, 0), CPY_OK);
        fake_put64(f->fake, at + fields[i], fake_str(f->fake, "changed"));
        assert_int_equal(check(f, at, 0), CPY_OK);
        assert_int_equal(f->codes.decoded, i + 2);
    }
    fake_put64(f->fake, at + l->code.linetable, fake_bytes(f->fake, "", 0));
    assert_int_equal(check(f, at, 0), CPY_OK);
    assert_int_equal(codes_find(&f->codes, at)->table_size, 0);
    fake_put64(f->fake, at + l->object.ob_size, 11);
    assert_int_equal(check(f, at, 0), CPY_OK);
    assert_int_equal(codes_find(&f->codes, at)->unit_count, 11);
    assert_string_equal(codes_find(&f->codes, at)->code.func, "changed");
    assert_string_equal(codes_find(&f->codes, at)->code.file, "changed");
}

static void keeps_lent_strings_until_the_next_sweep(void **state)
{
    struct fixture *f = *state;
    cpy_addr at = new_code(f, "old", 1);
    const struct cpy_code *lent;

    assert_int_equal(check(f, at, 0), CPY_OK);
    lent = &codes_find(&f->codes, at)->code;
    put_code(f, at, "new", 2);
    assert_int_equal(check(f, at, 0), CPY_OK);

    assert_string_equal(lent->func, "old"); /* a sanitizer sees it if this is freed */
    assert_ptr_not_equal(lent, &codes_find(&f->codes, at)->code);
    codes_sweep(&f->codes);
    assert_null(f->codes.dead);
    assert_string_equal(codes_find(&f->codes, at)->code.func, "new");
}

static void refuses_what_is_no_code_object(void **state)
{
    struct fixture *f = *state;
    cpy_addr at = new_code(f, "f", 1), other = new_code(f, "g", 1);

    fake_put64(f->fake, other + f->fake->layout.object.ob_type, fake_type(f->fake, "function", 0));
    assert_int_equal(check(f, other, 0), CPY_RACED);
    assert_null(codes_find(&f->codes, other));
    assert_int_equal(check(f, at, 0), CPY_OK); /* now the type is known ... */
    assert_int_equal(check(f, other, 0), CPY_RACED);
    fake_put64(f->fake, at + f->fake->layout.object.ob_type, 0); /* ... and this one is freed */
    assert_int_equal(check(f, at, 0), CPY_RACED);
    assert_int_equal(check(f, NOWHERE, 0), CPY_RACED);
}

static void refuses_broken_parts_of_a_code_object(void **state)
{
    struct fixture *f = *state;
    const struct layout *l = &f->fake->layout;
    const uint32_t fields[] = {l->code.qualname, l->code.filename, l->code.linetable};
    cpy_addr at;

    for (size_t i = 0; i < 3; i++) {
        at = new_code(f, "f", 1);
        fake_put64(f->fake, at + fields[i], NOWHERE);
        assert_int_equal(check(f, at, 0), CPY_RACED);
        assert_null(codes_find(&f->codes, at));
    }
    at = new_code(f, "f", 1);
    fake_put64(f->fake, at + l->object.ob_size, UINT64_MAX);
    assert_int_equal(check(f, at, 0), CPY_RACED);
}

static struct fixture *changing;
static cpy_addr changing_at;

static void free_the_code(struct fake *fake)
{
    (void)fake;
    put_code(changing, changing_at, "new", 2);
}

static void notices_code_that_changes_while_it_is_decoded(void **state)
{
    struct fixture *f = *state;
    uint64_t reads;

    changing = f;
    changing_at = new_code(f, "old", 1);
    assert_int_equal(check(f, changing_at, 0), CPY_OK);
    reads = f->fake->mem.reads;
    f->fake->change = free_the_code;
    for (f->fake->change_at = 2; f->fake->change_at <= reads; f->fake->change_at++) {
        codes_finish(&f->codes);
        codes_init(&f->codes);
        put_code(f, changing_at, "old", 1);
        f->fake->mem.reads = 0;
        assert_int_equal(check(f, changing_at, 0), CPY_RACED);
    }
    assert_true(reads > 5);
}

static void reads_many_code_objects_at_once(void **state)
{
    enum { COUNT = 1000 };
    struct fixture *f = *state;
    static cpy_addr addrs[COUNT];
    uint64_t reads;
    char name[32];

    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof(name), "f%zu", i);
        addrs[i] = new_code(f, name, (int32_t)i);
    }
    assert_int_equal(codes_check(&f->codes, &f->fake->reader, addrs, COUNT, &uncounted), CPY_OK);
    reads = f->fake->mem.reads;
    assert_int_equal(codes_check(&f->codes, &f->fake->reader, addrs, COUNT, &uncounted), CPY_OK);

    assert_true(f->fake->mem.reads - reads <= 8);
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof(name), "f%zu", i);
        assert_string_equal(codes_find(&f->codes, addrs[i])->code.func, name);
    }
}

static void checks_a_recursive_function_once(void **state)
{
    enum { COUNT = 500 };
    struct fixture *f = *state;
    static cpy_addr addrs[COUNT];
    uint64_t bytes;

    addrs[0] = new_code(f, "f", 1);
    for (size_t i = 1; i < COUNT; i++)
        addrs[i] = addrs[0];
    assert_int_equal(codes_check(&f->codes, &f->fake->reader, addrs, COUNT, &uncounted), CPY_OK);
    bytes = f->fake->mem.bytes;
    assert_int_equal(codes_check(&f->codes, &f->fake->reader, addrs, COUNT, &uncounted), CPY_OK);

    assert_int_equal(f->fake->mem.bytes - bytes, f->fake->layout.code.size);
}

static void checks_the_last_of_a_mixed_batch(void **state)
{
    struct fixture *f = *state;
    cpy_addr known = new_code(f, "known", 1), fresh = new_code(f, "fresh", 2), addrs[3];

    assert_int_equal(check(f, known, 5), CPY_OK);
    addrs[0] = addrs[2] = known;
    addrs[1] = fresh; /* the only one that is to be read, and not the last */
    assert_int_equal(
        codes_check(&f->codes, &f->fake->reader, addrs, 3, &(struct codes_owner){.generation = 5}),
        CPY_OK);
    assert_string_equal(codes_find(&f->codes, fresh)->code.func, "fresh");
    assert_int_equal(codes_check(&f->codes, &f->fake->reader, NULL, 0, &uncounted), CPY_OK);
}

static void empties_a_cache_that_is_too_large(void **state)
{
    struct fixture *f = *state;
    cpy_addr at = new_code(f, "f", 1);
    uint64_t id;

    assert_int_equal(check(f, at, 5), CPY_OK);
    id = codes_find(&f->codes, at)->code.id;
    f->codes.bytes = CODES_BYTES_MAX;
    codes_sweep(&f->codes);

    assert_null(codes_find(&f->codes, at));
    assert_int_equal(f->codes.by_addr.count, 0);
    assert_int_equal(f->codes.bytes, 0);
    assert_int_equal(check(f, at, 5), CPY_OK);
    assert_int_not_equal(codes_find(&f->codes, at)->code.id, id);
}

static void finds_nothing_before_anything_was_checked(void **state)
{
    struct fixture *f = *state;

    assert_null(codes_find(&f->codes, NOWHERE));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(decodes_names_lines_and_table),
        TEST(reads_nothing_again_under_the_same_generation),
        TEST(compares_after_the_generation_has_moved),
        TEST(notices_other_code_at_an_address_by_the_generation),
        TEST(notices_other_code_at_an_address_without_a_generation),
        TEST(notices_each_pointer_that_changes),
        TEST(keeps_lent_strings_until_the_next_sweep),
        TEST(refuses_what_is_no_code_object),
        TEST(refuses_broken_parts_of_a_code_object),
        TEST(notices_code_that_changes_while_it_is_decoded),
        TEST(reads_many_code_objects_at_once),
        TEST(checks_a_recursive_function_once),
        TEST(checks_the_last_of_a_mixed_batch),
        TEST(empties_a_cache_that_is_too_large),
        TEST(finds_nothing_before_anything_was_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
