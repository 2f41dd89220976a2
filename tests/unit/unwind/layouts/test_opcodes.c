/* SPDX-License-Identifier: Apache-2.0 */
/* test_opcodes.c - an opcode has the name of its own version; tests/integration compares
 * all. */
#include <string.h>

#include "tests/unit/unit_test.h"
#include "unwind/layouts/opcodes.h"

static void one_number_has_another_name_in_each_version(void **state)
{
    (void)state;
    assert_string_equal(opcode_name(6, 100), "LOAD_CONST");
    assert_string_equal(opcode_name(12, 100), "LOAD_CONST");
    assert_string_equal(opcode_name(13, 83), "LOAD_CONST");
    assert_string_equal(opcode_name(12, 83), "RETURN_VALUE");
    assert_string_equal(opcode_name(15, 255), "TRACE_RECORD");
}

static void specialised_and_instrumented_forms_have_their_own_names(void **state)
{
    (void)state;
    assert_string_equal(opcode_name(11, 3), "BINARY_OP_ADAPTIVE");
    assert_string_equal(opcode_name(12, 7), "BINARY_OP_ADD_INT");
    assert_string_equal(opcode_name(13, 254), "INSTRUMENTED_LINE");
}

static void a_number_that_is_no_opcode_has_no_name(void **state)
{
    (void)state;
    assert_null(opcode_name(6, 0));
    assert_null(opcode_name(12, 255));
}

static void a_version_that_is_not_known_has_no_names(void **state)
{
    int opcode;

    (void)state;
    for (opcode = 0; opcode <= UINT8_MAX; opcode++) {
        assert_null(opcode_name(5, (uint8_t)opcode));
        assert_null(opcode_name(16, (uint8_t)opcode));
        assert_null(opcode_name(UINT8_MAX, (uint8_t)opcode));
    }
}

static void every_known_version_has_its_hundred_names(void **state)
{
    int minor, opcode, count;

    (void)state;
    for (minor = 6; minor <= 15; minor++) {
        for (opcode = count = 0; opcode <= UINT8_MAX; opcode++)
            if (opcode_name((uint8_t)minor, (uint8_t)opcode))
                count += strlen(opcode_name((uint8_t)minor, (uint8_t)opcode)) > 2;
        assert_true(count > 100);
    }
}

static void a_specialised_or_instrumented_form_has_the_caches_of_what_it_stands_for(void **state)
{
    (void)state;
    assert_int_equal(opcode_caches(11, 171), 4);                        /* CALL */
    assert_int_equal(opcode_caches(11, 22), 4);                         /* CALL_ADAPTIVE */
    assert_int_equal(opcode_caches(11, 160), 10);                       /* LOAD_METHOD */
    assert_int_equal(opcode_caches(12, 106), 9);                        /* LOAD_ATTR */
    assert_int_equal(opcode_caches(12, 7), 1);                          /* BINARY_OP_ADD_INT */
    assert_int_equal(opcode_caches(12, 100), 0);                        /* LOAD_CONST */
    assert_int_equal(opcode_caches(12, 253), OPCODE_HIDES_INSTRUCTION); /* INSTRUMENTED_... */
    assert_int_equal(opcode_caches(12, 254), OPCODE_HIDES_LINE);
}

static void caches_are_known_of_each_opcode_of_those_two_versions_only(void **state)
{
    uint8_t minor, caches;
    int opcode;

    (void)state;
    for (minor = 0; minor < UINT8_MAX; minor++)
        for (opcode = 1; opcode <= UINT8_MAX; opcode++) {
            caches = opcode_caches(minor, (uint8_t)opcode);
            assert_int_equal(caches != OPCODE_UNKNOWN,
                             (minor == 11 || minor == 12) && opcode_name(minor, (uint8_t)opcode));
            assert_true(caches <= OPCODE_CACHES_MAX || caches >= OPCODE_HIDES_LINE);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number_has_another_name_in_each_version),
        cmocka_unit_test(specialised_and_instrumented_forms_have_their_own_names),
        cmocka_unit_test(a_number_that_is_no_opcode_has_no_name),
        cmocka_unit_test(a_version_that_is_not_known_has_no_names),
        cmocka_unit_test(every_known_version_has_its_hundred_names),
        cmocka_unit_test(a_specialised_or_instrumented_form_has_the_caches_of_what_it_stands_for),
        cmocka_unit_test(caches_are_known_of_each_opcode_of_those_two_versions_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
