/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reused_addresses.c - samples of a process in which functions, interpreters and the whole
 * runtime are made again at the addresses of those that ended.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

/* A process of one interpreter and one thread that runs one function, which is called "old". */
struct scene {
    struct fake_process p;
    struct cpy_thread seen[4];
    const struct cpy_code *innermost[4];
    cpy_addr code;
    uint64_t count; /* of code objects that died */
};

static void put_count(struct scene *s, uint64_t count)
{
    const uint32_t field = s->p.fake->layout.interp.code_generation;

    s->count = count;
    if (field != NO_FIELD)
        fake_put64(s->p.fake, s->p.interp + field, count);
}

static void put_modules(struct scene *s, cpy_addr modules)
{
    fake_put64(s->p.fake, s->p.interp + s->p.fake->layout.interp.modules, modules);
}

static void begin(struct scene *s, unsigned minor)
{
    cpy_addr base;

    *s = (struct scene){.p = fake_process_make(minor)};
    s->p.seen = s->seen;
    s->p.innermost = s->innermost;
    s->code = fake_function(&s->p, "old");
    base = fake_shim(s->p.fake, 0);
    s->p.thread = fake_add_thread(&s->p, fake_frame(s->p.fake, s->code, 5, base));
    if (s->p.fake->layout.thread.base_frame != NO_FIELD)
        fake_put64(s->p.fake, s->p.thread + s->p.fake->layout.thread.base_frame, base);
    fake_hold_gil(&s->p, s->p.thread);
    put_count(s, 1000);
    put_modules(s, NOWHERE); /* where there are none: nobody has a name */
}

static void end(struct scene *s)
{
    cpy_close(s->p.target);
}

/* Writes another name over that of the function. */
static void rename_function(struct scene *s, const char name[4])
{
    const struct layout *l = &s->p.fake->layout;
    cpy_addr str = fake_get64(s->p.fake, s->code + l->code.qualname);

    fake_put(s->p.fake, str + l->unicode.ascii_data, name, 3);
}

/* The name of the function that a sample shows. */
static const char *name_of(struct scene *s)
{
    assert_int_equal(fake_sample(&s->p), CPY_OK);
    assert_int_equal(s->p.count, 1);
    assert_false(s->seen[0].torn);
    return s->innermost[0]->func;
}

/* Samples until the next one reads only what can have run, where the version has such samples. */
static void warm_up(struct scene *s)
{
    for (int i = 0; i < 3; i++)
        assert_string_equal(name_of(s), "old");
    for (int i = 0; i < 3; i++)
        assert_string_equal(name_of(s), "old");
    assert_true(fake_gil_skips(&s->p) > 0);
}

static void names_functions_that_are_made_in_turn(void **state)
{
    struct scene s;

    (void)state;
    for (unsigned minor = 12; minor <= 15; minor++) {
        begin(&s, minor);
        warm_up(&s);
        rename_function(&s, "one");
        put_count(&s, s.count + 1);
        assert_string_equal(name_of(&s), "one");
        assert_false(s.seen[0].same);
        rename_function(&s, "two");
        put_count(&s, s.count + 1);
        assert_string_equal(name_of(&s), "two");
        end(&s);
    }
}

static void names_functions_that_are_made_in_turn_by_their_versions(void **state)
{
    struct scene s;
    cpy_addr version;

    (void)state;
    for (unsigned minor = 12; minor <= 13; minor++) {
        begin(&s, minor);
        version = s.code + s.p.fake->layout.code.version;
        fake_put32(s.p.fake, version, 900);
        warm_up(&s);
        assert_int_equal(s.p.target->sets.contents.count, 0); /* no name was read again */
        rename_function(&s, "one");
        fake_put32(s.p.fake, version, 902);
        assert_string_equal(name_of(&s), "one");
        end(&s);
    }
}

static void names_functions_of_interpreters_that_are_made_in_turn(void **state)
{
    struct scene s;

    (void)state;
    for (unsigned minor = 12; minor <= 15; minor++) {
        begin(&s, minor);
        warm_up(&s);
        rename_function(&s, "one");
        fake_put64(s.p.fake, s.p.interp + s.p.fake->layout.interp.id, 1);
        assert_string_equal(name_of(&s), "one");
        assert_int_equal(s.seen[0].interpreter, 1);
        end(&s);
    }
}

/* Gives the process another runtime in which all has the address that it had. */
static void check_restart(unsigned minor, void (*restart)(struct scene *s))
{
    struct scene s;

    begin(&s, minor);
    fake_put32(s.p.fake, s.p.gil + s.p.fake->layout.gil.switch_number, 50);
    warm_up(&s);
    rename_function(&s, "one");
    assert_string_equal(name_of(&s), "old"); /* nothing tells yet */
    restart(&s);
    assert_string_equal(name_of(&s), "one");
    assert_string_equal(name_of(&s), "one");
    end(&s);
}

static void make_other_modules(struct scene *s)
{
    put_modules(s, NOWHERE + 64);
}

static void count_fewer_that_died(struct scene *s)
{
    put_count(s, s->count - 1);
}

static void count_fewer_gil_switches(struct scene *s)
{
    fake_put32(s->p.fake, s->p.gil + s->p.fake->layout.gil.switch_number, 1);
}

static void shut_down_and_start(struct scene *s)
{
    const cpy_addr finalizing = s->p.runtime + s->p.fake->layout.runtime.finalizing;

    s->p.target->gil_skip.ready = false;
    fake_put64(s->p.fake, finalizing, 1);
    assert_int_equal(fake_sample(&s->p), CPY_STARTING);
    fake_put64(s->p.fake, finalizing, 0);
}

static void names_functions_of_a_runtime_that_was_begun_again(void **state)
{
    (void)state;
    for (unsigned minor = 14; minor <= 15; minor++) {
        check_restart(minor, make_other_modules);
        check_restart(minor, count_fewer_that_died);
        check_restart(minor, count_fewer_gil_switches);
        check_restart(minor, shut_down_and_start);
    }
}

static void names_the_coroutines_of_interpreters_that_are_made_in_turn(void **state)
{
    struct scene s = {.p = fake_process_with_tasks()};
    struct fake_tasks_text text = {0};
    const char *const wanted[] = {"main", "main", "next"};

    (void)state;
    s.code = s.p.code;
    (void)fake_put_task(&s.p, fake_thread_ring(&s.p), 0, 0);
    for (size_t i = 0; i < 3; i++) {
        if (i == 2) {
            fake_put(s.p.fake,
                     fake_get64(s.p.fake, s.code + s.p.fake->layout.code.qualname) +
                         s.p.fake->layout.unicode.ascii_data,
                     "next", 4);
            fake_put64(s.p.fake, s.p.interp + s.p.fake->layout.interp.id, 1);
        }
        text = (struct fake_tasks_text){0};
        assert_int_equal(cpy_tasks(s.p.target, fake_tell_task, &text), CPY_OK);
        assert_non_null(strstr(text.text, wanted[i]));
    }
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_functions_that_are_made_in_turn),
        cmocka_unit_test(names_functions_that_are_made_in_turn_by_their_versions),
        cmocka_unit_test(names_functions_of_interpreters_that_are_made_in_turn),
        cmocka_unit_test(names_functions_of_a_runtime_that_was_begun_again),
        cmocka_unit_test(names_the_coroutines_of_interpreters_that_are_made_in_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
