/* SPDX-License-Identifier: Apache-2.0 */
/* test_build_id.c - the id of the running build. */
#include <ctype.h>
#include <string.h>

#include "agent/host/build_id.h"
#include "tests/unit/unit_test.h"

static void is_what_the_linker_has_put_into_the_program(void **state)
{
    char id[BUILD_ID_MAX];

    (void)state;
    build_id(id);

    assert_int_equal(strlen(id), 40); /* --build-id=sha1 */
    for (size_t i = 0; i < strlen(id); i++)
        assert_true(isdigit((unsigned char)id[i]) || (id[i] >= 'a' && id[i] <= 'f'));
}

static void is_the_same_each_time(void **state)
{
    char one[BUILD_ID_MAX], other[BUILD_ID_MAX];

    (void)state;
    build_id(one);
    build_id(other);

    assert_string_equal(one, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_what_the_linker_has_put_into_the_program),
        cmocka_unit_test(is_the_same_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
