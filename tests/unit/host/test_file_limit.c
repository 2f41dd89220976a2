/* SPDX-License-Identifier: Apache-2.0 */
/* test_file_limit.c - how many descriptors there may be, and are. */
#include <fcntl.h>
#include <unistd.h>

#include "agent/host/file_limit.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/unit_test.h"

static void raises_the_soft_limit_to_the_hard_one(void **state)
{
    struct rlimit before, low;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){.rlim_cur = 32, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(file_limit(), 32);
    file_limit_raise();
    assert_true(file_limit() == before.rlim_max);
    descriptors_allow(before);
}

static void counts_what_is_in_use(void **state)
{
    const size_t before = file_limit_used(0);
    struct rlimit limit;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_int_equal(fd, before);
    assert_int_equal(file_limit_used(0), before + 1);
    limit = descriptors_forbid();
    assert_int_equal(file_limit_used(0), file_limit()); /* there is none to count with */
    descriptors_allow(limit);
    (void)close(fd);
    assert_int_equal(file_limit_used(0), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raises_the_soft_limit_to_the_hard_one),
        cmocka_unit_test(counts_what_is_in_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
