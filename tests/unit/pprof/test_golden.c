/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_golden.c - the messages that protobuf-c makes of profile.proto encode
 * the golden vector byte for byte: tests/golden/pprof/profile.txtpb, encoded by protoc
 * from google/pprof's own profile.proto.
 */
#include <stdlib.h>

#include "pprof/pprof.h"
#include "pprof/profile.pb-c.h"
#include "tests/unit/pprof/hex.h"
#include "tests/unit/unit_test.h"

typedef Perftools__Profiles__ValueType value_type;
typedef Perftools__Profiles__Profile profile;

enum { COUNT = 3 };

static char *strings[] = {"",
                          "samples",
                          "count",
                          "cpu",
                          "nanoseconds",
                          "work",
                          "<module>",
                          "idle",
                          "/srv/app.py",
                          "thread id",
                          "thread name",
                          "MainThread",
                          "/usr/bin/python3.11"};

static value_type types[2] = {PERFTOOLS__PROFILES__VALUE_TYPE__INIT,
                              PERFTOOLS__PROFILES__VALUE_TYPE__INIT};
static value_type *type_list[2] = {&types[0], &types[1]};

static void set_types(profile *p)
{
    types[0].type = 1;
    types[0].unit = 2;
    types[1].type = 3;
    types[1].unit = 4;
    p->n_sample_type = 2;
    p->sample_type = type_list;
    p->period_type = &types[1];
}

static void set_samples(profile *p)
{
    static uint64_t ids[2][2] = {{1, 2}, {3, 2}};
    static int64_t values[2][2] = {{3, 30000000}, {2, 20000000}};
    static Perftools__Profiles__Label labels[2] = {PERFTOOLS__PROFILES__LABEL__INIT,
                                                   PERFTOOLS__PROFILES__LABEL__INIT};
    static Perftools__Profiles__Label *label_list[2] = {&labels[0], &labels[1]};
    static Perftools__Profiles__Sample samples[2] = {PERFTOOLS__PROFILES__SAMPLE__INIT,
                                                     PERFTOOLS__PROFILES__SAMPLE__INIT};
    static Perftools__Profiles__Sample *sample_list[2] = {&samples[0], &samples[1]};
    size_t i;

    labels[0].key = 9;
    labels[0].num = 42;
    labels[1].key = 10;
    labels[1].str = 11;
    for (i = 0; i < 2; i++) {
        samples[i].n_location_id = 2;
        samples[i].location_id = ids[i];
        samples[i].n_value = 2;
        samples[i].value = values[i];
        samples[i].n_label = 1;
        samples[i].label = &label_list[i];
    }
    p->n_sample = 2;
    p->sample = sample_list;
}

static void set_mapping(profile *p)
{
    static Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;
    static Perftools__Profiles__Mapping *list[1] = {&mapping};

    mapping.id = 1;
    mapping.filename = 12;
    mapping.has_functions = 1;
    mapping.has_filenames = 1;
    mapping.has_line_numbers = 1;
    p->n_mapping = 1;
    p->mapping = list;
}

static void set_places(profile *p)
{
    static const int64_t lines[COUNT] = {12, 40, 21}, starts[COUNT] = {10, 35, 20};
    static Perftools__Profiles__Location locations[COUNT];
    static Perftools__Profiles__Line line[COUNT], *line_list[COUNT];
    static Perftools__Profiles__Function functions[COUNT];
    static Perftools__Profiles__Location *location_list[COUNT];
    static Perftools__Profiles__Function *function_list[COUNT];
    size_t i;

    for (i = 0; i < COUNT; i++) {
        perftools__profiles__location__init(&locations[i]);
        perftools__profiles__line__init(&line[i]);
        perftools__profiles__function__init(&functions[i]);
        line[i].function_id = i + 1;
        line[i].line = lines[i];
        line_list[i] = &line[i];
        locations[i].id = i + 1;
        locations[i].mapping_id = i < 2 ? 1 : 0;
        locations[i].n_line = 1;
        locations[i].line = &line_list[i];
        location_list[i] = &locations[i];
        functions[i].id = i + 1;
        functions[i].name = 5 + (int64_t)i;
        functions[i].filename = 8;
        functions[i].start_line = starts[i];
        function_list[i] = &functions[i];
    }
    p->n_location = COUNT;
    p->location = location_list;
    p->n_function = COUNT;
    p->function = function_list;
}

static void set_rest(profile *p)
{
    p->n_string_table = sizeof(strings) / sizeof(strings[0]);
    p->string_table = strings;
    p->time_nanos = 1700000000000000000;
    p->duration_nanos = 10000000000;
    p->period = 10000000;
    p->default_sample_type = 3;
}

static void our_messages_encode_the_golden_vector(void **state)
{
    profile p = PERFTOOLS__PROFILES__PROFILE__INIT;
    uint8_t packed[512];
    struct buf golden;

    (void)state;
    buf_init(&golden, 4096);
    assert_true(read_hex(GOLDEN_PPROF, &golden));
    set_types(&p);
    set_samples(&p);
    set_mapping(&p);
    set_places(&p);
    set_rest(&p);

    assert_int_equal(perftools__profiles__profile__get_packed_size(&p), golden.size);
    assert_int_equal(perftools__profiles__profile__pack(&p, packed), golden.size);
    assert_memory_equal(packed, golden.data, golden.size);
    buf_finish(&golden);
}

static void the_golden_vector_decodes(void **state)
{
    struct pprof_decoded decoded;
    struct pprof_top *top;
    struct buf golden;
    size_t count;

    (void)state;
    buf_init(&golden, 4096);
    assert_true(read_hex(GOLDEN_PPROF, &golden));
    assert_int_equal(pprof_decode(golden.data, golden.size, 1 << 20, &decoded, NULL), PPROF_OK);

    assert_int_equal(decoded.type_count, 2);
    assert_string_equal(decoded.types[1].type, "cpu");
    assert_string_equal(decoded.types[1].unit, "nanoseconds");
    assert_int_equal(decoded.duration_ns, 10000000000);
    assert_int_equal(decoded.period, 10000000);
    assert_int_equal(pprof_total(decoded.profile, 1), 50000000);
    assert_int_equal(pprof_top(decoded.profile, 1, &top, &count), PPROF_OK);
    assert_int_equal(count, 3);
    assert_string_equal(top[0].name, "work");
    assert_int_equal(top[0].flat, 30000000);
    assert_string_equal(top[2].name, "<module>");
    assert_int_equal(top[2].cum, 50000000);
    free(top);
    pprof_free(decoded.profile);
    buf_finish(&golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_messages_encode_the_golden_vector),
        cmocka_unit_test(the_golden_vector_decodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
