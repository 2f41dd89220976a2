/* SPDX-License-Identifier: Apache-2.0 */
/* test_conf_same.c - which changes of settings are changes of exporters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/conf_help.h"

#define EXPORTER "[exporter a]\ntype = pyroscope\nurl = http://h\nheader.X-Key = one\n"

static bool same(const char *a, const char *b)
{
    struct conf *first = conf_must_parse(a), *second = conf_must_parse(b);
    bool result = conf_same_exporters(first, second);

    conf_free(first);
    conf_free(second);
    return result;
}

static void takes_the_same_for_the_same_however_it_is_written(void **state)
{
    (void)state;
    assert_true(same("", ""));
    assert_true(same(EXPORTER, "; a comment\n" EXPORTER "timeout = 10000ms\n"));
    assert_true(same(EXPORTER, "[agent]\nrate = 7Hz\n[labels]\na = b\n" EXPORTER));
}

static void sees_each_change(void **state)
{
    (void)state;
    assert_false(same(EXPORTER, ""));
    assert_false(same(EXPORTER, EXPORTER "timeout = 9s\n"));
    assert_false(
        same(EXPORTER, "[exporter b]\ntype = pyroscope\nurl = http://h\nheader.X-Key = one\n"));
    assert_false(
        same(EXPORTER, "[exporter a]\ntype = pyroscope\nurl = http://i\nheader.X-Key = one\n"));
    assert_false(
        same(EXPORTER, "[exporter a]\ntype = pyroscope\nurl = http://h\nheader.X-Key = two\n"));
    assert_false(same(EXPORTER, EXPORTER "[exporter b]\ntype = store\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_same_for_the_same_however_it_is_written),
        cmocka_unit_test(sees_each_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
