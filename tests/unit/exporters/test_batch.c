/* SPDX-License-Identifier: Apache-2.0 */
/* test_batch.c - what is read is what was put in, and no bytes are taken for more than they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/batch.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/batch_of_one.h"
#include "tests/unit/unit_test.h"

static const struct label labels[] = {{"host.name", "a"}, {"zone", ""}};

static struct exporter_profile profile_of(const char *service, const char *bytes)
{
    return (struct exporter_profile){.service = service,
                                     .type = "cpu",
                                     .labels = labels,
                                     .label_count = 2,
                                     .start_ns = 100,
                                     .end_ns = 200,
                                     .bytes = bytes,
                                     .size = strlen(bytes),
                                     .owner = 0xfedcba98};
}

/* A batch of three: the second has nothing that need not be there. */
static struct batch *example(void)
{
    const struct exporter_profile profiles[] = {
        profile_of("api", "one"), {.start_ns = 50, .end_ns = 150}, profile_of("web", "three")};
    struct batch_builder builder;
    struct batch *batch;

    batch_builder_init(&builder, EXPORTER_PER_TYPE_GIL);
    for (size_t i = 0; i < 3; i++)
        assert_true(batch_builder_add(&builder, &profiles[i]));
    batch = batch_builder_take(&builder, 77, 300);
    assert_non_null(batch);
    batch_builder_finish(&builder);
    return batch;
}

static enum batch_rc read_copy(const unsigned char *bytes, size_t size, struct batch **out)
{
    unsigned char *copy = malloc(size > 0 ? size : 1); /* exact: a sanitizer sees a step too far */

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return batch_read(copy, size, out);
}

static void assert_example(const struct batch *batch)
{
    const struct exporter_profile *profiles = batch->profiles;

    assert_int_equal(batch->form, EXPORTER_PER_TYPE_GIL);
    assert_int_equal(batch->interval, 77);
    assert_int_equal(batch->start_ns, 50);
    assert_int_equal(batch->end_ns, 200);
    assert_int_equal(batch->made_ns, 300);
    assert_int_equal(batch->count, 3);
    assert_string_equal(profiles[0].service, "api");
    assert_string_equal(profiles[0].type, "cpu");
    assert_int_equal(profiles[0].label_count, 2);
    assert_string_equal(profiles[0].labels[0].name, "host.name");
    assert_string_equal(profiles[0].labels[1].value, "");
    assert_memory_equal(profiles[0].bytes, "one", 3);
    assert_int_equal(profiles[0].owner, 0xfedcba98);
    assert_int_equal(profiles[1].owner, 0);
    assert_null(profiles[1].service);
    assert_null(profiles[1].type);
    assert_int_equal(profiles[1].size, 0);
    assert_string_equal(profiles[2].service, "web");
    assert_string_equal(profiles[2].labels[1].name, "zone");
    assert_int_equal(profiles[2].size, 5);
}

static void what_is_read_is_what_was_put_in(void **state)
{
    struct batch *batch = example(), *again;

    (void)state;
    assert_example(batch);
    assert_int_equal(read_copy(batch->bytes, batch->size, &again), BATCH_OK);
    assert_example(again);
    batch_unref(again);
    batch_unref(batch);
}

static void no_changed_byte_goes_unseen(void **state)
{
    struct batch *batch = example(), *again;
    unsigned char *bytes = malloc(batch->size);

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < batch->size; i++) {
        memcpy(bytes, batch->bytes, batch->size);
        bytes[i] ^= 0x10;
        assert_int_not_equal(read_copy(bytes, batch->size, &again), BATCH_OK);
    }
    for (size_t size = 0; size < batch->size; size++)
        assert_int_equal(read_copy(batch->bytes, size, &again), BATCH_CORRUPT);
    free(bytes);
    batch_unref(batch);
}

static void forms_with_limits_are_read_too(void **state)
{
    struct exporter_profile profile = {.bytes = "x", .size = 1};
    struct batch *batch = batch_of_one(EXPORTER_REQUEST_GIL_LIMITED, &profile);

    (void)state;
    assert_non_null(batch);
    assert_int_equal(batch->form, EXPORTER_REQUEST_GIL_LIMITED);
    batch_unref(batch);
    assert_null(batch_of_one((enum exporter_form)(EXPORTER_REQUEST_GIL_LIMITED + 1), &profile));
}

static void a_newer_version_is_told_from_a_broken_file(void **state)
{
    struct batch *batch = example(), *again;
    unsigned char *bytes = malloc(batch->size);

    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, batch->bytes, batch->size);
    bytes[8] = BATCH_VERSION + 1;
    assert_int_equal(read_copy(bytes, batch->size, &again), BATCH_NEWER);
    free(bytes);
    batch_unref(batch);
}

/* Two profiles, as version 2 wrote them. */
static void reads_what_version_2_wrote(void **state)
{
    FILE *file = fopen("tests/unit/exporters/batch_v2/two.batch", "re");
    unsigned char bytes[512];
    struct batch *batch;
    size_t size;

    (void)state;
    assert_non_null(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    assert_int_equal(read_copy(bytes, size, &batch), BATCH_OK);
    assert_int_equal(batch->count, 2);
    assert_string_equal(batch->profiles[0].service, "api");
    assert_string_equal(batch->profiles[0].labels[1].value, "h1");
    assert_memory_equal(batch->profiles[0].bytes, "payload-a", 9);
    assert_int_equal(batch->profiles[0].owner, 0);
    assert_string_equal(batch->profiles[1].service, "web");
    assert_memory_equal(batch->profiles[1].bytes, "payload-b", 9);
    batch_unref(batch);
    bytes[8] = 1; /* that was another kind of file */
    assert_int_equal(read_copy(bytes, size, &batch), BATCH_CORRUPT);
}

static void a_part_has_the_profiles_that_were_chosen(void **state)
{
    struct batch *batch = example(), *part;
    struct batch_set set = {{0}};

    (void)state;
    assert_null(batch_subset(batch, &set));
    batch_set_add(&set, 0);
    batch_set_add(&set, 2);
    assert_int_equal(batch_set_count(&set), 2);
    part = batch_subset(batch, &set);
    assert_non_null(part);
    assert_int_equal(part->count, 2);
    assert_int_equal(part->interval, 77);
    assert_int_equal(part->form, EXPORTER_PER_TYPE_GIL);
    assert_string_equal(part->profiles[0].service, "api");
    assert_string_equal(part->profiles[1].service, "web");
    batch_unref(part);
    batch_unref(batch);
}

static void a_batch_is_full_by_its_profiles_or_its_bytes(void **state)
{
    static char large[BATCH_SIZE_FULL];
    struct exporter_profile profile = profile_of("api", "x");
    struct batch_builder builder;
    struct batch *batch;

    (void)state;
    batch_builder_init(&builder, EXPORTER_PER_TYPE);
    assert_null(batch_builder_take(&builder, 1, 1));
    assert_false(batch_builder_is_full(&builder, BATCH_SIZE_FULL)); /* one always has room */
    for (size_t i = 0; i < BATCH_PROFILES_MAX; i++) {
        assert_false(batch_builder_is_full(&builder, 1));
        assert_true(batch_builder_add(&builder, &profile));
    }
    assert_true(batch_builder_is_full(&builder, 1));
    assert_false(batch_builder_add(&builder, &profile));
    batch = batch_builder_take(&builder, 1, 1);
    assert_int_equal(batch->count, BATCH_PROFILES_MAX);
    batch_unref(batch);

    profile.bytes = large;
    profile.size = sizeof(large);
    assert_true(batch_builder_add(&builder, &profile));
    assert_true(batch_builder_is_full(&builder, 1));
    batch_builder_finish(&builder);
}

static void what_no_batch_has_room_for_is_left_out(void **state)
{
    struct exporter_profile profile = profile_of("api", "x");
    struct batch_builder builder;
    struct batch *batch;

    (void)state;
    batch_builder_init(&builder, EXPORTER_PER_TYPE);
    assert_true(batch_builder_add(&builder, &profile));
    profile.label_count = BATCH_LABELS_MAX + 1;
    assert_false(batch_builder_add(&builder, &profile));
    profile.label_count = 0;
    profile.size = (size_t)65 << 20; /* which is not looked at */
    assert_false(batch_builder_add(&builder, &profile));
    batch = batch_builder_take(&builder, 1, 1);
    assert_int_equal(batch->count, 1);
    batch_unref(batch);
    batch_builder_finish(&builder);
}

static void want_of_memory_loses_nothing_but_what_it_is_for(void **state)
{
    const struct exporter_profile profile = profile_of("api", "x");
    struct batch *batch = example();
    struct batch_set set = {{7}};

    (void)state;
    for (unsigned long n = 1; n < 20; n++) {
        struct batch *part;

        alloc_fail_at(n);
        part = batch_subset(batch, &set);
        (void)alloc_fail_stop();
        batch_unref(part);
        alloc_fail_at(n);
        part = batch_of_one(EXPORTER_WHOLE, &profile);
        (void)alloc_fail_stop();
        batch_unref(part);
    }
    assert_example(batch);
    batch_unref(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_what_was_put_in),
        cmocka_unit_test(no_changed_byte_goes_unseen),
        cmocka_unit_test(forms_with_limits_are_read_too),
        cmocka_unit_test(a_newer_version_is_told_from_a_broken_file),
        cmocka_unit_test(reads_what_version_2_wrote),
        cmocka_unit_test(a_part_has_the_profiles_that_were_chosen),
        cmocka_unit_test(a_batch_is_full_by_its_profiles_or_its_bytes),
        cmocka_unit_test(what_no_batch_has_room_for_is_left_out),
        cmocka_unit_test(want_of_memory_loses_nothing_but_what_it_is_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
