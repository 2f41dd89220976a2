/* SPDX-License-Identifier: Apache-2.0 */
/* test_owner.c - processes of one owner, however they are spread, and those of others. */
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/proc/owner.h"
#include "tests/unit/unit_test.h"

#define SLICE "/user.slice/user-1000.slice"
#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_2  "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static uint64_t owner(uid_t user, const char *path)
{
    struct cgroup cgroup;
    char text[512];
    int size = snprintf(text, sizeof(text), "0::%s\n", path);

    cgroup_parse(text, (size_t)size, &cgroup);
    return owner_hash(user, &cgroup);
}

static void all_below_the_slice_of_a_user_is_one(void **state)
{
    const uint64_t one = owner(1000, SLICE "/session-3.scope");

    (void)state;
    assert_true(owner(1000, SLICE "/user@1000.service/app.slice/a.service") == one);
    assert_true(owner(100000, SLICE "/user@1000.service/user.slice/libpod-" ID ".scope") == one);
    assert_true(owner(1000, SLICE) == one);
    assert_true(owner(1001, "/user.slice/user-1001.slice/session-4.scope") != one);
    assert_true(owner(0, SLICE "/session-3.scope") != one); /* sudo */
    assert_true(owner(1000, "/system.slice/user.slice/user-1000.slice") != one);
}

static void a_container_is_one_whatever_is_below_it(void **state)
{
    const uint64_t one = owner(0, "/system.slice/docker-" ID ".scope");

    (void)state;
    assert_true(owner(33, "/system.slice/docker-" ID ".scope/inner/a") == one);
    assert_true(owner(0, "/system.slice/docker-" ID_2 ".scope") != one);
    assert_true(owner(0, "/machine.slice/machine-a.scope/x") ==
                owner(5, "/machine.slice/machine-a.scope/y"));
}

static void others_are_told_apart_by_user_and_cgroup(void **state)
{
    (void)state;
    assert_true(owner(33, "/system.slice/cron.service") == owner(33, "/system.slice/cron.service"));
    assert_true(owner(33, "/system.slice/cron.service") != owner(34, "/system.slice/cron.service"));
    assert_true(owner(33, "/system.slice/cron.service") !=
                owner(33, "/system.slice/nginx.service"));
}

static void a_process_has_one_as_long_as_it_lives(void **state)
{
    (void)state;
    assert_true(proc_owner(getpid()) != 0);
    assert_true(proc_owner(getpid()) == proc_owner(getpid()));
    assert_true(proc_owner(INT32_MAX) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_below_the_slice_of_a_user_is_one),
        cmocka_unit_test(a_container_is_one_whatever_is_below_it),
        cmocka_unit_test(others_are_told_apart_by_user_and_cgroup),
        cmocka_unit_test(a_process_has_one_as_long_as_it_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
