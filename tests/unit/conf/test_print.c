/* SPDX-License-Identifier: Apache-2.0 */
/* test_print.c - what is printed: the settings and the sample. */
#include <stdio.h>
#include <stdlib.h>

#include "conf/options.h"
#include "conf/values.h"
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

static const char full[] = "[agent]\n"
                           "rate = 19.5Hz\n"
                           "interval = 90s\n"
                           "scan = 500ms\n"
                           "log_level = debug\n"
                           "log_format = json\n"
                           "control = /run/a.sock\n"
                           "[http]\n"
                           "listen = 127.0.0.1:7997\n"
                           "pull = off\n"
                           "page = on\n"
                           "[labels]\n"
                           "env = prod #1\n"
                           "k8s/pod = a = b\n"
                           "[target web]\n"
                           "cmdline = gunicorn|uvicorn{1,3} [a;b]\n"
                           "exe = */python3*\n"
                           "user = www-data\n"
                           "service = shop\n"
                           "rate = 0.125Hz\n"
                           "split = thread\n"
                           "[target rest]\n"
                           "exe = *\n"
                           "[exporter local]\n"
                           "type = store\n"
                           "path = /srv/profiles\n"
                           "max_size = 1.5GiB\n"
                           "max_age = 36h\n"
                           "queue_size = 7MiB\n"
                           "retry = 0s\n"
                           "[exporter far]\n"
                           "type = pyroscope\n"
                           "url = https://h:4040/base\n"
                           "tenant = team-a\n"
                           "user = me\n"
                           "password_file = /p\n"
                           "ca_file = /ca.pem\n"
                           "timeout = 250ms\n";

static void assert_same(const char *a, const char *b)
{
    if (!a || !b)
        assert_ptr_equal(a, b);
    else
        assert_string_equal(a, b);
}

static void assert_same_target(const struct conf_target *a, const struct conf_target *b)
{
    assert_same(a->name, b->name);
    assert_same(a->when.cmdline, b->when.cmdline);
    assert_same(a->when.exe, b->when.exe);
    assert_same(a->when.user, b->when.user);
    assert_same(a->service, b->service);
    assert_true(a->rate_hz == b->rate_hz);
    assert_int_equal(a->split, b->split);
}

static void assert_same_exporter(const struct exporter_settings *a,
                                 const struct exporter_settings *b)
{
    assert_same(a->name, b->name);
    assert_ptr_equal(a->type, b->type);
    assert_same(a->path, b->path);
    assert_int_equal(a->max_size_bytes, b->max_size_bytes);
    assert_int_equal(a->max_age_ns, b->max_age_ns);
    assert_same(a->url, b->url);
    assert_same(a->tenant, b->tenant);
    assert_same(a->user, b->user);
    assert_same(a->password.file, b->password.file);
    assert_same(a->token.file, b->token.file);
    assert_same(a->ca_file, b->ca_file);
    assert_int_equal(a->header_count, b->header_count);
    assert_int_equal(a->timeout_ns, b->timeout_ns);
    assert_int_equal(a->queue_size_bytes, b->queue_size_bytes);
    assert_int_equal(a->retry_ns, b->retry_ns);
}

static void assert_same_conf(const struct conf *a, const struct conf *b)
{
    size_t i;

    assert_true(a->agent.rate_hz == b->agent.rate_hz);
    assert_int_equal(a->agent.interval_ns, b->agent.interval_ns);
    assert_int_equal(a->agent.scan_ns, b->agent.scan_ns);
    assert_same(a->agent.log_level, b->agent.log_level);
    assert_same(a->agent.log_format, b->agent.log_format);
    assert_same(a->agent.control, b->agent.control);
    assert_same(a->http.listen, b->http.listen);
    assert_same(a->http.pull, b->http.pull);
    assert_same(a->http.page, b->http.page);
    assert_true(a->http.max_cpu == b->http.max_cpu);
    assert_int_equal(a->label_count, b->label_count);
    for (i = 0; i < a->label_count; i++) {
        assert_same(a->labels[i].name, b->labels[i].name);
        assert_same(a->labels[i].value, b->labels[i].value);
    }
    assert_int_equal(a->target_count, b->target_count);
    for (i = 0; i < a->target_count; i++)
        assert_same_target(&a->targets[i], &b->targets[i]);
    assert_int_equal(a->exporter_count, b->exporter_count);
    for (i = 0; i < a->exporter_count; i++)
        assert_same_exporter(&a->exporters[i], &b->exporters[i]);
}

static void prints_settings_that_read_back_the_same(void **state)
{
    struct conf *conf = conf_must_parse(full), *again;
    struct buf out;

    (void)state;
    buf_init(&out, CONF_TEXT_MAX);
    conf_print(conf, &out);
    again = conf_must_parse(conf_text_of(&out));

    assert_int_equal(conf->target_count, 2);
    assert_int_equal(conf->exporter_count, 2);
    assert_same_conf(conf, again);
    conf_free(again);
    conf_free(conf);
    buf_finish(&out);
}

static void says_where_each_setting_came_from(void **state)
{
    struct conf *conf = conf_must_parse("[target web]\nuser = 0\n\n[agent]\nrate = 7Hz\n"
                                        "[labels]\nenv = a\n");
    struct buf out;

    (void)state;
    buf_init(&out, CONF_TEXT_MAX);
    conf_print(conf, &out);

    assert_string_equal(
        conf_text_of(&out),
        "[agent]\n"
        "rate = 7Hz ; t.ini:5\n"
        "interval = 15s ; default\n"
        "stop_timeout = 5s ; default\n"
        "scan = 1s ; default\n"
        "max_cpu = 1% ; default\n"
        "max_memory = 64MiB ; default\n"
        "log_level = info ; default\n"
        "log_format = text ; default\n"
        "; control: not set (/run/pystrobe/control.sock, if it can be opened)\n"
        "; spool: not set (spool in the StateDirectory= of a systemd service, else off)\n"
        "spool_max_size = 256MiB ; default\n"
        "spool_max_age = 1d ; default\n"
        "spool_min_free = 100MiB ; default\n"
        "env_allow = OTEL_* DD_SERVICE DD_ENV DD_VERSION POD_* K8S_* HOSTNAME ; default\n"
        "auto_labels = host.name container.id k8s.pod.uid k8s.namespace.name "
        "process.runtime.version service.namespace service.version deployment.environment* ; "
        "default\n"
        "max_services = 100 ; default\n"
        "max_split = 100 ; default\n"
        "\n"
        "[http]\n"
        "; listen: not set (off)\n"
        "; pull: not set (on at a loopback address and a Unix socket, off elsewhere)\n"
        "; page: not set (as pull is)\n"
        "max_cpu = 0.5% ; default\n"
        "\n"
        "[labels]\n"
        "env = a ; t.ini:7\n"
        "\n"
        "[target web]\n"
        "; cmdline: not set (any)\n"
        "; exe: not set (any)\n"
        "user = 0 ; t.ini:2\n"
        "; cgroup: not set (any)\n"
        "; container: not set (any)\n"
        "; systemd_unit: not set (any)\n"
        "; parent: not set (any)\n"
        "; exclude_cmdline: not set (none)\n"
        "; exclude_exe: not set (none)\n"
        "; exclude_user: not set (none)\n"
        "; exclude_cgroup: not set (none)\n"
        "; exclude_container: not set (none)\n"
        "; exclude_systemd_unit: not set (none)\n"
        "; exclude_parent: not set (none)\n"
        "service = ${otel:service.name:-${target}} ; default\n"
        "rate = 7Hz ; the rate of [agent]\n"
        "split = none ; process if the page shows a store and no server gets the profiles; else "
        "none\n"
        "; hang_after: not set (off)\n");
    conf_free(conf);
    buf_finish(&out);
}

static void prints_what_the_type_of_an_exporter_uses_and_no_more(void **state)
{
    struct conf *conf = conf_must_parse("[exporter s]\ntype = store\n");
    struct buf out;

    (void)state;
    buf_init(&out, CONF_TEXT_MAX);
    conf_print(conf, &out);

    assert_string_equal(strstr(conf_text_of(&out), "[exporter s]"),
                        "[exporter s]\n"
                        "type = store ; t.ini:2\n"
                        "path = /var/lib/pystrobe/store ; default\n"
                        "max_size = 256MiB ; default\n"
                        "max_age = 7d ; default\n"
                        "queue_size = 8MiB ; default\n"
                        "retry = 5m ; default\n");
    conf_free(conf);
    buf_finish(&out);
}

static void masks_the_values_of_headers_and_shows_paths_of_secrets(void **state)
{
    struct conf *conf = conf_must_parse("[exporter p]\ntype = pyroscope\nurl = http://h\n"
                                        "header.X-Key = s3cret\ntoken_file = /etc/token\n");
    struct buf out;

    (void)state;
    buf_init(&out, CONF_TEXT_MAX);
    conf_print(conf, &out);

    assert_string_equal(conf->exporters[0].headers[0].value, "s3cret");
    assert_null(strstr(conf_text_of(&out), "s3cret"));
    assert_non_null(strstr(conf_text_of(&out), "header.X-Key = *** ; t.ini:4\n"));
    assert_non_null(strstr(conf_text_of(&out), "token_file = /etc/token ; t.ini:5\n"));
    conf_free(conf);
    buf_finish(&out);
}

static void prints_a_sample_that_equals_the_defaults(void **state)
{
    struct conf *defaults = NULL, *sample;
    struct buf text, printed, expected;

    (void)state;
    buf_init(&text, CONF_TEXT_MAX);
    buf_init(&printed, CONF_TEXT_MAX);
    buf_init(&expected, CONF_TEXT_MAX);
    conf_print_sample(&text);
    sample = conf_must_parse(conf_text_of(&text));
    assert_int_equal(conf_read(NULL, &defaults, &expected), CONF_OK);
    conf_print(sample, &printed);
    conf_print(defaults, &expected);

    assert_same_conf(sample, defaults);
    assert_string_equal(conf_text_of(&printed), conf_text_of(&expected));
    conf_free(sample);
    conf_free(defaults);
    buf_finish(&text);
    buf_finish(&printed);
    buf_finish(&expected);
}

/* Takes the ";" away that comments settings out. */
static void uncomment(char *text)
{
    char *to = text, before = '\n';

    for (; *text; text++) {
        if (before != '\n' || *text != ';')
            *to++ = *text;
        before = *text;
    }
    *to = '\0';
}

static void shows_settings_in_the_sample_that_are_right_but_for_one_choice(void **state)
{
    struct conf *conf = NULL;
    struct buf text, errors;
    char *sample, *line, *rest = NULL;

    (void)state;
    buf_init(&text, CONF_TEXT_MAX);
    buf_init(&errors, CONF_TEXT_MAX);
    conf_print_sample(&text);
    sample = strdup(conf_text_of(&text));
    uncomment(sample);

    assert_int_equal(conf_parse("sample", sample, strlen(sample), &conf, &errors), CONF_BAD);
    assert_non_null(strstr(conf_text_of(&errors), "[exporter pyroscope] token_file: stands beside "
                                                  "user; allowed: token_file, or user and "
                                                  "password_file\n"));
    for (line = strtok_r(errors.data ? (char *)errors.data : NULL, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        if (!strstr(line, "stands beside user") && !strstr(line, "is set in another way"))
            fail_msg("%s", line); /* what an example cannot show all at once */
    free(sample);
    buf_finish(&text);
    buf_finish(&errors);
}

static void ships_the_sample_that_it_prints(void **state)
{
    FILE *file = fopen("packaging/pystrobe.ini", "r");
    static char shipped[CONF_TEXT_MAX];
    struct buf text;

    (void)state;
    assert_non_null(file);
    shipped[fread(shipped, 1, sizeof(shipped) - 1, file)] = '\0';
    (void)fclose(file);
    buf_init(&text, CONF_TEXT_MAX);
    conf_print_sample(&text);

    assert_string_equal(shipped, conf_text_of(&text));
    buf_finish(&text);
}

static void has_a_default_and_bounds_for_each_key_that_are_values_themselves(void **state)
{
    struct arena arena;
    struct err err;
    char room[sizeof(struct exporter_settings) + sizeof(struct conf_target)];
    size_t i;

    (void)state;
    arena_init(&arena, CONF_TEXT_MAX);
    for (i = 0; i < conf_option_count; i++) {
        const struct conf_option *option = &conf_options[i];
        const char *const texts[] = {option->usual, option->min, option->max,
                                     option->prefix ? NULL : option->example};
        size_t t;

        for (t = 0; t < 4; t++)
            if (texts[t] && conf_value_read(option, texts[t], room, &arena, &err) != CONF_OK)
                fail_msg("%s: %s", option->name, err.text);
        assert_true(option->usual || option->otherwise);
        assert_true(strlen(option->help) > 10 && option->help[strlen(option->help) - 1] == '.');
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_settings_that_read_back_the_same),
        cmocka_unit_test(says_where_each_setting_came_from),
        cmocka_unit_test(prints_what_the_type_of_an_exporter_uses_and_no_more),
        cmocka_unit_test(masks_the_values_of_headers_and_shows_paths_of_secrets),
        cmocka_unit_test(prints_a_sample_that_equals_the_defaults),
        cmocka_unit_test(shows_settings_in_the_sample_that_are_right_but_for_one_choice),
        cmocka_unit_test(ships_the_sample_that_it_prints),
        cmocka_unit_test(has_a_default_and_bounds_for_each_key_that_are_values_themselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
