/* SPDX-License-Identifier: Apache-2.0 */
/* test_match.c - a process goes to the first target all of whose conditions it fulfils. */
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/discover/match.h"
#include "agent/proc/proc.h"
#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

/* The process that is asked for: valgrind and its like may stand in front of this one. */
static pid_t child;
static char child_exe[1024];

static int start_child(void **state)
{
    char *argv[] = {(char[]){"shop worker"}, (char[]){"1000"}, NULL}, path[64], byte;
    char arguments[PROC_COMMAND_MAX];
    int started[2];
    ssize_t size;

    (void)state;
    if (pipe2(started, O_CLOEXEC) != 0)
        return 1;
    child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execv("/bin/sleep", argv);
        _exit(1);
    }
    (void)close(started[1]);
    (void)!read(started[0], &byte, 1); /* ends with the exec */
    (void)close(started[0]);
    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)child);
    size = readlink(path, child_exe, sizeof(child_exe) - 1);
    do /* the kernel closes files before it puts the arguments in place */
        proc_command_line(child, arguments);
    while (!arguments[0] && kill(child, 0) == 0);
    return size <= 0;
}

static int end_child(void **state)
{
    (void)state;
    (void)kill(child, SIGKILL);
    return waitpid(child, NULL, 0) != child;
}

/* Parses `ini` (its targets) and asks for process `pid`; gives the service, "" if none. */
static const char *service_of(const char *ini, pid_t pid)
{
    static struct target_profile profile;
    struct conf *conf = conf_must_parse(ini);
    struct matcher *matcher = matcher_new(conf);

    assert_non_null(matcher);
    if (!matcher_choose(matcher, pid, &profile))
        profile.service[0] = '\0';
    matcher_free(matcher);
    conf_free(conf);
    return profile.service;
}

static const char *child_service(const char *ini)
{
    return service_of(ini, child);
}

static void chooses_by_the_command_line(void **state)
{
    (void)state;
    assert_string_equal(child_service("[target a]\ncmdline = worker\n"), "a");
    assert_string_equal(child_service("[target a]\ncmdline = ^shop (worker|x) 10+$\n"), "a");
    assert_string_equal(child_service("[target a]\ncmdline = ^worker\n"), "");
    assert_string_equal(child_service("[target a]\ncmdline = shop$\n"), "");
}

static const char *service_by_exe(const char *before, const char *exe, const char *after)
{
    char ini[2048];

    (void)snprintf(ini, sizeof(ini), "[target a]\nexe = %s%s%s\n", before, exe, after);
    return child_service(ini);
}

static void chooses_by_the_executable(void **state)
{
    const char *base = strrchr(child_exe, '/') + 1;

    (void)state;
    assert_string_equal(service_by_exe("", child_exe, ""), "a");
    assert_string_equal(service_by_exe("*/", base, ""), "a");
    assert_string_equal(service_by_exe("*/", base, "*"), "a");
    assert_string_equal(service_by_exe("*/", base, "?"), "");
    assert_string_equal(service_by_exe("/nowhere/", base, ""), "");
}

static void chooses_by_the_user(void **state)
{
    const struct passwd *own = getpwuid(getuid());
    char ini[256];

    (void)state;
    (void)snprintf(ini, sizeof(ini), "[target a]\nuser = %u\n", (unsigned)getuid());
    assert_string_equal(child_service(ini), "a");
    (void)snprintf(ini, sizeof(ini), "[target a]\nuser = %u\n", (unsigned)getuid() + 1);
    assert_string_equal(child_service(ini), "");
    assert_string_equal(child_service("[target a]\nuser = nobody-of-that-name\n"), "");
    if (!own) { /* a container without this user in its list */
        skip();
        return;
    }
    (void)snprintf(ini, sizeof(ini), "[target a]\nuser = %s\n", own->pw_name);
    assert_string_equal(child_service(ini), "a");
}

static void wants_all_conditions_of_a_target(void **state)
{
    (void)state;
    assert_string_equal(child_service("[target a]\ncmdline = shop\nexe = /*\n"), "a");
    assert_string_equal(child_service("[target a]\ncmdline = shop\nexe = /nowhere\n"), "");
    assert_string_equal(child_service("[target a]\ncmdline = nowhere\nexe = /*\n"), "");
}

static void takes_the_first_target_that_fits(void **state)
{
    (void)state;
    assert_string_equal(child_service("[target a]\ncmdline = nowhere\n"
                                      "[target b]\ncmdline = shop\n"
                                      "[target c]\ncmdline = shop\n"),
                        "b");
}

static void gives_service_rate_and_split(void **state)
{
    struct conf *conf = conf_must_parse("[target a]\ncmdline = shop\nservice = shop\n"
                                        "rate = 49Hz\nsplit = thread\nhang_after = 30s\n");
    struct matcher *matcher = matcher_new(conf);
    struct target_profile profile;

    (void)state;
    assert_true(matcher_choose(matcher, child, &profile));
    assert_string_equal(profile.service, "shop");
    assert_true(profile.rate_hz > 48.9 && profile.rate_hz < 49.1);
    assert_int_equal(profile.split, SPLIT_THREAD);
    assert_int_equal(profile.options.hang_ns, UINT64_C(30000000000));
    matcher_free(matcher);
    conf_free(conf);
}

static void names_the_splits_of_the_engine(void **state)
{
    (void)state;
    assert_int_equal(match_split(CONF_SPLIT_NONE), SPLIT_NONE);
    assert_int_equal(match_split(CONF_SPLIT_PROCESS), SPLIT_PROCESS);
    assert_int_equal(match_split(CONF_SPLIT_THREAD), SPLIT_THREAD);
}

static void chooses_no_process_that_has_ended(void **state)
{
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_string_equal(service_of("[target a]\ncmdline = .\n", pid), "");
    assert_string_equal(service_of("[target a]\nexe = *\n", pid), "");
    assert_string_equal(service_of("[target a]\nuser = 0\n", pid), "");
}

static void chooses_nothing_without_targets(void **state)
{
    (void)state;
    assert_string_equal(child_service(""), "");
    matcher_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_by_the_command_line),
        cmocka_unit_test(chooses_by_the_executable),
        cmocka_unit_test(chooses_by_the_user),
        cmocka_unit_test(wants_all_conditions_of_a_target),
        cmocka_unit_test(takes_the_first_target_that_fits),
        cmocka_unit_test(gives_service_rate_and_split),
        cmocka_unit_test(names_the_splits_of_the_engine),
        cmocka_unit_test(chooses_no_process_that_has_ended),
        cmocka_unit_test(chooses_nothing_without_targets),
    };

    return cmocka_run_group_tests(tests, start_child, end_child);
}
