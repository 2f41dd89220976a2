/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool_v1.c - an entry of version 1 is read as it was written, and no other bytes as one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/delivery/spool_v1.h"
#include "tests/unit/unit_test.h"

static const char folder[] = "tests/unit/delivery/spool_v1"; /* which version 1 wrote */

static int open_folder(void)
{
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(dir >= 0);
    return dir;
}

static void reads_what_version_1_wrote(void **state)
{
    struct spool_v1_entry *entry = malloc(sizeof(*entry));
    struct spool_v1_list list;
    int dir = open_folder();

    (void)state;
    assert_non_null(entry);
    assert_true(spool_v1_list(dir, &list));
    assert_int_equal(list.count, 2);
    assert_int_equal(list.names[1].owed, 2);
    assert_true(spool_v1_read(dir, &list.names[0], entry));
    assert_int_equal(entry->ower_count, 2);
    assert_string_equal(entry->owers[1], "b");
    assert_int_equal(entry->form, 1);
    assert_string_equal(entry->profile.service, "api");
    assert_string_equal(entry->profile.type, "cpu");
    assert_int_equal(entry->profile.label_count, 1);
    assert_string_equal(entry->profile.labels[0].value, "x");
    assert_int_equal(entry->profile.start_ns, 1700000000000000000);
    assert_memory_equal(entry->profile.bytes, "\x1f\x8bone", 5);
    free(entry->bytes);
    free(entry);
    free(list.names);
    (void)close(dir);
}

static void no_changed_or_missing_byte_goes_unseen(void **state)
{
    const struct spool_v1_name name = {1, 3};
    struct spool_v1_entry *entry = malloc(sizeof(*entry)), *again = malloc(sizeof(*again));
    int dir = open_folder();
    size_t size = 112;
    unsigned char *copy;

    (void)state;
    assert_true(entry && again && spool_v1_read(dir, &name, entry));
    assert_true(spool_v1_decode(entry->bytes, size, again));
    for (size_t i = 0; i < size; i++) {
        copy = malloc(size); /* exact: a sanitizer sees a step too far */
        assert_non_null(copy);
        memcpy(copy, entry->bytes, size);
        copy[i] ^= 0x10;
        assert_false(spool_v1_decode(copy, size, again));
        assert_false(spool_v1_decode(copy, i, again));
        free(copy);
    }
    free(entry->bytes);
    free(entry);
    free(again);
    (void)close(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_version_1_wrote),
        cmocka_unit_test(no_changed_or_missing_byte_goes_unseen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
