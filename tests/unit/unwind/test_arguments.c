/* SPDX-License-Identifier: Apache-2.0 */
/* test_arguments.c - the command line and the environment that a Python keeps. */
#include <string.h>

#include "base/buf.h"
#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { TEXT_MAX = 64 << 10 };

/* A list of these texts, which end with NULL, that says to have `count`; gives its address. */
static cpy_addr list_of(struct fake *fake, const char *type, const char *const *texts,
                        uint64_t count)
{
    const struct layout *l = &fake->layout;
    cpy_addr list = fake_room(fake, 64), items = fake_room(fake, 8 * 8);

    for (size_t i = 0; texts[i]; i++)
        fake_put64(fake, items + i * 8, fake_str(fake, texts[i]));
    fake_put64(fake, list + l->object.ob_type, fake_type(fake, type, 0));
    fake_put64(fake, list + l->object.ob_size, count);
    fake_put64(fake, list + l->object.ob_size + 8, items);
    return list;
}

/* Sets interp.modules to one module with one variable. */
static void import_module(struct fake_process *p, const char *name, const char *variable,
                          cpy_addr value)
{
    const struct fake_item item = {fake_str(p->fake, variable), value};
    struct fake_item module = {fake_str(p->fake, name),
                               fake_instance(p->fake, fake_class(p->fake, 0, 16, 0))};

    fake_put64(p->fake, module.value + 16, fake_dict(p->fake, KEYS_UNICODE, &item, 1));
    fake_put64(p->fake, p->interp + p->fake->layout.interp.modules,
               fake_dict(p->fake, KEYS_UNICODE, &module, 1));
}

/* Where the module sys has that list, `expected` are the words that are read, and a NUL behind
 * each. */
static void assert_words(const char *variable, const char *const *words, uint64_t count,
                         const char *expected, size_t size)
{
    struct fake_process p = fake_process_make(14);
    struct buf out;

    buf_init(&out, TEXT_MAX);
    import_module(&p, "sys", variable, list_of(p.fake, "list", words, count));
    assert_int_equal(cpy_read_arguments(p.target, &out), CPY_OK);

    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, expected, size);
    buf_finish(&out);
    cpy_close(p.target);
}

static void reads_the_words_of_the_command_line(void **state)
{
    static const char *const words[] = {"python3", "-m", "shop", NULL};
    static const char expected[] = "python3\0-m\0shop";

    (void)state;
    assert_words("orig_argv", words, 3, expected, sizeof(expected));
}

static void takes_those_of_the_script_where_there_are_no_others(void **state)
{
    static const char *const words[] = {"shop.py", "--fast", NULL};
    static const char expected[] = "python\0shop.py\0--fast";

    (void)state;
    assert_words("argv", words, 2, expected, sizeof(expected));
}

static void believes_no_list_that_cannot_be_one(void **state)
{
    static const char *const words[] = {"python3", NULL};
    struct fake_process p = fake_process_make(14);
    struct buf out;

    (void)state;
    buf_init(&out, TEXT_MAX);
    import_module(&p, "sys", "orig_argv", list_of(p.fake, "list", words, UINT64_MAX));
    assert_int_equal(cpy_read_arguments(p.target, &out), CPY_RACED);
    import_module(&p, "sys", "orig_argv", list_of(p.fake, "tuple", words, 1));
    assert_int_equal(cpy_read_arguments(p.target, &out), CPY_RACED);
    import_module(&p, "sys", "orig_argv", 16); /* not mapped */
    assert_int_equal(cpy_read_arguments(p.target, &out), CPY_RACED);
    import_module(&p, "os", "orig_argv", list_of(p.fake, "list", words, 1));
    assert_int_equal(cpy_read_arguments(p.target, &out), CPY_RACED);
    buf_finish(&out);
    cpy_close(p.target);
}

static void reads_the_environment_as_it_was(void **state)
{
    struct fake_process p = fake_process_make(14);
    struct fake_item items[2];
    struct buf out, small;

    (void)state;
    buf_init(&out, TEXT_MAX);
    buf_init(&small, 4);
    items[0] = (struct fake_item){fake_bytes(p.fake, "A", 1), fake_bytes(p.fake, "1", 1)};
    items[1] =
        (struct fake_item){fake_bytes(p.fake, "DD_SERVICE", 10), fake_bytes(p.fake, "shop", 4)};
    import_module(&p, "posix", "environ", fake_dict(p.fake, KEYS_GENERAL, items, 2));
    assert_int_equal(cpy_read_environment(p.target, &out), CPY_OK);
    assert_int_equal(out.size, sizeof("A=1\0DD_SERVICE=shop"));
    assert_memory_equal(out.data, "A=1\0DD_SERVICE=shop", out.size);

    assert_int_equal(cpy_read_environment(p.target, &small), CPY_NOMEM);
    buf_finish(&small);
    buf_finish(&out);
    cpy_close(p.target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_words_of_the_command_line),
        cmocka_unit_test(takes_those_of_the_script_where_there_are_no_others),
        cmocka_unit_test(believes_no_list_that_cannot_be_one),
        cmocka_unit_test(reads_the_environment_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
