/* SPDX-License-Identifier: Apache-2.0 */
/* test_encode.c - what is written, in which order, and that content alone decides. */
#include <stdlib.h>
#include <string.h>

#include "pprof/gzip.h"
#include "pprof/profile.h"
#include "pprof/profile.pb-c.h"
#include "tests/unit/pprof/example.h"
#include "tests/unit/unit_test.h"

enum { BUDGET = 1 << 20 };

typedef Perftools__Profiles__Profile message;

static void encode_order(const char *order, const struct pprof_meta *meta, struct buf *out)
{
    struct pprof *p;

    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    assert_int_equal(example_fill(p, order), PPROF_OK);
    buf_init(out, BUDGET);
    assert_int_equal(pprof_encode(p, meta, out), PPROF_OK);
    pprof_free(p);
}

/* The example as a reader sees it; ends with perftools__profiles__profile__free_unpacked. */
static message *read_back(const char *order, const struct pprof_meta *meta)
{
    struct buf packed, plain;
    message *m;

    encode_order(order, meta, &packed);
    buf_init(&plain, BUDGET);
    assert_int_equal(gzip_unpack(packed.data, packed.size, &plain, NULL), PPROF_OK);
    m = perftools__profiles__profile__unpack(NULL, plain.size, plain.data);
    assert_non_null(m);
    buf_finish(&packed);
    buf_finish(&plain);
    return m;
}

static void done(message *m)
{
    perftools__profiles__profile__free_unpacked(m, NULL);
}

static void equal_content_gives_equal_bytes_in_any_order(void **state)
{
    static const char *const orders[] = {"021", "102", "120", "201", "210"};
    struct buf first, other;
    size_t i;

    (void)state;
    encode_order("012", &example_meta, &first);
    for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        encode_order(orders[i], &example_meta, &other);
        assert_int_equal(other.size, first.size);
        assert_memory_equal(other.data, first.data, first.size);
        buf_finish(&other);
    }
    buf_finish(&first);
}

static void other_content_gives_other_bytes(void **state)
{
    struct buf first, other;

    (void)state;
    encode_order("012", &example_meta, &first);
    encode_order("0122", &example_meta, &other);

    assert_true(first.size != other.size || memcmp(first.data, other.data, first.size) != 0);
    buf_finish(&first);
    buf_finish(&other);
}

/* Adds a row of the example's location 0, repeated: a stack of any depth. The empty one has a
 * label. */
static void add_depth(struct pprof *p, size_t depth)
{
    const uint32_t frames[4] = {0};
    const int64_t values[EXAMPLE_TYPES] = {1, 1, 1};
    const struct pprof_label label = {"tid", NULL, 1, NULL};
    uint32_t stack, row;

    assert_int_equal(pprof_stack(p, frames, depth, &stack), PPROF_OK);
    assert_int_equal(pprof_row(p, stack, &label, depth == 0, &row), PPROF_OK);
    pprof_add(p, row, values);
}

static void stacks_of_any_depth_have_their_order_the_empty_one_too(void **state)
{
    static const size_t depths[2][5] = {{0, 1, 2, 3, 4}, {4, 2, 0, 3, 1}};
    struct buf out[2];
    struct pprof *p;
    size_t i, j;

    (void)state;
    for (i = 0; i < 2; i++) {
        assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
        assert_int_equal(example_fill(p, "0"), PPROF_OK);
        for (j = 0; j < 5; j++)
            add_depth(p, depths[i][j]);
        buf_init(&out[i], BUDGET);
        assert_int_equal(pprof_encode(p, &example_meta, &out[i]), PPROF_OK);
        pprof_free(p);
    }

    assert_int_equal(out[0].size, out[1].size);
    assert_memory_equal(out[0].data, out[1].data, out[0].size);
    buf_finish(&out[0]);
    buf_finish(&out[1]);
}

static void the_gzip_header_has_no_time_and_no_name(void **state)
{
    static const unsigned char header[8] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0};
    struct buf out;

    (void)state;
    encode_order("012", &example_meta, &out);

    assert_memory_equal(out.data, header, sizeof(header));
    buf_finish(&out);
}

static void ids_count_from_one_in_table_order(void **state)
{
    message *m = read_back("210", &example_meta);
    size_t i;

    (void)state;
    assert_int_equal(m->n_function, 4);
    assert_int_equal(m->n_location, 6);
    for (i = 0; i < m->n_function; i++)
        assert_int_equal(m->function[i]->id, i + 1);
    for (i = 0; i < m->n_location; i++)
        assert_int_equal(m->location[i]->id, i + 1);
    done(m);
}

static void the_string_table_begins_empty_and_has_nothing_twice(void **state)
{
    message *m = read_back("012", &example_meta);
    size_t i;

    (void)state;
    assert_string_equal(m->string_table[0], "");
    for (i = 1; i < m->n_string_table; i++)
        assert_true(strcmp(m->string_table[i - 1], m->string_table[i]) < 0);
    done(m);
}

static void the_binary_is_the_mapping_of_all_locations(void **state)
{
    message *m = read_back("012", &example_meta);
    const Perftools__Profiles__Mapping *mapping = m->mapping[0];
    size_t i;

    (void)state;
    assert_int_equal(m->n_mapping, 1);
    assert_int_equal(mapping->id, 1);
    assert_string_equal(m->string_table[mapping->filename], EXAMPLE_BINARY);
    assert_string_equal(m->string_table[mapping->build_id], EXAMPLE_BUILD_ID);
    assert_true(mapping->has_functions && mapping->has_filenames && mapping->has_line_numbers);
    assert_false(mapping->has_inline_frames);
    for (i = 0; i < m->n_location; i++)
        assert_int_equal(m->location[i]->mapping_id, 1);
    done(m);
}

static void a_binary_that_is_not_known_has_no_name(void **state)
{
    message *m = read_back("", &example_meta);

    (void)state;
    assert_int_equal(m->n_mapping, 1);
    assert_int_equal(m->mapping[0]->filename, 0);
    assert_int_equal(m->mapping[0]->build_id, 0);
    assert_true(m->mapping[0]->has_functions);
    done(m);
}

static void system_names_stay_empty(void **state)
{
    message *m = read_back("012", &example_meta);
    size_t i;

    (void)state;
    for (i = 0; i < m->n_function; i++)
        assert_int_equal(m->function[i]->system_name, 0);
    done(m);
}

static const char *frame_name(const message *m, const Perftools__Profiles__Sample *s, size_t i)
{
    const Perftools__Profiles__Location *location = m->location[s->location_id[i] - 1];

    return m->string_table[m->function[location->line[0]->function_id - 1]->name];
}

/* The sample whose leaf has this name. */
static const Perftools__Profiles__Sample *sample_of(const message *m, const char *leaf)
{
    size_t i;

    for (i = 0; i < m->n_sample; i++) {
        if (strcmp(frame_name(m, m->sample[i], 0), leaf) == 0)
            return m->sample[i];
    }
    fail_msg("no sample of %s", leaf);
    return NULL;
}

static void a_sample_has_its_stack_values_and_labels(void **state)
{
    message *m = read_back("012", &example_meta);
    const Perftools__Profiles__Sample *s = sample_of(m, "fib");
    const Perftools__Profiles__Line *line = m->location[s->location_id[0] - 1]->line[0];

    (void)state;
    assert_int_equal(m->n_sample, EXAMPLE_ROWS);
    assert_int_equal(s->n_location_id, 4);
    assert_string_equal(frame_name(m, s, 1), "fib");
    assert_string_equal(frame_name(m, s, 2), "work");
    assert_string_equal(frame_name(m, s, 3), "<module>");
    assert_int_equal(line->line, 22);
    assert_int_equal(line->column, 9);
    assert_int_equal(m->function[line->function_id - 1]->start_line, 20);
    assert_int_equal(s->n_value, 3);
    assert_int_equal(s->value[2], 30000000);
    assert_int_equal(s->n_label, 2);
    assert_string_equal(m->string_table[s->label[0]->key], "thread");
    assert_string_equal(m->string_table[s->label[0]->str], "Main");
    assert_string_equal(m->string_table[s->label[1]->key], "tid");
    assert_int_equal(s->label[1]->num, 7);
    done(m);
}

static void what_stands_around_the_samples_is_there(void **state)
{
    message *m = read_back("012", &example_meta);

    (void)state;
    assert_int_equal(m->time_nanos, 1700000000000000000);
    assert_int_equal(m->duration_nanos, 60000000);
    assert_int_equal(m->period, 10000000);
    assert_string_equal(m->string_table[m->period_type->type], "wall");
    assert_string_equal(m->string_table[m->period_type->unit], "nanoseconds");
    assert_string_equal(m->string_table[m->default_sample_type], "cpu");
    assert_string_equal(m->string_table[m->doc_url], "https://example.org/profile");
    assert_int_equal(m->n_comment, 2);
    assert_string_equal(m->string_table[m->comment[0]], "pid 42");
    assert_string_equal(m->string_table[m->comment[1]], "made by a test");
    done(m);
}

static void what_is_not_given_is_not_there(void **state)
{
    const struct pprof_meta bare = {0};
    message *m = read_back("0", &bare);

    (void)state;
    assert_null(m->period_type);
    assert_int_equal(m->default_sample_type, 0);
    assert_int_equal(m->doc_url, 0);
    assert_int_equal(m->n_comment, 0);
    done(m);
}

static void a_chosen_type_leaves_out_other_values_and_rows_without_it(void **state)
{
    struct pprof_meta meta = example_meta;
    message *m;
    size_t i;

    (void)state;
    meta.types = 1U << 2;
    m = read_back("012", &meta);
    assert_int_equal(m->n_sample_type, 1);
    assert_string_equal(m->string_table[m->sample_type[0]->type], "cpu");
    assert_int_equal(m->n_sample, 2); /* "idle" has no cpu */
    assert_int_equal(sample_of(m, "work")->n_value, 1);
    assert_int_equal(sample_of(m, "work")->value[0], 15000000);
    assert_int_equal(m->n_function, 3);
    for (i = 0; i < m->n_string_table; i++)
        assert_string_not_equal(m->string_table[i], "idle");
    done(m);
}

static void broken_texts_are_repaired_everywhere(void **state)
{
    const char *const comments[] = {"c\xff"};
    const struct pprof_meta meta = {.comments = comments, .comment_count = 1, .doc_url = "\xc3("};
    message *m = read_back("0", &meta);

    (void)state;
    assert_string_equal(m->string_table[m->comment[0]], "c\xef\xbf\xbd");
    assert_string_equal(m->string_table[m->doc_url], "\xef\xbf\xbd(");
    done(m);
}

static void an_empty_profile_is_a_profile(void **state)
{
    message *m = read_back("", &example_meta);

    (void)state;
    assert_int_equal(m->n_sample, 0);
    assert_int_equal(m->n_sample_type, EXAMPLE_TYPES);
    assert_int_equal(m->n_function, 0);
    done(m);
}

static void a_buffer_too_small_is_full_and_keeps_its_content(void **state)
{
    struct pprof *p;
    struct buf out;

    (void)state;
    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    assert_int_equal(example_fill(p, "012"), PPROF_OK);
    buf_init(&out, 100);
    buf_add_str(&out, "before");

    assert_int_equal(pprof_encode(p, &example_meta, &out), PPROF_FULL);
    assert_int_equal(out.size, 6);
    assert_memory_equal(out.data, "before", 6);
    buf_finish(&out);
    pprof_free(p);
}

static void the_deepest_stack_is_written_whole(void **state)
{
    static uint32_t frames[PPROF_DEPTH_MAX];
    const int64_t one[] = {1};
    struct pprof_decoded decoded;
    struct pprof_top *top;
    struct pprof *p;
    struct buf out;
    uint32_t function, stack, row;
    size_t i, count;

    (void)state;
    assert_int_equal(pprof_new(example_types, 1, 16 * BUDGET, &p), PPROF_OK);
    assert_int_equal(pprof_function(p, "deep", "d.py", 1, &function), PPROF_OK);
    for (i = 0; i < PPROF_DEPTH_MAX; i++)
        assert_int_equal(pprof_location(p, function, (int32_t)i + 1, 0, &frames[i]), PPROF_OK);
    assert_int_equal(pprof_stack(p, frames, PPROF_DEPTH_MAX, &stack), PPROF_OK);
    assert_int_equal(pprof_row(p, stack, NULL, 0, &row), PPROF_OK);
    pprof_add(p, row, one);
    buf_init(&out, BUDGET);
    assert_int_equal(pprof_encode(p, &example_meta, &out), PPROF_OK);

    assert_int_equal(pprof_decode(out.data, out.size, 16 * BUDGET, &decoded, NULL), PPROF_OK);
    assert_int_equal(pprof_top(decoded.profile, 0, &top, &count), PPROF_OK);
    assert_int_equal(count, 1);
    assert_int_equal(top[0].cum, 1);
    free(top);
    pprof_free(decoded.profile);
    buf_finish(&out);
    pprof_free(p);
}

/* The text of the only label of a decoded profile's only row. */
static void assert_label_decoded(const struct buf *packed, const char *wanted)
{
    struct pprof_decoded decoded;
    const struct row_key *row;
    size_t label_count;

    assert_int_equal(pprof_decode(packed->data, packed->size, BUDGET, &decoded, NULL), PPROF_OK);
    row = row_at(decoded.profile, 0, &label_count);
    assert_int_equal(label_count, 1);
    assert_string_equal(text_at(decoded.profile, row->labels[0].str), wanted);
    pprof_free(decoded.profile);
}

/* The text of the only label of a profile's only row, as it is in the file, and as pystrobe reads
 * that. */
static void assert_label_reads(const char *text, const char *wanted, const char *decoded)
{
    const struct pprof_label label = {"thread name", text, 0, NULL};
    const int64_t values[EXAMPLE_TYPES] = {1, 1, 1};
    struct buf packed, plain;
    uint32_t stack, row;
    struct pprof *p;
    message *m;

    assert_int_equal(pprof_new(example_types, EXAMPLE_TYPES, BUDGET, &p), PPROF_OK);
    assert_int_equal(pprof_stack(p, NULL, 0, &stack), PPROF_OK);
    assert_int_equal(pprof_row(p, stack, &label, 1, &row), PPROF_OK);
    pprof_add(p, row, values);
    buf_init(&packed, BUDGET);
    buf_init(&plain, BUDGET);
    assert_int_equal(pprof_encode(p, &example_meta, &packed), PPROF_OK);
    assert_int_equal(gzip_unpack(packed.data, packed.size, &plain, NULL), PPROF_OK);
    m = perftools__profiles__profile__unpack(NULL, plain.size, plain.data);
    assert_non_null(m);

    assert_string_equal(m->string_table[m->sample[0]->label[0]->str], wanted);
    assert_label_decoded(&packed, decoded);

    done(m);
    buf_finish(&packed);
    buf_finish(&plain);
    pprof_free(p);
}

static void quotes_in_labels_are_escaped_once_and_read_without(void **state)
{
    (void)state;
    assert_label_reads("worker \"a\"", "worker \\\"a\\\"", "worker \"a\"");
    assert_label_reads("worker \\\"a\\\"", "worker \\\"a\\\"", "worker \"a\"");
    assert_label_reads("C:\\a", "C:\\a", "C:\\a");
    assert_label_reads("C:\\", "C:\\\\", "C:\\");
    assert_label_reads("C:\\\\", "C:\\\\", "C:\\");
    assert_label_reads("a\\\\\"b", "a\\\\\\\"b", "a\\\\\"b");
    assert_label_reads("plain", "plain", "plain");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_content_gives_equal_bytes_in_any_order),
        cmocka_unit_test(other_content_gives_other_bytes),
        cmocka_unit_test(stacks_of_any_depth_have_their_order_the_empty_one_too),
        cmocka_unit_test(the_gzip_header_has_no_time_and_no_name),
        cmocka_unit_test(ids_count_from_one_in_table_order),
        cmocka_unit_test(the_string_table_begins_empty_and_has_nothing_twice),
        cmocka_unit_test(the_binary_is_the_mapping_of_all_locations),
        cmocka_unit_test(a_binary_that_is_not_known_has_no_name),
        cmocka_unit_test(system_names_stay_empty),
        cmocka_unit_test(a_sample_has_its_stack_values_and_labels),
        cmocka_unit_test(what_stands_around_the_samples_is_there),
        cmocka_unit_test(what_is_not_given_is_not_there),
        cmocka_unit_test(a_chosen_type_leaves_out_other_values_and_rows_without_it),
        cmocka_unit_test(broken_texts_are_repaired_everywhere),
        cmocka_unit_test(an_empty_profile_is_a_profile),
        cmocka_unit_test(a_buffer_too_small_is_full_and_keeps_its_content),
        cmocka_unit_test(the_deepest_stack_is_written_whole),
        cmocka_unit_test(quotes_in_labels_are_escaped_once_and_read_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
