/* SPDX-License-Identifier: Apache-2.0 */
/* test_otlp_check.c - the checker of OTLP requests finds each rule broken that it holds. */
#include <stdlib.h>
#include <string.h>

#include "tests/tools/otlp_check.h"
#include "tests/unit/pprof/otlp_example.h"
#include "tests/unit/unit_test.h"

enum { BUDGET = 1 << 20 };

typedef Otlp__ProfilesDictionary dictionary;

/* The numbers that stand in place of others: what is changed stays the test's. */
static int32_t out_of_range = 1000, twice[2] = {1, 1}, zero[1] = {0};
static char empty[] = "", bad_text[] = "\xff", words[] = "pprof";
static uint8_t ones[16] = {1}, zeros[16];

static void swap(void *a, void *b, size_t size)
{
    unsigned char keep[64];

    memcpy(keep, a, size);
    memcpy(a, b, size);
    memcpy(b, keep, size);
}

static Otlp__Profile *cpu_of(otlp_check_request *r)
{
    return r->resource_profiles[0]->scope_profiles[0]->profiles[0];
}

static Otlp__Sample *sample_of(otlp_check_request *r)
{
    return cpu_of(r)->samples[0];
}

/* Each breaks one rule in a way that can be undone by freeing: pointers come from calloc. */
static void *copy(const void *from, size_t size)
{
    void *to = calloc(1, size ? size : 1);

    assert_non_null(to);
    memcpy(to, from, size);
    return to;
}

static void set_bytes(ProtobufCBinaryData *data, const uint8_t *bytes, size_t size)
{
    free(data->data);
    data->data = copy(bytes, size);
    data->len = size;
}

static void set_list(int32_t **list, size_t *count, const int32_t *numbers, size_t size)
{
    free(*list);
    *list = copy(numbers, size * sizeof(*numbers));
    *count = size;
}

static void set_text(char **text, const char *to)
{
    if (*text != protobuf_c_empty_string)
        free(*text);
    *text = copy(to, strlen(to) + 1);
}

static void no_dictionary(otlp_check_request *r)
{
    otlp__profiles_dictionary__free_unpacked(r->dictionary, NULL);
    r->dictionary = NULL;
}

static void no_mappings(otlp_check_request *r)
{
    otlp__mapping__free_unpacked(r->dictionary->mapping_table[0], NULL);
    r->dictionary->n_mapping_table = 0;
}

static void first_string(otlp_check_request *r)
{
    swap(&r->dictionary->string_table[0], &r->dictionary->string_table[1], sizeof(char *));
}

static void first_mapping(otlp_check_request *r)
{
    r->dictionary->mapping_table[0]->memory_start = 1;
}

static void first_location(otlp_check_request *r)
{
    swap(&r->dictionary->location_table[0], &r->dictionary->location_table[1], sizeof(void *));
}

static void first_function(otlp_check_request *r)
{
    swap(&r->dictionary->function_table[0], &r->dictionary->function_table[1], sizeof(void *));
}

static void first_attribute(otlp_check_request *r)
{
    swap(&r->dictionary->attribute_table[0], &r->dictionary->attribute_table[1], sizeof(void *));
}

static void first_stack(otlp_check_request *r)
{
    swap(&r->dictionary->stack_table[0], &r->dictionary->stack_table[1], sizeof(void *));
}

static void first_link(otlp_check_request *r)
{
    set_bytes(&r->dictionary->link_table[0]->trace_id, zeros, 16);
}

static void same_string(otlp_check_request *r)
{
    set_text(&r->dictionary->string_table[2], r->dictionary->string_table[1]);
}

static void same_function(otlp_check_request *r)
{
    r->dictionary->function_table[2]->name_strindex =
        r->dictionary->function_table[1]->name_strindex;
    r->dictionary->function_table[2]->start_line = r->dictionary->function_table[1]->start_line;
}

static void string_index(otlp_check_request *r)
{
    r->dictionary->function_table[1]->name_strindex = out_of_range;
}

static void type_index(otlp_check_request *r)
{
    cpu_of(r)->sample_type->unit_strindex = -1;
}

static void key_index(otlp_check_request *r)
{
    r->dictionary->attribute_table[1]->key_strindex = out_of_range;
}

static void function_index(otlp_check_request *r)
{
    r->dictionary->location_table[1]->lines[0]->function_index = out_of_range;
}

static void mapping_index(otlp_check_request *r)
{
    r->dictionary->location_table[1]->mapping_index = 1;
}

static void location_index(otlp_check_request *r)
{
    r->dictionary->stack_table[1]->location_indices[0] = out_of_range;
}

static void empty_location(otlp_check_request *r)
{
    r->dictionary->stack_table[1]->location_indices[0] = 0;
}

static void stack_index(otlp_check_request *r)
{
    sample_of(r)->stack_index = -1;
}

static void link_index(otlp_check_request *r)
{
    sample_of(r)->link_index = 1;
}

static void attribute_index(otlp_check_request *r)
{
    sample_of(r)->attribute_indices[0] = out_of_range;
}

static void empty_attribute(otlp_check_request *r)
{
    set_list(&sample_of(r)->attribute_indices, &sample_of(r)->n_attribute_indices, zero, 1);
}

static void no_service(otlp_check_request *r)
{
    set_list(&sample_of(r)->attribute_indices, &sample_of(r)->n_attribute_indices, zero, 0);
}

static void other_service(otlp_check_request *r)
{
    const Otlp__KeyValueAndUnit *service =
        r->dictionary->attribute_table[sample_of(r)->attribute_indices[0]];

    set_text(&service->value->string_value, words);
}

static void key_twice(otlp_check_request *r)
{
    set_list(&sample_of(r)->attribute_indices, &sample_of(r)->n_attribute_indices, twice, 2);
}

static void no_value(otlp_check_request *r)
{
    sample_of(r)->n_values = 0;
}

static void two_values(otlp_check_request *r)
{
    const int64_t values[2] = {1, 2};

    free(sample_of(r)->values);
    sample_of(r)->values = copy(values, sizeof(values));
    sample_of(r)->n_values = 2;
}

static void set_times(Otlp__Sample *sample, uint64_t time, size_t count)
{
    const uint64_t times[2] = {time, time};

    free(sample->timestamps_unix_nano);
    sample->timestamps_unix_nano = copy(times, sizeof(times));
    sample->n_timestamps_unix_nano = count;
}

static void more_times(otlp_check_request *r)
{
    set_times(sample_of(r), cpu_of(r)->time_unix_nano, 2);
}

static void other_shape(otlp_check_request *r)
{
    set_times(cpu_of(r)->samples[1], cpu_of(r)->time_unix_nano, 1);
}

static void time_outside(otlp_check_request *r)
{
    set_times(sample_of(r), cpu_of(r)->time_unix_nano + cpu_of(r)->duration_nano, 1);
}

static void same_samples(otlp_check_request *r)
{
    cpu_of(r)->samples[1]->stack_index = sample_of(r)->stack_index;
}

static void orphan(otlp_check_request *r)
{
    set_list(&r->dictionary->location_table[1]->attribute_indices,
             &r->dictionary->location_table[1]->n_attribute_indices, zero, 0);
    set_list(&r->dictionary->location_table[2]->attribute_indices,
             &r->dictionary->location_table[2]->n_attribute_indices, zero, 0);
    set_list(&r->dictionary->location_table[3]->attribute_indices,
             &r->dictionary->location_table[3]->n_attribute_indices, zero, 0);
    set_list(&r->dictionary->location_table[4]->attribute_indices,
             &r->dictionary->location_table[4]->n_attribute_indices, zero, 0);
}

static void no_build_id(otlp_check_request *r)
{
    dictionary *d = r->dictionary;

    d->mapping_table = realloc(d->mapping_table, 2 * sizeof(void *));
    d->mapping_table[1] = calloc(1, sizeof(Otlp__Mapping));
    assert_non_null(d->mapping_table[1]);
    otlp__mapping__init(d->mapping_table[1]);
    d->mapping_table[1]->memory_start = 4096;
    d->mapping_table[1]->memory_limit = 8192;
    d->n_mapping_table = 2;
    d->location_table[1]->mapping_index = 1;
}

static void mapping_backwards(otlp_check_request *r)
{
    no_build_id(r);
    r->dictionary->mapping_table[1]->memory_limit = 4096;
}

static void payload_alone(otlp_check_request *r)
{
    set_text(&cpu_of(r)->original_payload_format, words);
}

static void no_resources(otlp_check_request *r)
{
    otlp__resource_profiles__free_unpacked(r->resource_profiles[0], NULL);
    r->n_resource_profiles = 0;
}

static void no_scopes(otlp_check_request *r)
{
    otlp__scope_profiles__free_unpacked(r->resource_profiles[0]->scope_profiles[0], NULL);
    r->resource_profiles[0]->n_scope_profiles = 0;
}

static void no_profiles(otlp_check_request *r)
{
    Otlp__ScopeProfiles *scope = r->resource_profiles[0]->scope_profiles[0];
    size_t i;

    for (i = 0; i < scope->n_profiles; i++)
        otlp__profile__free_unpacked(scope->profiles[i], NULL);
    scope->n_profiles = 0;
}

static void cpu_last(otlp_check_request *r)
{
    Otlp__Profile **profiles = r->resource_profiles[0]->scope_profiles[0]->profiles;

    swap(&profiles[0], &profiles[1], sizeof(void *));
}

static void nameless_function(otlp_check_request *r)
{
    r->dictionary->function_table[1]->name_strindex = 0;
    r->dictionary->function_table[1]->filename_strindex = 0;
}

static void negative_line(otlp_check_request *r)
{
    r->dictionary->location_table[1]->lines[0]->line = -1;
}

static void text_no_utf8(otlp_check_request *r)
{
    set_text(&r->dictionary->string_table[1], bad_text);
}

static void id_of_zeros(otlp_check_request *r)
{
    set_bytes(&cpu_of(r)->profile_id, zeros, 16);
}

static void id_short(otlp_check_request *r)
{
    set_bytes(&cpu_of(r)->profile_id, ones, 15);
}

static void no_period(otlp_check_request *r)
{
    cpu_of(r)->period = 0;
}

static void no_time(otlp_check_request *r)
{
    cpu_of(r)->time_unix_nano = 0;
}

static void no_type(otlp_check_request *r)
{
    cpu_of(r)->period_type->type_strindex = 0;
}

static Otlp__KeyValue *pair_of(otlp_check_request *r, size_t i)
{
    return r->resource_profiles[0]->resource->attributes[i];
}

static void key_reference(otlp_check_request *r)
{
    pair_of(r, 0)->key_strindex = 1;
}

static void value_reference(otlp_check_request *r)
{
    free(pair_of(r, 0)->value->string_value);
    pair_of(r, 0)->value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX;
    pair_of(r, 0)->value->string_value_strindex = 1;
}

static void resource_key_twice(otlp_check_request *r)
{
    set_text(&pair_of(r, 1)->key, pair_of(r, 0)->key);
}

static void no_key(otlp_check_request *r)
{
    set_text(&pair_of(r, 0)->key, empty);
}

static void no_scope(otlp_check_request *r)
{
    set_text(&r->resource_profiles[0]->scope_profiles[0]->scope->name, empty);
}

static const struct mutation {
    void (*make)(otlp_check_request *r);
    const char *rule;
} mutations[] = {
    {no_dictionary, "the dictionary is missing"},
    {no_mappings, "a table is missing"},
    {first_string, "the first string is not empty"},
    {first_mapping, "the first mapping is not empty"},
    {first_location, "the first location is not empty"},
    {first_function, "the first function is not empty"},
    {first_attribute, "the first attribute is not empty"},
    {first_stack, "the first stack is not empty"},
    {first_link, "the first link is not empty"},
    {same_string, "a table has an item twice"},
    {same_function, "a table has an item twice"},
    {string_index, "a string index is out of range"},
    {type_index, "a string index is out of range"},
    {key_index, "a string index is out of range"},
    {function_index, "a function index is out of range"},
    {mapping_index, "a mapping index is out of range"},
    {location_index, "a location index is out of range"},
    {empty_location, "a stack has the empty location"},
    {stack_index, "a stack index is out of range"},
    {link_index, "a link index is out of range"},
    {attribute_index, "an attribute index is out of range"},
    {empty_attribute, "an attribute list has the empty attribute"},
    {key_twice, "an attribute list has a key twice"},
    {no_service, "a sample has no service"},
    {other_service, "a sample is of another service than its resource"},
    {no_value, "a sample has neither value nor time"},
    {two_values, "a sample has several values and no times"},
    {more_times, "a sample has not as many values as times"},
    {other_shape, "the samples of a profile have different shapes"},
    {time_outside, "a sample's time is outside its profile"},
    {same_samples, "two samples of a profile are the same"},
    {orphan, "a table has an item that nothing uses"},
    {no_build_id, "a mapping has no build id"},
    {payload_alone, "a payload goes with its format"},
    {mapping_backwards, "a mapping ends before it starts"},
    {no_resources, "the request has no profiles"},
    {no_scopes, "a resource has no scopes"},
    {no_profiles, "a scope has no profiles"},
    {cpu_last, "the CPU's profile is not the first"},
    {nameless_function, "a function has no name"},
    {negative_line, "a line is negative"},
    {text_no_utf8, "a text is not UTF-8"},
    {id_of_zeros, "a profile's id is not 16 bytes, or zeros"},
    {id_short, "a profile's id is not 16 bytes, or zeros"},
    {no_period, "a profile has no period"},
    {no_time, "a profile has no time"},
    {no_type, "a profile has no sample type or no period type"},
    {key_reference, "a key is a reference"},
    {value_reference, "a value is a reference"},
    {resource_key_twice, "a resource has a key twice"},
    {no_key, "an attribute has no key"},
    {no_scope, "a scope has no name"},
};

static void encode(struct buf *out)
{
    static const struct otlp_limits unlimited;
    struct otlp_service service;
    struct otlp *otlp;
    struct pprof *p;

    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    assert_int_equal(example_fill(p, "01"), PPROF_OK);
    service = example_service(p);
    assert_int_equal(otlp_new("pystrobe", "1.2", &unlimited, &otlp), PPROF_OK);
    assert_int_equal(otlp_reset(otlp, example_id), PPROF_OK);
    assert_int_equal(example_request(otlp, &service), PPROF_OK);
    assert_int_equal(example_finish(otlp, out), PPROF_OK);
    otlp_free(otlp);
    pprof_free(p);
}

static void each_broken_rule_is_named(void **state)
{
    otlp_check_request *request;
    struct err err;
    struct buf out;
    size_t i;

    (void)state;
    buf_init(&out, BUDGET);
    encode(&out);
    assert_true(otlp_check_bytes(out.data, out.size, &err));
    for (i = 0; i < sizeof(mutations) / sizeof(mutations[0]); i++) {
        request = otlp__export_profiles_service_request__unpack(NULL, out.size, out.data);
        assert_non_null(request);
        mutations[i].make(request);

        err.text[0] = '\0';
        assert_false(otlp_check(request, &err));
        assert_string_equal(err.text, mutations[i].rule);
        otlp__export_profiles_service_request__free_unpacked(request, NULL);
    }
    buf_finish(&out);
}

static void what_is_no_message_is_refused(void **state)
{
    struct err err = {""};
    struct buf out;

    (void)state;
    buf_init(&out, BUDGET);
    encode(&out);
    assert_false(otlp_check_bytes(out.data, out.size - 1, &err));
    assert_string_equal(err.text, "the bytes are no request");
    assert_false(otlp_check_bytes("", 0, &err));
    assert_string_equal(err.text, "the dictionary is missing");
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_rule_is_named),
        cmocka_unit_test(what_is_no_message_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
