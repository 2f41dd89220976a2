/* SPDX-License-Identifier: Apache-2.0 */
/* test_dict.c - dicts and attributes are found in every form that a version keeps them in.
 */
#include <stdio.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { ITEMS = 150 }; /* more than are read at once */
enum { INTS = 1000 };
#define INT_KEY  UINT64_C(0x7f1200000700)
#define INT_STEP UINT64_C(0x801000) /* from one stack of 8 MiB to the next */

static const uint8_t kinds[] = {KEYS_GENERAL, KEYS_UNICODE, KEYS_SPLIT};

/* key0: 1000, key1: 1001 ...; every 7th one is a hole. */
static void make_items(struct fake *fake, struct fake_item *items, size_t count)
{
    char name[32];

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "key%zu", i);
        items[i] = (struct fake_item){fake_str(fake, name), 1000 + i};
        if (i % 7 == 6)
            items[i] = (struct fake_item){0, 0};
    }
}

static cpy_addr find(struct fake *fake, cpy_addr dict, const char *name)
{
    struct object_slot found = {7, 7};

    assert_int_equal(object_dict_find(&fake->reader, dict, name, &found), CPY_OK);
    assert_true(found.value == 0 || fake_get64(fake, found.at) == found.value);
    return found.value;
}

static void finds_keys_in_every_kind_of_dict(void **state)
{
    struct fake_item items[ITEMS];

    (void)state;
    for (unsigned minor = 11; minor <= 15; minor++)
        for (size_t k = 0; k < sizeof(kinds); k++) {
            struct fake *fake = fake_of(minor);
            cpy_addr dict;

            make_items(fake, items, ITEMS);
            dict = fake_dict(fake, kinds[k], items, ITEMS);
            assert_int_equal(find(fake, dict, "key0"), 1000);
            assert_int_equal(find(fake, dict, "key64"), 1064);
            assert_int_equal(find(fake, dict, "key149"), 1149);
            assert_int_equal(find(fake, dict, "key6"), 0);
            assert_int_equal(find(fake, dict, "key150"), 0);
            assert_int_equal(find(fake, dict, "key"), 0);
            mem_close(&fake->mem);
        }
}

static void finds_nothing_in_an_empty_dict(void **state)
{
    struct fake *fake = fake_of(14);

    (void)state;
    assert_int_equal(find(fake, fake_dict(fake, KEYS_UNICODE, NULL, 0), "x"), 0);
    mem_close(&fake->mem);
}

static void passes_over_keys_that_cannot_be_read(void **state)
{
    struct fake *fake = fake_of(14);
    struct fake_item items[] = {
        {NOWHERE, 1}, {fake_str(fake, "other"), 2}, {fake_str(fake, "x"), 3}};

    (void)state;
    assert_int_equal(find(fake, fake_dict(fake, KEYS_GENERAL, items, 3), "x"), 3);
    mem_close(&fake->mem);
}

static void passes_over_split_keys_without_a_value(void **state)
{
    struct fake *fake = fake_of(15);
    struct fake_item items[] = {{fake_str(fake, "x"), 0}, {fake_str(fake, "y"), 5}};
    cpy_addr dict = fake_dict(fake, KEYS_SPLIT, items, 2);

    (void)state;
    assert_int_equal(find(fake, dict, "x"), 0);
    assert_int_equal(find(fake, dict, "y"), 5);
    mem_close(&fake->mem);
}

static void refuses_a_name_that_is_too_long_to_look_for(void **state)
{
    static const char name[] = "a_name_of_32_characters_________";
    struct fake *fake = fake_of(13);
    struct object_slot found = {7, 7};
    cpy_addr keys, object;
    struct fake_item item = {fake_str(fake, name), 1};

    (void)state;
    assert_int_equal(strlen(name), 32);
    assert_int_equal(
        object_dict_find(&fake->reader, fake_dict(fake, KEYS_UNICODE, &item, 1), name, &found),
        CPY_RACED);
    keys = fake_keys(fake, KEYS_SPLIT, &item, 1);
    object =
        fake_instance(fake, fake_class(fake, TYPE_MANAGED_DICT | TYPE_INLINE_VALUES, -1, keys));
    fake_put8(fake, object + TYPE_BASICSIZE + 3, 1);
    assert_int_equal(object_attribute(&fake->reader, object, name, &found), CPY_RACED);
    assert_int_equal(found.value, 7);
    mem_close(&fake->mem);
}

static void refuses_hostile_keys(void **state)
{
    static const uint64_t counts[] = {OBJECT_ENTRIES_MAX + 1, INT64_MAX, UINT64_MAX,
                                      UINT64_C(1) << 63};
    struct fake *fake = fake_of(14);
    struct fake_item item = {fake_str(fake, "x"), 1};
    cpy_addr keys = fake_keys(fake, KEYS_UNICODE, &item, 1), dict = fake_room(fake, 64);
    struct object_slot value;

    (void)state;
    fake_put64(fake, dict + fake->layout.dict.ma_keys, keys);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        fake_put64(fake, keys + KEYS_NENTRIES, counts[i]);
        assert_int_equal(object_dict_find(&fake->reader, dict, "y", &value), CPY_RACED);
    }
    fake_put64(fake, keys + KEYS_NENTRIES, OBJECT_ENTRIES_MAX); /* beyond what is mapped */
    assert_int_equal(object_dict_find(&fake->reader, dict, "y", &value), CPY_RACED);
    fake_put64(fake, keys + KEYS_NENTRIES, 1);
    for (unsigned log2 = 31; log2 < 256; log2++) {
        fake_put8(fake, keys + KEYS_LOG2_INDEX_BYTES, (uint8_t)log2);
        assert_int_equal(object_dict_find(&fake->reader, dict, "x", &value), CPY_RACED);
    }
    mem_close(&fake->mem);
}

static void refuses_dicts_that_are_not_mapped(void **state)
{
    struct fake *fake = fake_of(14);
    struct fake_item item = {fake_str(fake, "x"), 1};
    cpy_addr dict = fake_dict(fake, KEYS_SPLIT, &item, 1);
    struct object_slot value;

    (void)state;
    assert_int_equal(object_dict_find(&fake->reader, NOWHERE, "x", &value), CPY_RACED);
    fake_put64(fake, dict + fake->layout.dict.ma_values, NOWHERE);
    assert_int_equal(object_dict_find(&fake->reader, dict, "x", &value), CPY_RACED);
    fake_put64(fake, dict + fake->layout.dict.ma_keys, NOWHERE);
    assert_int_equal(object_dict_find(&fake->reader, dict, "x", &value), CPY_RACED);
    mem_close(&fake->mem);
}

/* Keys as pthread_t are: the same distance apart. Every third one is deleted. */
static cpy_addr make_int_dict(struct fake *fake, size_t count)
{
    struct fake_int_item items[INTS];

    for (size_t i = 0; i < count; i++)
        items[i] = (struct fake_int_item){INT_KEY + i * INT_STEP, i % 3 == 2 ? 0 : 1000 + i};
    return fake_int_dict(fake, items, count);
}

static void finds_ints_with_a_few_reads_whatever_the_size(void **state)
{
    (void)state;
    for (unsigned minor = 6; minor <= 15; minor++)
        for (size_t count = 1; count <= INTS; count = count * 7 + 3) {
            struct fake *fake = fake_of(minor);
            cpy_addr dict = make_int_dict(fake, count);
            struct object_slot found;

            for (size_t i = 0; i < count + 3; i++) {
                const uint64_t reads = fake->mem.reads;

                assert_int_equal(
                    object_dict_find_int(&fake->reader, dict, INT_KEY + i * INT_STEP, &found),
                    CPY_OK);
                assert_int_equal(found.value, i >= count || i % 3 == 2 ? 0 : 1000 + i);
                assert_true(found.value == 0 || fake_get64(fake, found.at) == found.value);
                assert_true(fake->mem.reads - reads <= 8);
            }
            mem_close(&fake->mem);
        }
}

static void finds_no_int_in_an_empty_dict_or_one_of_str(void **state)
{
    struct fake *fake = fake_of(14);
    struct fake_item item = {fake_str(fake, "x"), 1};
    struct object_slot found = {7, 7};

    (void)state;
    for (unsigned kind = KEYS_UNICODE; kind <= KEYS_SPLIT; kind++) {
        assert_int_equal(object_dict_find_int(&fake->reader,
                                              fake_dict(fake, (uint8_t)kind, &item, 1), INT_KEY,
                                              &found),
                         CPY_OK);
        assert_int_equal(found.value, 0);
    }
    assert_int_equal(
        object_dict_find_int(&fake->reader, make_int_dict(fake, 3), UINT64_MAX, &found), CPY_RACED);
    mem_close(&fake->mem);
}

static void ends_in_a_hash_table_without_an_end(void **state)
{
    (void)state;
    for (unsigned minor = 6; minor <= 15; minor++)
        for (unsigned mark = 0; mark < 255; mark++) { /* 255: empty */
            struct fake *fake = fake_of(minor);
            const cpy_addr dict = make_int_dict(fake, 3);
            const cpy_addr keys = fake_get64(fake, dict + fake->layout.dict.ma_keys);
            struct object_slot found = {7, 7};

            for (size_t i = 0; i < 8; i++)
                fake_put8(fake, keys + (minor < 11 ? 40 : 32) + i, (uint8_t)mark);
            assert_int_equal(object_dict_find_int(&fake->reader, dict, INT_KEY - 1, &found),
                             CPY_OK);
            assert_int_equal(found.value, 0);
            assert_true(fake->mem.reads <= 40);
            mem_close(&fake->mem);
        }
}

static void refuses_hostile_hash_tables(void **state)
{
    static const uint64_t sizes[] = {0, 3, 7, 100, INT64_MAX, UINT64_MAX};
    struct fake *fake = fake_of(8), *later = fake_of(14);
    cpy_addr dict = make_int_dict(fake, 3), keys;
    struct object_slot found = {7, 7};

    (void)state;
    keys = fake_get64(fake, dict + fake->layout.dict.ma_keys);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fake_put64(fake, keys + 8, sizes[i]);
        assert_int_equal(object_dict_find_int(&fake->reader, dict, INT_KEY, &found), CPY_RACED);
    }
    dict = make_int_dict(later, 3);
    keys = fake_get64(later, dict + later->layout.dict.ma_keys);
    for (unsigned log2 = 4; log2 < 256; log2++) { /* more slots than bytes for them */
        fake_put8(later, keys + KEYS_LOG2_SIZE, (uint8_t)log2);
        assert_int_equal(object_dict_find_int(&later->reader, dict, INT_KEY, &found), CPY_RACED);
    }
    fake_put8(later, keys + KEYS_LOG2_SIZE, 0);
    assert_int_equal(object_dict_find_int(&later->reader, dict, INT_KEY, &found), CPY_RACED);
    assert_int_equal(found.value, 7);
    mem_close(&fake->mem);
    mem_close(&later->mem);
}

static cpy_addr attribute(struct fake *fake, cpy_addr object, const char *name)
{
    struct object_slot found = {7, 7};

    assert_int_equal(object_attribute(&fake->reader, object, name, &found), CPY_OK);
    return found.value;
}

static enum cpy_rc attribute_rc(struct fake *fake, cpy_addr object)
{
    struct object_slot found = {7, 7};
    enum cpy_rc rc = object_attribute(&fake->reader, object, "_name", &found);

    assert_int_equal(found.value, 7);
    return rc;
}

/* Two attributes: _name is 100, _ident is not set. */
struct attributes {
    struct fake *fake;
    struct fake_item items[2];
    cpy_addr keys, dict, object;
};

static struct attributes make_managed(unsigned minor, uint64_t flags)
{
    struct attributes a = {.fake = fake_of(minor)};

    a.items[0] = (struct fake_item){fake_str(a.fake, "_ident"), 0};
    a.items[1] = (struct fake_item){fake_str(a.fake, "_name"), 100};
    a.keys = fake_keys(a.fake, KEYS_SPLIT, a.items, 2);
    a.dict = fake_dict(a.fake, KEYS_UNICODE, &a.items[1], 1);
    a.object = fake_instance(a.fake, fake_class(a.fake, TYPE_MANAGED_DICT | flags, -1, a.keys));
    return a;
}

static void assert_attributes(struct attributes *a)
{
    assert_int_equal(attribute(a->fake, a->object, "_name"), 100);
    assert_int_equal(attribute(a->fake, a->object, "_ident"), 0);
    assert_int_equal(attribute(a->fake, a->object, "other"), 0);
    mem_close(&a->fake->mem);
}

static void finds_attributes_of_3_11_in_values_or_dict(void **state)
{
    struct attributes a = make_managed(11, 0);

    (void)state;
    fake_put64(a.fake, a.object - 32, fake_values(a.fake, a.items, 2));
    assert_attributes(&a);
    a = make_managed(11, 0);
    fake_put64(a.fake, a.object - 24, a.dict);
    assert_attributes(&a);
}

static void finds_attributes_of_3_12_in_values_or_dict(void **state)
{
    struct attributes a = make_managed(12, 0);

    (void)state;
    fake_put64(a.fake, a.object - 24, fake_values(a.fake, a.items, 2) - 1);
    assert_attributes(&a);
    a = make_managed(12, 0);
    fake_put64(a.fake, a.object - 24, a.dict);
    assert_attributes(&a);
}

static void finds_attributes_of_3_13_inline_or_in_a_dict(void **state)
{
    (void)state;
    for (unsigned minor = 13; minor <= 15; minor++) {
        struct attributes a = make_managed(minor, TYPE_INLINE_VALUES);

        fake_put8(a.fake, a.object + TYPE_BASICSIZE + 3, 1); /* valid */
        fake_put64(a.fake, a.object + TYPE_BASICSIZE + 8 + 8, 100);
        assert_attributes(&a);
        a = make_managed(minor, TYPE_INLINE_VALUES);
        fake_put64(a.fake, a.object - 24, a.dict);
        assert_attributes(&a);
    }
}

static void refuses_inline_values_that_are_no_longer_valid(void **state)
{
    struct attributes a = make_managed(14, TYPE_INLINE_VALUES);

    (void)state;
    assert_int_equal(attribute_rc(a.fake, a.object), CPY_RACED);
    mem_close(&a.fake->mem);
}

static void refuses_a_class_of_an_absurd_size(void **state)
{
    static const int64_t sizes[] = {-1, OBJECT_SIZE_MAX + 1, INT64_MIN, INT64_MAX};
    struct attributes a = make_managed(14, TYPE_INLINE_VALUES);
    cpy_addr type;

    (void)state;
    type = fake_get64(a.fake, a.object + a.fake->layout.object.ob_type);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fake_put64(a.fake, type + a.fake->layout.type.tp_basicsize, (uint64_t)sizes[i]);
        assert_int_equal(attribute_rc(a.fake, a.object), CPY_RACED);
    }
    mem_close(&a.fake->mem);
}

static void finds_no_attribute_where_there_is_no_dict_yet(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 15; minor++) {
        struct attributes a = make_managed(minor, 0);

        assert_int_equal(attribute(a.fake, a.object, "_name"), 0);
        mem_close(&a.fake->mem);
    }
}

static void finds_attributes_by_the_offset_of_the_dict(void **state)
{
    static const int64_t offsets[] = {0, -8, OBJECT_SIZE_MAX + 1, INT64_MAX, INT64_MIN};
    struct attributes a = make_managed(15, 0);

    (void)state;
    a.object = fake_instance(a.fake, fake_class(a.fake, 0, 16, 0));
    fake_put64(a.fake, a.object + 16, a.dict);
    assert_int_equal(attribute(a.fake, a.object, "_name"), 100);
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        a.object = fake_instance(a.fake, fake_class(a.fake, 0, offsets[i], 0));
        assert_int_equal(attribute_rc(a.fake, a.object), CPY_RACED);
    }
    mem_close(&a.fake->mem);
}

static void refuses_an_object_whose_type_is_not_mapped(void **state)
{
    struct fake *fake = fake_of(14);

    (void)state;
    assert_int_equal(attribute_rc(fake, fake_instance(fake, NOWHERE)), CPY_RACED);
    assert_int_equal(attribute_rc(fake, NOWHERE), CPY_RACED);
    mem_close(&fake->mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_keys_in_every_kind_of_dict),
        cmocka_unit_test(finds_nothing_in_an_empty_dict),
        cmocka_unit_test(passes_over_keys_that_cannot_be_read),
        cmocka_unit_test(passes_over_split_keys_without_a_value),
        cmocka_unit_test(refuses_a_name_that_is_too_long_to_look_for),
        cmocka_unit_test(refuses_hostile_keys),
        cmocka_unit_test(refuses_dicts_that_are_not_mapped),
        cmocka_unit_test(finds_ints_with_a_few_reads_whatever_the_size),
        cmocka_unit_test(finds_no_int_in_an_empty_dict_or_one_of_str),
        cmocka_unit_test(ends_in_a_hash_table_without_an_end),
        cmocka_unit_test(refuses_hostile_hash_tables),
        cmocka_unit_test(finds_attributes_of_3_11_in_values_or_dict),
        cmocka_unit_test(finds_attributes_of_3_12_in_values_or_dict),
        cmocka_unit_test(finds_attributes_of_3_13_inline_or_in_a_dict),
        cmocka_unit_test(refuses_inline_values_that_are_no_longer_valid),
        cmocka_unit_test(refuses_a_class_of_an_absurd_size),
        cmocka_unit_test(finds_no_attribute_where_there_is_no_dict_yet),
        cmocka_unit_test(finds_attributes_by_the_offset_of_the_dict),
        cmocka_unit_test(refuses_an_object_whose_type_is_not_mapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
