/* SPDX-License-Identifier: Apache-2.0 */
/* test_naming.c - services and labels from what a process has in its environment. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/discover/naming.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"

static const char *attribute_of(const char *text, const char *key)
{
    static char out[16];

    return naming_attribute(text, key, out, sizeof(out)) ? out : NULL;
}

static void reads_attributes_as_opentelemetry_writes_them(void **state)
{
    (void)state;
    assert_string_equal(attribute_of("a=1,service.name=shop,b=2", "service.name"), "shop");
    assert_string_equal(attribute_of("a=1, b=2", "b"), "2");
    assert_string_equal(attribute_of("a=x%20y%2Cz", "a"), "x y,z");
    assert_string_equal(attribute_of("a=%zz%2", "a"), "%zz%2");
    assert_string_equal(attribute_of("a=%00b", "a"), "%00b");
    assert_string_equal(attribute_of("a=0123456789abcdefgh", "a"), "0123456789abcde");
    assert_string_equal(attribute_of("a=", "a"), "");
    assert_null(attribute_of("service.names=x", "service.name"));
    assert_null(attribute_of("", "a"));
    assert_null(attribute_of(",,,", "a"));
}

/* A process with this environment; gives its pid. */
static pid_t start(char **environment)
{
    char *argv[] = {(char[]){"shop"}, (char[]){"100"}, NULL}, byte;
    int gate[2];
    pid_t child;

    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execve("/bin/sleep", argv, environment);
        _exit(1);
    }
    (void)close(gate[1]);
    (void)!read(gate[0], &byte, 1); /* ends with the exec */
    (void)close(gate[0]);
    return child;
}

/* True once the kernel has its arguments and its environment in place, which is after the exec. */
static bool is_whole(struct proc_info *info, pid_t pid)
{
    proc_info_begin(info, pid);
    return proc_info_command_line(info)[0] && proc_info_variable(info, "PATH");
}

/* Applies `naming` to a process with this environment; true if it asks to be left alone. */
static bool apply(const struct naming *naming, char **environment, struct target_profile *out)
{
    struct proc_info *info = proc_info_new();
    pid_t pid = start(environment);
    bool disabled;

    assert_non_null(info);
    AWAIT(is_whole(info, pid));
    *out = (struct target_profile){.service = ""};
    naming_apply(naming, info, out);
    disabled = naming_is_disabled(info);
    proc_info_free(info);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    return disabled;
}

static void names_by_the_environment_and_labels_by_the_list(void **state)
{
    char *environment[] = {
        (char[]){"PATH=/bin"}, (char[]){"SECRET=s3cret"}, (char[]){"POD_NAMESPACE=ns"},
        (char[]){"OTEL_RESOURCE_ATTRIBUTES=service.name=web,service.version=7"}, NULL};
    const struct label labels[] = {{"secret", "${env:SECRET}"}, {"ns", "in ${env:POD_NAMESPACE}"}};
    struct naming naming = naming_usual;
    struct target_profile profile;

    (void)state;
    naming.env_allow = "POD_*";
    naming.auto_labels = "host.name service.version k8s.namespace.name";
    naming.labels = labels;
    naming.label_count = 2;
    assert_false(apply(&naming, environment, &profile));
    assert_string_equal(profile.service, "web");
    assert_true(profile.otel_name);
    assert_null(labels_get(&profile.labels, "secret"));
    assert_string_equal(labels_get(&profile.labels, "ns"), "in ns");
    assert_string_equal(labels_get(&profile.labels, "service.version"), "7");
    assert_string_equal(labels_get(&profile.labels, "k8s.namespace.name"), "ns");
    assert_non_null(labels_get(&profile.labels, "host.name"));
    assert_null(labels_get(&profile.labels, "service.name"));
}

static void has_a_name_for_what_says_nothing(void **state)
{
    char *environment[] = {(char[]){"PATH=/bin"}, (char[]){"PYSTROBE_DISABLE=1"}, NULL};
    struct naming naming = naming_usual;
    struct target_profile profile;

    (void)state;
    assert_true(apply(&naming, environment, &profile));
    assert_string_equal(profile.service, "shop");
    assert_int_equal(profile.labels.count, 0);
    naming.service = " ${env:NOTHING} ";
    (void)apply(&naming, environment, &profile);
    assert_string_equal(profile.service, "shop");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_attributes_as_opentelemetry_writes_them),
        cmocka_unit_test(names_by_the_environment_and_labels_by_the_list),
        cmocka_unit_test(has_a_name_for_what_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
