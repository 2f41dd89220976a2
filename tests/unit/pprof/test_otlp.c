/* SPDX-License-Identifier: Apache-2.0 */
/* test_otlp.c - services become one OTLP request that keeps every rule, and says what they did. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/otlp_check.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/pprof/otlp_example.h"
#include "tests/unit/unit_test.h"

enum { BUDGET = 8 << 20, MANY = 1000, REQUESTS_MAX = 64 };

static const struct otlp_limits unlimited;

static struct pprof *example_profile(const char *order)
{
    struct pprof *p;

    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    assert_int_equal(example_fill(p, order), PPROF_OK);
    return p;
}

static struct otlp *new_request(const struct otlp_limits *limits)
{
    struct otlp *otlp;

    assert_int_equal(otlp_new("pystrobe", "1.2", limits, &otlp), PPROF_OK);
    assert_int_equal(otlp_reset(otlp, example_id), PPROF_OK);
    return otlp;
}

/* Ends a request; gives it unpacked once the checker has passed it. */
static otlp_check_request *finish(struct otlp *otlp)
{
    otlp_check_request *request;
    struct err err = {""};
    struct buf out;

    buf_init(&out, BUDGET);
    assert_int_equal(example_finish(otlp, &out), PPROF_OK);
    request = otlp__export_profiles_service_request__unpack(NULL, out.size, out.data);
    assert_non_null(request);
    if (!otlp_check(request, &err))
        fail_msg("%s", err.text);
    buf_finish(&out);
    return request;
}

static void free_request(otlp_check_request *request)
{
    otlp__export_profiles_service_request__free_unpacked(request, NULL);
}

/* The request of one service. */
static otlp_check_request *request_of(const struct otlp_service *service)
{
    struct otlp *otlp = new_request(&unlimited);
    otlp_check_request *request;

    assert_int_equal(example_request(otlp, service), PPROF_OK);
    request = finish(otlp);
    otlp_free(otlp);
    return request;
}

static const char *string(const otlp_check_request *r, int32_t index)
{
    return r->dictionary->string_table[index];
}

static const Otlp__Profile *profile_at(const otlp_check_request *r, size_t resource, size_t profile)
{
    return r->resource_profiles[resource]->scope_profiles[0]->profiles[profile];
}

static int64_t total_of(const Otlp__Profile *profile)
{
    int64_t total = 0;
    size_t i;

    for (i = 0; i < profile->n_samples; i++)
        total += profile->samples[i]->values[0];
    return total;
}

/* Names from the leaf on, with blanks between. */
static void stack_names(const otlp_check_request *r, const Otlp__Sample *sample, char out[256])
{
    const Otlp__Stack *stack = r->dictionary->stack_table[sample->stack_index];
    const Otlp__Location *location;
    size_t i, used = 0;

    out[0] = '\0';
    for (i = 0; i < stack->n_location_indices; i++) {
        location = r->dictionary->location_table[stack->location_indices[i]];
        used += (size_t)snprintf(
            out + used, 256 - used, "%s%s:%d", i ? " " : "",
            string(
                r,
                r->dictionary->function_table[location->lines[0]->function_index]->name_strindex),
            (int)location->lines[0]->line);
    }
}

static void a_service_becomes_a_profile_a_type_cpu_first(void **state)
{
    struct pprof *p = example_profile("012");
    const struct otlp_service service = example_service(p);
    otlp_check_request *r = request_of(&service);
    const Otlp__Profile *cpu = profile_at(r, 0, 0), *wall = profile_at(r, 0, 1);

    (void)state;
    assert_int_equal(r->n_resource_profiles, 1);
    assert_int_equal(r->resource_profiles[0]->scope_profiles[0]->n_profiles, 2);
    assert_string_equal(r->resource_profiles[0]->scope_profiles[0]->scope->name, "pystrobe");
    assert_string_equal(string(r, cpu->sample_type->type_strindex), "samples");
    assert_string_equal(string(r, cpu->sample_type->unit_strindex), "count");
    assert_string_equal(string(r, cpu->period_type->type_strindex), "cpu");
    assert_int_equal(cpu->period, 1000);
    assert_int_equal(total_of(cpu) * cpu->period, pprof_total(p, EXAMPLE_CPU));
    assert_int_equal(cpu->n_samples, 2); /* idle used none */
    assert_string_equal(string(r, wall->sample_type->type_strindex), "wall");
    assert_int_equal(total_of(wall), pprof_total(p, EXAMPLE_WALL));
    assert_int_equal(wall->n_samples, 3);
    assert_int_equal(wall->time_unix_nano, 1700000000000000000);
    assert_int_equal(wall->duration_nano, 60000000);
    free_request(r);
    pprof_free(p);
}

static void stacks_are_leaf_first_frames_are_of_python(void **state)
{
    struct pprof *p = example_profile("1");
    const struct otlp_service service = example_service(p);
    otlp_check_request *r = request_of(&service);
    const Otlp__Location *location = r->dictionary->location_table[1];
    const Otlp__KeyValueAndUnit *type;
    char names[256];

    (void)state;
    stack_names(r, profile_at(r, 0, 0)->samples[0], names);
    assert_string_equal(names, "fib:22 fib:22 work:12 <module>:40");
    assert_int_equal(location->n_attribute_indices, 1);
    type = r->dictionary->attribute_table[location->attribute_indices[0]];
    assert_string_equal(string(r, type->key_strindex), "profile.frame.type");
    assert_string_equal(type->value->string_value, "cpython");
    free_request(r);
    pprof_free(p);
}

/* A profile of one sample with these labels. */
static struct pprof *labelled_profile(const struct pprof_label *labels, size_t count)
{
    const int64_t values[EXAMPLE_TYPES] = {1, 1000, 1000};
    struct pprof *p = example_profile("");
    uint32_t number;

    assert_int_equal(pprof_function(p, "f", "f.py", 1, &number), PPROF_OK);
    assert_int_equal(pprof_location(p, number, 2, 0, &number), PPROF_OK);
    assert_int_equal(pprof_stack(p, &number, 1, &number), PPROF_OK);
    assert_int_equal(pprof_row(p, number, labels, count, &number), PPROF_OK);
    pprof_add(p, number, values);
    return p;
}

/* An attribute of the only sample. */
static const Otlp__KeyValueAndUnit *attribute_at(const otlp_check_request *r, size_t i)
{
    const Otlp__Sample *sample = profile_at(r, 0, 0)->samples[0];

    assert_in_range(i + 1, 1, sample->n_attribute_indices);
    return r->dictionary->attribute_table[sample->attribute_indices[i]];
}

static void labels_become_attributes_under_their_names_there(void **state)
{
    static const struct pprof_label labels[] = {
        {"thread id", NULL, 77, NULL}, {"thread name", "Main", 0, NULL}, {"bytes", NULL, 5, "By"}};
    static const char *const keys[] = {"service.name", "bytes", "thread.id", "thread.name"};
    struct pprof *p = labelled_profile(labels, 3);
    const struct otlp_service service = example_service(p);
    otlp_check_request *r = request_of(&service);
    size_t i;

    (void)state;
    assert_int_equal(profile_at(r, 0, 0)->samples[0]->n_attribute_indices, 4);
    for (i = 0; i < 4; i++)
        assert_string_equal(string(r, attribute_at(r, i)->key_strindex), keys[i]);
    assert_string_equal(string(r, attribute_at(r, 1)->unit_strindex), "By");
    assert_int_equal(attribute_at(r, 2)->value->int_value, 77);
    free_request(r);
    pprof_free(p);
}

/* Else a profile would have two services, or a list of attributes one key twice. */
static void a_label_called_service_name_gives_way_to_the_service(void **state)
{
    static const struct pprof_label labels[] = {{"a", "1", 0, NULL},
                                                {"service.name", "other", 0, NULL}};
    struct pprof *p = labelled_profile(labels, 2);
    const struct otlp_service service = example_service(p);
    otlp_check_request *r = request_of(&service);

    (void)state;
    assert_int_equal(profile_at(r, 0, 0)->samples[0]->n_attribute_indices, 2);
    assert_string_equal(attribute_at(r, 0)->value->string_value, "demo");
    assert_string_equal(attribute_at(r, 1)->value->string_value, "1");
    free_request(r);
    pprof_free(p);
}

static void all_labels_that_a_row_can_have_fit_beside_the_service(void **state)
{
    static const char names[] = "abcdefghijklmnopqrstuvwxyz";
    struct pprof_label labels[PPROF_LABELS_MAX];
    struct otlp_service service;
    otlp_check_request *r;
    struct pprof *p;
    size_t i;

    (void)state;
    for (i = 0; i < PPROF_LABELS_MAX; i++)
        labels[i] = (struct pprof_label){names + i, "x", 0, NULL};
    p = labelled_profile(labels, PPROF_LABELS_MAX);
    service = example_service(p);
    r = request_of(&service);
    assert_int_equal(profile_at(r, 0, 0)->samples[0]->n_attribute_indices, PPROF_LABELS_MAX + 1);
    free_request(r);
    pprof_free(p);
}

static void samples_have_no_service_if_the_resource_has_none(void **state)
{
    static const struct pprof_label label = {"service.name", "mine", 0, NULL};
    struct pprof *p = labelled_profile(&label, 1);
    struct otlp_service service = example_service(p);
    otlp_check_request *r;

    (void)state;
    service.attribute_count = 0;
    r = request_of(&service);
    assert_int_equal(profile_at(r, 0, 0)->samples[0]->n_attribute_indices, 1);
    assert_string_equal(attribute_at(r, 0)->value->string_value, "mine");
    free_request(r);
    pprof_free(p);
}

static void a_service_whose_name_is_a_number_has_it_on_samples(void **state)
{
    static const struct otlp_attribute number = {"service.name", NULL, 7};
    struct pprof *p = example_profile("012");
    struct otlp_service service = example_service(p);
    otlp_check_request *r;

    (void)state;
    service.attributes = &number;
    service.attribute_count = 1;
    r = request_of(&service);
    assert_int_equal(attribute_at(r, 0)->value->int_value, 7);
    free_request(r);
    pprof_free(p);
}

/* How many there are in the dictionary. */
static size_t names_of_services(const otlp_check_request *r)
{
    size_t count = 0;

    for (size_t i = 0; i < r->dictionary->n_attribute_table; i++)
        count +=
            strcmp(string(r, r->dictionary->attribute_table[i]->key_strindex), "service.name") == 0;
    return count;
}

static void two_services_share_one_dictionary(void **state)
{
    struct pprof *p = example_profile("012"), *q = example_profile("10");
    struct otlp_service first = example_service(p), second = example_service(q);
    static const struct otlp_attribute other[] = {{"service.name", "other", 0}};
    struct otlp *otlp = new_request(&unlimited);
    otlp_check_request *r;

    (void)state;
    second.attributes = other;
    second.attribute_count = 1;
    assert_int_equal(example_request(otlp, &first), PPROF_OK);
    assert_int_equal(example_request(otlp, &second), PPROF_OK);
    r = finish(otlp); /* the checker would see a stack twice */
    assert_int_equal(otlp_profile_count(otlp), 4);
    assert_int_equal(r->n_resource_profiles, 2);
    assert_int_equal(r->dictionary->n_stack_table, 1 + 3);
    assert_int_equal(names_of_services(r), 2);
    assert_string_equal(r->resource_profiles[1]->resource->attributes[0]->value->string_value,
                        "other");
    assert_memory_not_equal(profile_at(r, 0, 0)->profile_id.data,
                            profile_at(r, 1, 0)->profile_id.data, OTLP_ID_SIZE);
    free_request(r);
    otlp_free(otlp);
    pprof_free(p);
    pprof_free(q);
}

static void the_order_of_adding_does_not_matter(void **state)
{
    struct pprof *p = example_profile("012"), *q = example_profile("201");
    struct otlp_service services[2] = {example_service(p), example_service(q)};
    struct buf out[2];
    struct otlp *otlp;
    size_t i;

    (void)state;
    for (i = 0; i < 2; i++) {
        buf_init(&out[i], BUDGET);
        otlp = new_request(&unlimited);
        assert_int_equal(example_request(otlp, &services[i]), PPROF_OK);
        assert_int_equal(example_finish(otlp, &out[i]), PPROF_OK);
        otlp_free(otlp);
    }
    assert_int_equal(out[0].size, out[1].size);
    assert_memory_equal(out[0].data, out[1].data, out[0].size);
    buf_finish(&out[0]);
    buf_finish(&out[1]);
    pprof_free(p);
    pprof_free(q);
}

/* `count` stacks of one frame that differ by line, each of `cpu` nanoseconds. */
static struct pprof *wide_profile(uint32_t count, int64_t cpu)
{
    struct pprof *p = example_profile("");
    const int64_t values[EXAMPLE_TYPES] = {1, 7, cpu};
    uint32_t function, location, stack, row, i;

    assert_int_equal(pprof_function(p, "f", "f.py", 1, &function), PPROF_OK);
    for (i = 1; i <= count; i++) {
        assert_int_equal(pprof_location(p, function, (int32_t)i, 0, &location), PPROF_OK);
        assert_int_equal(pprof_stack(p, &location, 1, &stack), PPROF_OK);
        assert_int_equal(pprof_row(p, stack, NULL, 0, &row), PPROF_OK);
        pprof_add(p, row, values);
    }
    return p;
}

static void rounding_keeps_the_total(void **state)
{
    struct pprof *p = wide_profile(MANY, 1333);
    const struct otlp_service service = example_service(p);
    otlp_check_request *r = request_of(&service);

    (void)state;
    assert_int_equal(total_of(profile_at(r, 0, 0)), MANY * 1333 / 1000);
    free_request(r);
    pprof_free(p);
}

static void what_is_under_half_a_unit_leaves_nothing_behind(void **state)
{
    struct pprof *p = wide_profile(1, 499);
    struct otlp_service service = example_service(p);
    struct otlp *otlp = new_request(&unlimited);

    (void)state;
    service.type_count = 1;
    assert_int_equal(example_request(otlp, &service), PPROF_OK);
    assert_int_equal(otlp_profile_count(otlp), 0);
    otlp_free(otlp);
    pprof_free(p);
}

/* Sends a service in as many requests as it takes; gives how many, and both totals. */
static size_t split(const struct otlp_service *service, const struct otlp_limits *limits,
                    int64_t totals[2])
{
    struct otlp *otlp = new_request(limits);
    struct otlp_rows *rows;
    otlp_check_request *r;
    size_t requests = 0;

    totals[0] = totals[1] = 0;
    assert_int_equal(otlp_rows_new(service, &rows), PPROF_OK);
    while (otlp_rows_left(rows) > 0) {
        assert_in_range(requests, 0, REQUESTS_MAX);
        assert_int_equal(otlp_add(otlp, rows), PPROF_OK);
        r = finish(otlp);
        totals[0] += total_of(profile_at(r, 0, 0));
        totals[1] += total_of(profile_at(r, 0, 1));
        free_request(r);
        assert_int_equal(otlp_reset(otlp, example_id), PPROF_OK);
        requests++;
    }
    otlp_rows_free(rows);
    otlp_free(otlp);
    return requests;
}

static void a_service_that_is_too_large_is_split_and_sums_up(void **state)
{
    static const struct otlp_limits limits[] = {
        {.request_bytes = 4000}, {.pprof_bytes = 10000}, {.samples = 100}};
    struct pprof *p = wide_profile(MANY, 1333);
    const struct otlp_service service = example_service(p);
    int64_t totals[2];
    size_t i;

    (void)state;
    for (i = 0; i < 3; i++) {
        assert_in_range(split(&service, &limits[i], totals), 5, REQUESTS_MAX);
        assert_int_equal(totals[0], MANY * 1333 / 1000);
        assert_int_equal(totals[1], MANY * 7);
    }
    pprof_free(p);
}

static void a_full_request_takes_no_more_but_an_empty_one_a_row(void **state)
{
    static const struct otlp_limits tiny = {.request_bytes = 1};
    struct pprof *p = wide_profile(3, 1000);
    const struct otlp_service service = example_service(p);
    struct otlp *otlp = new_request(&tiny);
    struct otlp_rows *rows;

    (void)state;
    assert_int_equal(otlp_rows_new(&service, &rows), PPROF_OK);
    assert_int_equal(otlp_add(otlp, rows), PPROF_OK);
    assert_int_equal(otlp_rows_left(rows), 2);
    assert_int_equal(otlp_add(otlp, rows), PPROF_OK);
    assert_int_equal(otlp_rows_left(rows), 2);
    free_request(finish(otlp));
    otlp_rows_free(rows);
    otlp_free(otlp);
    pprof_free(p);
}

/* What a target may bring: no names, names that are no text, keys that clash, lines below 0. */
static struct pprof *odd_profile(void)
{
    static const struct pprof_label labels[] = {{"pid", NULL, 1, NULL},
                                                {"process.pid", NULL, 2, "By"},
                                                {"", "no key", 0, NULL},
                                                {"key", "a\xff", 0, NULL},
                                                {"key", "b", 0, NULL}};
    struct pprof *p = example_profile("");
    const int64_t values[EXAMPLE_TYPES] = {1, 1000, -5};
    static const char *const names[] = {"", "\xff\xfe", "f"};
    uint32_t function, frames[3], row, stack;
    size_t i;

    for (i = 0; i < 3; i++) {
        assert_int_equal(pprof_function(p, names[i], i == 2 ? "f.py" : "", -3, &function),
                         PPROF_OK);
        assert_int_equal(pprof_location(p, function, -7, -1, &frames[i]), PPROF_OK);
    }
    for (i = 0; i <= 3; i++) {
        assert_int_equal(pprof_stack(p, frames, i, &stack), PPROF_OK);
        assert_int_equal(pprof_row(p, stack, labels, 5, &row), PPROF_OK);
        pprof_add(p, row, values);
        assert_int_equal(pprof_row(p, stack, labels, 4, &row), PPROF_OK);
        pprof_add(p, row, values);
    }
    return p;
}

static void odd_content_keeps_the_rules(void **state)
{
    static const struct otlp_attribute attributes[] = {
        {"service.name", "a\xff", 0}, {"service.name", "b", 0}, {"", "c", 0}, {"\xff", "d", 0}};
    struct pprof *p = odd_profile();
    struct otlp_service service = example_service(p);
    otlp_check_request *r;

    (void)state;
    service.attributes = attributes;
    service.attribute_count = 4;
    r = request_of(&service);
    assert_int_equal(r->resource_profiles[0]->resource->n_attributes, 2);
    assert_int_equal(r->resource_profiles[0]->scope_profiles[0]->n_profiles, 1);
    assert_int_equal(total_of(profile_at(r, 0, 0)), 8000);
    assert_int_equal(profile_at(r, 0, 0)->n_samples, 4); /* of two keys that clash one is left */
    free_request(r);
    pprof_free(p);
}

static void an_output_that_is_too_small_is_left_alone(void **state)
{
    struct pprof *p = example_profile("012");
    const struct otlp_service service = example_service(p);
    struct otlp *otlp = new_request(&unlimited);
    struct buf out;

    (void)state;
    buf_init(&out, 100);
    buf_add_str(&out, "x");
    assert_int_equal(example_request(otlp, &service), PPROF_OK);
    assert_int_equal(otlp_finish(otlp, &out), PPROF_FULL);
    assert_int_equal(out.size, 1);
    buf_finish(&out);
    otlp_free(otlp);
    pprof_free(p);
}

/* All that allocates. */
static enum pprof_rc whole_way(const struct otlp_service *service, struct buf *out)
{
    struct otlp *otlp = NULL;
    enum pprof_rc rc = otlp_new("pystrobe", "1.2", &unlimited, &otlp);

    if (rc == PPROF_OK)
        rc = example_request(otlp, service);
    if (rc == PPROF_OK)
        rc = example_finish(otlp, out);
    otlp_free(otlp);
    return rc;
}

static void each_failing_allocation_is_out_of_memory(void **state)
{
    struct pprof *p = example_profile("012");
    const struct otlp_service service = example_service(p);
    enum pprof_rc rc = PPROF_NOMEM;
    struct err err = {""};
    struct buf out;
    unsigned long n;

    (void)state;
    for (n = 1; n < 200 && rc != PPROF_OK; n++) {
        buf_init(&out, BUDGET);
        alloc_fail_at(n);
        rc = whole_way(&service, &out);
        (void)alloc_fail_stop();
        assert_true(rc == PPROF_OK || rc == PPROF_NOMEM);
        if (rc == PPROF_OK && !otlp_check_bytes(out.data, out.size, &err))
            fail_msg("%s", err.text);
        buf_finish(&out);
    }
    assert_int_equal(rc, PPROF_OK); /* the last one asked for fewer than n */
    assert_true(n > 20);
    pprof_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_becomes_a_profile_a_type_cpu_first),
        cmocka_unit_test(stacks_are_leaf_first_frames_are_of_python),
        cmocka_unit_test(labels_become_attributes_under_their_names_there),
        cmocka_unit_test(a_label_called_service_name_gives_way_to_the_service),
        cmocka_unit_test(all_labels_that_a_row_can_have_fit_beside_the_service),
        cmocka_unit_test(samples_have_no_service_if_the_resource_has_none),
        cmocka_unit_test(a_service_whose_name_is_a_number_has_it_on_samples),
        cmocka_unit_test(two_services_share_one_dictionary),
        cmocka_unit_test(the_order_of_adding_does_not_matter),
        cmocka_unit_test(rounding_keeps_the_total),
        cmocka_unit_test(what_is_under_half_a_unit_leaves_nothing_behind),
        cmocka_unit_test(a_service_that_is_too_large_is_split_and_sums_up),
        cmocka_unit_test(a_full_request_takes_no_more_but_an_empty_one_a_row),
        cmocka_unit_test(odd_content_keeps_the_rules),
        cmocka_unit_test(an_output_that_is_too_small_is_left_alone),
        cmocka_unit_test(each_failing_allocation_is_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
