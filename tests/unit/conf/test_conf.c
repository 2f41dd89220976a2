/* SPDX-License-Identifier: Apache-2.0 */
/* test_conf.c - whole ini texts: what comes of good ones, and how errors are listed. */
#include <stdio.h>

#include "conf/lines.h"
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

static const uint64_t second = 1000000000;

static void reads_an_empty_text_as_the_defaults(void **state)
{
    struct conf *conf = conf_must_parse("");

    (void)state;
    assert_true(conf->agent.rate_hz == 19);
    assert_int_equal(conf->agent.interval_ns, 15 * second);
    assert_int_equal(conf->agent.scan_ns, second);
    assert_string_equal(conf->agent.log_level, "info");
    assert_int_equal(conf->label_count, 0);
    assert_int_equal(conf->target_count, 0);
    assert_int_equal(conf->exporter_count, 0);
    conf_free(conf);
}

static void reads_every_setting_of_a_target(void **state)
{
    struct conf *conf = conf_must_parse("[target web]\ncmdline = a|b\nexe = /usr/bin/py*\n"
                                        "user = www\nservice = shop \"1\"\nrate = 49.5Hz\n"
                                        "split = process\n");
    const struct conf_target *target = &conf->targets[0];

    (void)state;
    assert_int_equal(conf->target_count, 1);
    assert_string_equal(target->name, "web");
    assert_string_equal(target->when.cmdline, "a|b");
    assert_string_equal(target->when.exe, "/usr/bin/py*");
    assert_string_equal(target->when.user, "www");
    assert_string_equal(target->service, "shop \"1\"");
    assert_true(target->rate_hz == 49.5);
    assert_int_equal(target->split, CONF_SPLIT_PROCESS);
    conf_free(conf);
}

static void gives_a_target_the_rate_of_an_agent_that_stands_below(void **state)
{
    struct conf *conf = conf_must_parse("[target a]\nuser = u\n[target b]\nuser = u\nrate = 5Hz\n"
                                        "[agent]\nrate = 7Hz\n");

    (void)state;
    assert_true(conf->targets[0].rate_hz == 7);
    assert_string_equal(conf->targets[0].service, "${otel:service.name:-${target}}");
    assert_null(conf->targets[0].when.cmdline);
    assert_true(conf->targets[1].rate_hz == 5);
    conf_free(conf);
}

/* What splits a target's samples if it does not say so, beside these other sections. */
static enum conf_split usual_split(const char *others)
{
    struct conf *conf;
    enum conf_split split;
    char text[400];

    (void)snprintf(text, sizeof(text), "[target a]\nuser = u\n%s", others);
    conf = conf_must_parse(text);
    split = conf->targets[0].split;
    conf_free(conf);
    return split;
}

static void tells_processes_apart_where_a_page_shows_them(void **state)
{
    static const char store[] = "[exporter s]\ntype = store\n[http]\nlisten = ";
    static const struct {
        const char *http;
        enum conf_split split;
    } cases[] = {
        {"127.0.0.1:7997", CONF_SPLIT_PROCESS},
        {"[::1]:7997", CONF_SPLIT_PROCESS},
        {"/run/page.sock", CONF_SPLIT_PROCESS},
        {"127.0.0.1:7997\npage = off", CONF_SPLIT_NONE},
        {"127.0.0.1:7997\npull = off", CONF_SPLIT_NONE},
        {"127.0.0.1:7997\npull = off\npage = on", CONF_SPLIT_PROCESS},
        {"0.0.0.0:7997", CONF_SPLIT_NONE},
        {"0.0.0.0:7997\npull = on", CONF_SPLIT_PROCESS},
        /* each would be a series at a server */
        {"127.0.0.1:7997\n[exporter p]\ntype = pyroscope\nurl = http://p:4040", CONF_SPLIT_NONE},
        {"127.0.0.1:7997\n[exporter o]\ntype = otlp\nurl = http://o:4318", CONF_SPLIT_NONE},
        {"127.0.0.1:7997\n[exporter f]\ntype = file\npattern = /tmp/{service}", CONF_SPLIT_PROCESS},
    };
    char text[300];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)snprintf(text, sizeof(text), "%s%s\n", store, cases[i].http);
        assert_int_equal(usual_split(text), cases[i].split);
    }
    assert_int_equal(usual_split("[exporter s]\ntype = store\n"), CONF_SPLIT_NONE);
    assert_int_equal(usual_split("[http]\nlisten = 127.0.0.1:7997\n"), CONF_SPLIT_NONE);
    assert_int_equal(usual_split("split = none\n[exporter s]\ntype = store\n"
                                 "[http]\nlisten = 127.0.0.1:7997\n"),
                     CONF_SPLIT_NONE);
}

static void keeps_targets_in_the_order_of_the_file(void **state)
{
    struct conf *conf = conf_must_parse("[target z]\nuser = u\n[target a]\nuser = u\n"
                                        "[target m]\nuser = u\n");

    (void)state;
    assert_int_equal(conf->target_count, 3);
    assert_string_equal(conf->targets[0].name, "z");
    assert_string_equal(conf->targets[1].name, "a");
    assert_string_equal(conf->targets[2].name, "m");
    conf_free(conf);
}

static void gives_a_store_its_defaults(void **state)
{
    struct conf *conf = conf_must_parse("[exporter local]\ntype = store\n");
    const struct exporter_settings *store = &conf->exporters[0];

    (void)state;
    assert_string_equal(store->name, "local");
    assert_ptr_equal(store->type, &exporter_types[EXPORTER_STORE]);
    assert_string_equal(store->path, "/var/lib/pystrobe/store");
    assert_int_equal(store->max_size_bytes, 256 << 20);
    assert_int_equal(store->max_age_ns, 7 * 86400 * second);
    assert_int_equal(store->queue_size_bytes, 8 << 20);
    assert_int_equal(store->retry_ns, 300 * second);
    assert_int_equal(store->timeout_ns, 0);
    assert_null(store->url);
    conf_free(conf);
}

static void takes_bounds_of_a_spool_up_to_their_limits(void **state)
{
    struct conf *least = conf_must_parse("[agent]\nspool = off\nspool_max_size = 64KiB\n"
                                         "spool_max_age = 1m\nspool_min_free = 0B\n");
    struct conf *most = conf_must_parse("[agent]\nspool = /s\nspool_max_size = 1TiB\n"
                                        "spool_max_age = 3650d\nspool_min_free = 1TiB\n");

    (void)state;
    assert_string_equal(least->agent.spool, "off");
    assert_int_equal(least->agent.spool_max_size_bytes, 64 << 10);
    assert_int_equal(least->agent.spool_max_age_ns, 60 * second);
    assert_int_equal(least->agent.spool_min_free_bytes, 0);
    assert_string_equal(most->agent.spool, "/s");
    assert_int_equal(most->agent.spool_max_size_bytes, UINT64_C(1) << 40);
    assert_int_equal(most->agent.spool_max_age_ns, 3650 * 86400 * second);
    assert_int_equal(most->agent.spool_min_free_bytes, UINT64_C(1) << 40);
    conf_free(least);
    conf_free(most);
}

static void reads_every_setting_of_a_pyroscope(void **state)
{
    struct conf *conf =
        conf_must_parse("[exporter far]\nurl = http://[fe80::1%25eth0]:4040/x\nheader.X-A = b; c\n"
                        "type = pyroscope\ntenant = t\ntoken_file = /t\nca_file = /c\n"
                        "timeout = 2s\nqueue_size = 3MiB\nretry = 1m\nheader.X-B = d\n");
    const struct exporter_settings *far = &conf->exporters[0];

    (void)state;
    assert_string_equal(far->url, "http://[fe80::1%25eth0]:4040/x");
    assert_string_equal(far->tenant, "t");
    assert_string_equal(far->token.file, "/t");
    assert_string_equal(far->ca_file, "/c");
    assert_int_equal(far->timeout_ns, 2 * second);
    assert_int_equal(far->queue_size_bytes, 3 << 20);
    assert_int_equal(far->retry_ns, 60 * second);
    assert_int_equal(far->header_count, 2);
    assert_string_equal(far->headers[0].name, "X-A");
    assert_string_equal(far->headers[0].value, "b; c");
    assert_string_equal(far->headers[1].name, "X-B");
    assert_null(far->path);
    assert_int_equal(far->max_size_bytes, 0);
    conf_free(conf);
}

static void reads_labels_of_any_language_and_of_the_greatest_length(void **state)
{
    static char text[CONF_LINE_MAX];
    struct conf *conf;

    (void)state;
    (void)snprintf(text, sizeof(text),
                   "[labels]\n%01024d = %02048d\nst\xc3\xa4"
                   "dt = K\xc3\xb6ln\n",
                   1, 2);
    conf = conf_must_parse(text);

    assert_int_equal(conf->label_count, 2);
    assert_int_equal(strlen(conf->labels[0].name), 1024);
    assert_int_equal(strlen(conf->labels[0].value), 2048);
    assert_string_equal(conf->labels[1].name, "st\xc3\xa4"
                                              "dt");
    assert_string_equal(conf->labels[1].value, "K\xc3\xb6ln");
    conf_free(conf);
}

static void passes_over_a_byte_order_mark_and_carriage_returns(void **state)
{
    struct conf *conf = conf_must_parse("\xef\xbb\xbf[agent]\r\n\trate = 3Hz ; slow\r\n");

    (void)state;
    assert_true(conf->agent.rate_hz == 3);
    conf_free(conf);
}

static void takes_regular_expressions_that_are_used_in_earnest(void **state)
{
    static const char *const good[] = {
        "^/usr/bin/python3(\\.[0-9]+)? .*manage\\.py runserver",
        "(gunicorn|uvicorn|hypercorn)( |:|$)",
        "([0-9]{1,3}\\.){3}[0-9]{1,3}",
        "(a+b+)+c+d+e+f+g+h+i+",
        "[]a-z[:digit:][.-.]+]{2,4}",
        "a{,3}|b{2,}|\\{x\\}|\\(y\\)",
    };
    char text[200];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct conf *conf;

        (void)snprintf(text, sizeof(text), "[target t]\ncmdline = %s\n", good[i]);
        conf = conf_must_parse(text);
        assert_string_equal(conf->targets[0].when.cmdline, good[i]);
        conf_free(conf);
    }
}

static void lists_errors_by_line_whenever_they_are_found(void **state)
{
    static const char ini[] = "[target t]\nservice = x\n[agent]\nrate = 5\n[exporter p]\n"
                              "type = pyroscope\n[labels\n";

    (void)state;
    conf_must_fail(
        ini, strlen(ini),
        "t.ini:1: [target t]: has no condition; allowed: at least one of cmdline, exe, "
        "user, cgroup, container, systemd_unit, parent, env.NAME\n"
        "t.ini:4: [agent] rate: \"5\" has no unit; units: Hz kHz; allowed: 0.1Hz to 1000Hz\n"
        "t.ini:5: [exporter p] url: is missing; allowed: http://HOST or https://HOST, "
        "then :PORT and /PATH if needed\n"
        "t.ini:7: the line has no \"]\"; allowed: [section]\n");
}

static void lists_fifty_errors_and_counts_the_rest(void **state)
{
    struct conf *conf = NULL;
    struct buf errors, text;
    const char *at;
    unsigned i, lines = 0;

    (void)state;
    buf_init(&errors, CONF_TEXT_MAX);
    buf_init(&text, CONF_TEXT_MAX);
    buf_add_str(&text, "[agent]\n");
    for (i = 0; i < 123; i++)
        buf_add_fmt(&text, "key%u = 1\n", i);

    assert_int_equal(conf_parse("t.ini", buf_text(&text), text.size, &conf, &errors), CONF_BAD);
    for (at = conf_text_of(&errors); (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 51);
    assert_non_null(strstr(conf_text_of(&errors), "t.ini:51: [agent]: key \"key49\""));
    assert_non_null(strstr(conf_text_of(&errors), "\nt.ini: and 73 more\n"));
    buf_finish(&text);
    buf_finish(&errors);
}

static void refuses_more_sections_and_labels_than_it_has_room_for(void **state)
{
    struct conf *conf = NULL;
    struct buf errors, text;
    unsigned i;

    (void)state;
    buf_init(&errors, CONF_TEXT_MAX);
    buf_init(&text, CONF_TEXT_MAX);
    buf_add_str(&text, "[labels]\n");
    for (i = 0; i < 25; i++)
        buf_add_fmt(&text, "l%u = x\n", i);
    for (i = 0; i < 257; i++)
        buf_add_fmt(&text, "[target t%u]\nuser = u\n", i);

    assert_int_equal(conf_parse("t.ini", buf_text(&text), text.size, &conf, &errors), CONF_BAD);
    assert_string_equal(conf_text_of(&errors),
                        "t.ini:26: [labels] l24: too many of them; allowed: 24\n"
                        "t.ini:539: [target t256]: too many sections; allowed: 256\n");
    buf_finish(&text);
    buf_finish(&errors);
}

static void refuses_utf16_and_nul_bytes(void **state)
{
    (void)state;
    conf_must_fail("\xff\xfe[\0a\0", 6, "t.ini: is UTF-16; allowed: UTF-8\n");
    conf_must_fail("[agent]\nrate = 1\0Hz\n", 20,
                   "t.ini:2: the line has a control character: 0x00 in column 9\n");
}

static void never_repeats_a_secret_in_its_messages(void **state)
{
    static const char ini[] = "[exporter p]\ntype = pyroscope\nurl = http://me:s3cret@h\n"
                              "header.A = s3cret\nheader.a = s3cret\nheader.B s3cret\n"
                              "header.C = s3cret\xc3\xa9\nurl = gopher://s3cret\n"
                              "header.Host = s3cret\n";
    struct conf *conf = NULL;
    struct buf errors;

    (void)state;
    buf_init(&errors, CONF_TEXT_MAX);
    assert_int_equal(conf_parse("t.ini", ini, strlen(ini), &conf, &errors), CONF_BAD);
    assert_null(strstr(conf_text_of(&errors), "s3cret"));
    assert_non_null(strstr(conf_text_of(&errors), "header.C: has a character"));
    buf_finish(&errors);
}

static void keeps_messages_whole_whatever_the_name_of_the_file(void **state)
{
    struct conf *conf = NULL;
    struct buf errors;

    (void)state;
    buf_init(&errors, CONF_TEXT_MAX);
    assert_int_equal(conf_parse("a\nb\x1b\xc3\xa9", "x", 1, &conf, &errors), CONF_BAD);
    assert_int_equal(strncmp(conf_text_of(&errors), "a?b?\xc3\xa9:1: ", 10), 0);
    buf_reset(&errors);
    assert_int_equal(conf_parse("a\xff", "x", 1, &conf, &errors), CONF_BAD);
    assert_int_equal(strncmp(conf_text_of(&errors), "a?:1: ", 6), 0);
    buf_finish(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_an_empty_text_as_the_defaults),
        cmocka_unit_test(reads_every_setting_of_a_target),
        cmocka_unit_test(gives_a_target_the_rate_of_an_agent_that_stands_below),
        cmocka_unit_test(tells_processes_apart_where_a_page_shows_them),
        cmocka_unit_test(keeps_targets_in_the_order_of_the_file),
        cmocka_unit_test(gives_a_store_its_defaults),
        cmocka_unit_test(takes_bounds_of_a_spool_up_to_their_limits),
        cmocka_unit_test(reads_every_setting_of_a_pyroscope),
        cmocka_unit_test(reads_labels_of_any_language_and_of_the_greatest_length),
        cmocka_unit_test(passes_over_a_byte_order_mark_and_carriage_returns),
        cmocka_unit_test(takes_regular_expressions_that_are_used_in_earnest),
        cmocka_unit_test(lists_errors_by_line_whenever_they_are_found),
        cmocka_unit_test(lists_fifty_errors_and_counts_the_rest),
        cmocka_unit_test(refuses_more_sections_and_labels_than_it_has_room_for),
        cmocka_unit_test(refuses_utf16_and_nul_bytes),
        cmocka_unit_test(never_repeats_a_secret_in_its_messages),
        cmocka_unit_test(keeps_messages_whole_whatever_the_name_of_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
