/* SPDX-License-Identifier: Apache-2.0 */
/* test_nomem.c - each allocation fails in turn, and nothing but CONF_NOMEM comes of it. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

enum { TRIES = 2000 };

static const char good[] = "[agent]\nrate = 3Hz\n[labels]\na = b\n[target t]\ncmdline = a|b+\n"
                           "[exporter s]\ntype = store\n[exporter p]\ntype = pyroscope\n"
                           "url = http://h\nheader.A = b\n";

static void gives_nomem_and_no_settings_for_each_allocation_that_fails(void **state)
{
    struct conf *conf = NULL;
    struct buf errors;
    enum conf_rc rc = CONF_NOMEM;
    unsigned long n;

    (void)state;
    buf_init(&errors, CONF_TEXT_MAX);
    for (n = 1; rc == CONF_NOMEM && n < TRIES; n++) {
        alloc_fail_at(n);
        rc = conf_parse("t.ini", good, strlen(good), &conf, &errors);
        (void)alloc_fail_stop();
        assert_true(rc == CONF_OK || !conf);
    }
    assert_int_equal(rc, CONF_OK);
    assert_in_range(n, 5, TRIES - 1);
    assert_int_equal(errors.size, 0);
    conf_free(conf);
}

static void gives_nomem_when_nothing_can_be_allocated(void **state)
{
    struct conf *conf = NULL;
    struct buf errors;
    enum conf_rc parsed, made, read;

    (void)state;
    buf_init(&errors, CONF_TEXT_MAX);
    alloc_fail_all();
    parsed = conf_parse("t.ini", good, strlen(good), &conf, &errors);
    made = conf_read(NULL, &conf, &errors);
    read = conf_read("/nowhere", &conf, &errors);
    (void)alloc_fail_stop();

    assert_int_equal(parsed, CONF_NOMEM);
    assert_int_equal(made, CONF_NOMEM);
    assert_int_equal(read, CONF_NOMEM);
    assert_null(conf);
}

static void frees_nothing_without_complaint(void **state)
{
    (void)state;
    conf_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_nomem_and_no_settings_for_each_allocation_that_fails),
        cmocka_unit_test(gives_nomem_when_nothing_can_be_allocated),
        cmocka_unit_test(frees_nothing_without_complaint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
