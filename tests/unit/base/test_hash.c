/* SPDX-License-Identifier: Apache-2.0 */
/* test_hash.c - hashes are those of FNV's own test suite, however the bytes come. */
#include "base/hash.h"
#include "tests/unit/unit_test.h"

static void hashes_texts_as_fnv_does(void **state)
{
    (void)state;
    assert_true(hash_text("") == UINT64_C(0xcbf29ce484222325));
    assert_true(hash_text("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_text("foobar") == UINT64_C(0x85944171f73967e8));
    assert_true(hash_text_32("") == 0x811c9dc5);
    assert_true(hash_text_32("a") == 0xe40c292c);
    assert_true(hash_text_32("foobar") == 0xbf9cf968);
}

static void bytes_hash_alike_in_pieces(void **state)
{
    uint64_t hash = hash_fnv(HASH_START, "foo", 3);

    (void)state;
    assert_true(hash_fnv(hash, "bar", 3) == hash_text("foobar"));
    assert_true(hash_fnv(hash, "", 0) == hash);
    assert_true(hash_fnv(HASH_START, "\xff\0", 2) != hash_fnv(HASH_START, "\xff", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_texts_as_fnv_does),
        cmocka_unit_test(bytes_hash_alike_in_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
