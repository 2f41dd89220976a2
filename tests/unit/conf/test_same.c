/* SPDX-License-Identifier: Apache-2.0 */
/* test_same.c - which changes of settings are changes of an exporter or the spool, and which
 * are none. */
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

#define EXPORTER "[exporter a]\ntype = pyroscope\nurl = http://h\nheader.X-Key = one\n"

static bool same(const char *a, const char *b)
{
    struct conf *first = conf_must_parse(a), *second = conf_must_parse(b);
    bool result = conf_same_exporter(first, second, "a");

    conf_free(first);
    conf_free(second);
    return result;
}

static void takes_the_same_for_the_same_however_it_is_written(void **state)
{
    (void)state;
    assert_true(same(EXPORTER, "; a comment\n" EXPORTER "timeout = 10000ms\n"));
    assert_true(same(EXPORTER, "[agent]\nrate = 7Hz\n[labels]\na = b\n" EXPORTER));
    assert_true(same(EXPORTER, "[exporter b]\ntype = store\n" EXPORTER));
}

static void sees_each_change(void **state)
{
    (void)state;
    assert_false(same("", ""));
    assert_false(same(EXPORTER, ""));
    assert_false(same("", EXPORTER));
    assert_false(same(EXPORTER, EXPORTER "timeout = 9s\n"));
    assert_false(
        same(EXPORTER, "[exporter b]\ntype = pyroscope\nurl = http://h\nheader.X-Key = one\n"));
    assert_false(
        same(EXPORTER, "[exporter a]\ntype = pyroscope\nurl = http://i\nheader.X-Key = one\n"));
    assert_false(
        same(EXPORTER, "[exporter a]\ntype = pyroscope\nurl = http://h\nheader.X-Key = two\n"));
}

static bool same_spool(const char *a, const char *b)
{
    struct conf *first = conf_must_parse(a), *second = conf_must_parse(b);
    bool result = conf_same_spool(first, second);

    conf_free(first);
    conf_free(second);
    return result;
}

static void sees_a_change_of_the_spool_alone(void **state)
{
    (void)state;
    assert_true(same_spool("", EXPORTER "[agent]\nrate = 7Hz\n"));
    assert_false(same_spool("", "[agent]\nspool = off\n"));
    assert_false(same_spool("[agent]\nspool = /a\n", "[agent]\nspool = /b\n"));
    assert_false(same_spool("[agent]\nspool_max_size = 1MiB\n", "[agent]\n"));
}

static bool is_empty(const char *text)
{
    struct conf *conf = conf_must_parse(text);
    bool result = conf_is_empty(conf);

    conf_free(conf);
    return result;
}

static void knows_a_file_without_any_section(void **state)
{
    (void)state;
    assert_true(is_empty(""));
    assert_true(is_empty("\n; to be written\n"));
    assert_false(is_empty("[agent]\n"));
    assert_false(is_empty(EXPORTER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_same_for_the_same_however_it_is_written),
        cmocka_unit_test(sees_each_change),
        cmocka_unit_test(sees_a_change_of_the_spool_alone),
        cmocka_unit_test(knows_a_file_without_any_section),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
