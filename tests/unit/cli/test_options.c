/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c - command lines are read alike by all subcommands, and services named. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/options.h"
#include "agent/host/exits.h"
#include "agent/host/log.h"
#include "tests/unit/unit_test.h"

enum { WORDS_MAX = 8 };

/* stderr goes where nobody sees it: TAP is read from the same stream. */
static int saved_stderr = -1;

static int hush(void **state)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)state;
    saved_stderr = dup(STDERR_FILENO);
    return null < 0 || dup2(null, STDERR_FILENO) < 0 || close(null) != 0;
}

static int unhush(void **state)
{
    (void)state;
    return dup2(saved_stderr, STDERR_FILENO) < 0 || close(saved_stderr) != 0;
}

static const struct {
    const char *words[WORDS_MAX];
    const char *service;
} services[] = {
    {{"python3", "app.py"}, "app"},
    {{"python3", "/srv/shop/app.py", "--port", "80"}, "app"},
    {{"/usr/bin/python3.11", "-u", "app.py"}, "app"},
    {{"python3", "-m", "http.server", "8000"}, "http.server"},
    {{"python3", "-mhttp.server", "8000"}, "http.server"},
    {{"python3", "-um", "http.server"}, "http.server"},
    {{"python3", "-W", "ignore", "app.py"}, "app"},
    {{"python3", "-X", "dev", "-B", "app.py"}, "app"},
    {{"python3", "-Wignore", "-Xdev", "app.py"}, "app"},
    {{"python3", "--check-hash-based-pycs", "always", "app.py"}, "app"},
    {{"python3", "-c", "import time; time.sleep(1/2)"}, "python3"},
    {{"python3", "-Bc", "pass", "x.py"}, "python3"},
    {{"python3", "-cpass", "x.py"}, "python3"},
    {{"python3", "-", "x.py"}, "python3"},
    {{"python3", "--", "app.py"}, "app"},
    {{"python3"}, "python3"},
    {{"python3", "-i"}, "python3"},
    {{"python3", "-m"}, "python3"},
    {{"/usr/bin/gunicorn", "shop.wsgi"}, "shop"},
    {{"./run.py", "-m", "x"}, "run"},
    {{"python3", ".py"}, ".py"},
    {{"python3", "/srv/shop/"}, "shop"},
};

static void names_a_service_after_its_script_or_module(void **state)
{
    char words[WORDS_MAX][64], *argv[WORDS_MAX + 1], out[256];

    (void)state;
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        size_t count = 0;

        for (; count < WORDS_MAX && services[i].words[count]; count++) {
            (void)snprintf(words[count], sizeof(words[0]), "%s", services[i].words[count]);
            argv[count] = words[count];
        }
        argv[count] = NULL;
        options_service(argv, out, sizeof(out));
        if (strcmp(out, services[i].service) != 0)
            fail_msg("row %zu: '%s', not '%s'", i, out, services[i].service);
    }
}

static void cuts_a_long_service_name(void **state)
{
    char *argv[] = {(char[]){"a-very-long-name.py"}, NULL}, out[8];

    (void)state;
    options_service(argv, out, sizeof(out));
    assert_string_equal(out, "a-very-");
}

static void reads_process_ids(void **state)
{
    static const char *const bad[] = {
        "", " ", "x", "0", "-1", "1x", "2147483648", "1.5", "99999999999999999999"};
    pid_t pid = 7;

    (void)state;
    assert_true(options_pid("1", &pid));
    assert_int_equal(pid, 1);
    assert_true(options_pid("2147483647", &pid));
    assert_int_equal(pid, INT32_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(options_pid(bad[i], &pid));
    assert_int_equal(pid, INT32_MAX);
}

static void reads_durations_in_seconds_or_with_a_unit(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"10", UINT64_C(10000000000)},
                {"0.5", 500000000},
                {"10s", UINT64_C(10000000000)},
                {"2m", UINT64_C(120000000000)},
                {"250ms", 250000000}};
    static const char *const bad[] = {"", "0", "0s", "-1", "x", "10x", "1e3", "1..5", "s"};
    uint64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(options_duration(good[i].text, &ns));
        assert_true(ns == good[i].ns);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(options_duration(bad[i], &ns));
}

static void reads_rates_from_a_tenth_to_ten_thousand_hertz(void **state)
{
    static const char *const bad[] = {"", "0", "0.05", "10001", "10001Hz", "-5", "x", "19s"};
    double hz = 0;

    (void)state;
    assert_true(options_rate("100", &hz) && hz > 99.99 && hz < 100.01);
    assert_true(options_rate("0.1", &hz) && hz > 0.099 && hz < 0.101);
    assert_true(options_rate("10000Hz", &hz) && hz > 9999 && hz < 10001);
    assert_true(options_rate("1khz", &hz) && hz > 999.9 && hz < 1000.1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(options_rate(bad[i], &hz));
}

static void gives_the_exit_status_for_what_failed(void **state)
{
    struct err err = {""};

    (void)state;
    assert_int_equal(options_open_failed(CPY_DENIED, PTRACE_ACCESS_YAMA, &err), EXIT_NO_PERMISSION);
    assert_int_equal(options_open_failed(CPY_GONE, PTRACE_ACCESS_NONE, &err), EXIT_UNAVAILABLE);
    assert_int_equal(options_open_failed(CPY_FOREIGN, PTRACE_ACCESS_NONE, &err), EXIT_UNAVAILABLE);
    assert_int_equal(options_open_failed(CPY_STARTING, PTRACE_ACCESS_NONE, &err), EXIT_UNAVAILABLE);
    assert_int_equal(options_open_failed(CPY_NOMEM, PTRACE_ACCESS_NONE, &err), EXIT_FAILED);
    assert_int_equal(options_usage("dump"), EXIT_USAGE);
}

static void escapes_what_a_process_says_of_itself(void **state)
{
    static const struct err err = {"/srv/\x1b[2J\xc2\x9b.so cannot be opened"};
    char text[256] = "";
    int pipes[2], before = dup(STDERR_FILENO);

    (void)state;
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_true(dup2(pipes[1], STDERR_FILENO) >= 0);
    assert_int_equal(options_open_failed(CPY_NOMEM, PTRACE_ACCESS_NONE, &err), EXIT_FAILED);
    assert_true(dup2(before, STDERR_FILENO) >= 0);

    assert_true(read(pipes[0], text, sizeof(text) - 1) > 0);
    assert_string_equal(text, "pystrobe: /srv/\\x1b[2J\\u009b.so cannot be opened\n");
    assert_int_equal(close(before) | close(pipes[0]) | close(pipes[1]), 0);
}

static void reads_settings_or_says_78(void **state)
{
    char path[] = "/tmp/test_agent_options_XXXXXX";
    struct options_flags flags = {.count = 0};
    struct conf_source none, source;
    struct conf *conf = NULL;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_true(options_log_format("json", &flags));
    assert_int_equal(flags.count, 1);
    none = options_source(NULL, NULL);
    source = options_source(path, &flags);
    assert_int_equal(options_conf(&none, &conf), EXIT_OK);
    assert_int_equal(conf->target_count, 0);
    conf_free(conf);
    assert_int_equal(write(fd, "[target a]\ncmdline = x\n", 23), 23);
    assert_int_equal(options_conf(&source, &conf), EXIT_OK);
    assert_int_equal(conf->target_count, 1);
    assert_string_equal(conf->agent.log_format, "json");
    conf_free(conf);
    log_set_format(LOG_TEXT);
    assert_int_equal(write(fd, "nonsense = 1\n", 13), 13);
    assert_int_equal(options_conf(&source, &conf), EXIT_CONFIG);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(options_conf(&source, &conf), EXIT_CONFIG);
    (void)close(fd);
}

int main(void)
{
#define QUIET(name) cmocka_unit_test_setup_teardown(name, hush, unhush)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_a_service_after_its_script_or_module),
        cmocka_unit_test(cuts_a_long_service_name),
        QUIET(reads_process_ids),
        QUIET(reads_durations_in_seconds_or_with_a_unit),
        QUIET(reads_rates_from_a_tenth_to_ten_thousand_hertz),
        QUIET(gives_the_exit_status_for_what_failed),
        QUIET(escapes_what_a_process_says_of_itself),
        QUIET(reads_settings_or_says_78),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
