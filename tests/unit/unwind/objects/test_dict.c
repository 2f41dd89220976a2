/* SPDX-License-Identifier: Apache-2.0 */
/* test_dict.c - dicts and attributes are found in every form that a version keeps them in.
 */
#include <stdio.h>
#include <string.h>

#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { ITEMS = 150 }; /* more than are read at once */

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
    cpy_addr value = 7;

    assert_int_equal(object_dict_find(&fake->reader, dict, name, &value), CPY_OK);
    return value;
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
    cpy_addr value = 7, keys, object;
    struct fake_item item = {fake_str(fake, name), 1};

    (void)state;
    assert_int_equal(strlen(name), 32);
    assert_int_equal(
        object_dict_find(&fake->reader, fake_dict(fake, KEYS_UNICODE, &item, 1), name, &value),
        CPY_RACED);
    keys = fake_keys(fake, KEYS_SPLIT, &item, 1);
    object =
        fake_instance(fake, fake_class(fake, TYPE_MANAGED_DICT | TYPE_INLINE_VALUES, -1, keys));
    fake_put8(fake, object + TYPE_BASICSIZE + 3, 1);
    assert_int_equal(object_attribute(&fake->reader, object, name, &value), CPY_RACED);
    assert_int_equal(value, 7);
    mem_close(&fake->mem);
}

static void refuses_hostile_keys(void **state)
{
    static const uint64_t counts[] = {OBJECT_ENTRIES_MAX + 1, INT64_MAX, UINT64_MAX,
                                      UINT64_C(1) << 63};
    struct fake *fake = fake_of(14);
    struct fake_item item = {fake_str(fake, "x"), 1};
    cpy_addr keys = fake_keys(fake, KEYS_UNICODE, &item, 1), dict = fake_room(fake, 64), value;

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
    cpy_addr dict = fake_dict(fake, KEYS_SPLIT, &item, 1), value;

    (void)state;
    assert_int_equal(object_dict_find(&fake->reader, NOWHERE, "x", &value), CPY_RACED);
    fake_put64(fake, dict + fake->layout.dict.ma_values, NOWHERE);
    assert_int_equal(object_dict_find(&fake->reader, dict, "x", &value), CPY_RACED);
    fake_put64(fake, dict + fake->layout.dict.ma_keys, NOWHERE);
    assert_int_equal(object_dict_find(&fake->reader, dict, "x", &value), CPY_RACED);
    mem_close(&fake->mem);
}

struct visits {
    size_t count, most;
    cpy_addr sum;
};

static bool visit(void *ctx, cpy_addr key, cpy_addr value)
{
    struct visits *visits = ctx;

    assert_true(key != 0 && value != 0);
    visits->sum += value;
    return ++visits->count < visits->most;
}

static void visits_each_entry_until_told_to_stop(void **state)
{
    struct fake *fake = fake_of(12);
    struct fake_item items[ITEMS];
    struct visits all = {.most = SIZE_MAX}, some = {.most = 3};
    cpy_addr dict, sum = 0;

    (void)state;
    make_items(fake, items, ITEMS);
    for (size_t i = 0; i < ITEMS; i++)
        sum += items[i].value;
    dict = fake_dict(fake, KEYS_GENERAL, items, ITEMS);
    assert_int_equal(object_dict_each(&fake->reader, dict, visit, &all), CPY_OK);
    assert_int_equal(object_dict_each(&fake->reader, dict, visit, &some), CPY_OK);

    assert_int_equal(all.count, ITEMS - ITEMS / 7);
    assert_int_equal(all.sum, sum);
    assert_int_equal(some.count, 3);
    mem_close(&fake->mem);
}

static cpy_addr attribute(struct fake *fake, cpy_addr object, const char *name)
{
    cpy_addr value = 7;

    assert_int_equal(object_attribute(&fake->reader, object, name, &value), CPY_OK);
    return value;
}

static enum cpy_rc attribute_rc(struct fake *fake, cpy_addr object)
{
    cpy_addr value = 7;
    enum cpy_rc rc = object_attribute(&fake->reader, object, "_name", &value);

    assert_int_equal(value, 7);
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
        cmocka_unit_test(visits_each_entry_until_told_to_stop),
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
