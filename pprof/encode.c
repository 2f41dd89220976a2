/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.c - writes a profile as a gzip'd profile.proto.
 *
 * A protobuf message may be written in parts that are simply appended, so what
 * goes to protobuf-c is one small Profile after another, each with one sample or
 * one function: no tree of the whole is ever built.
 */
#include "pprof/gzip.h"
#include "pprof/order.h"
#include "pprof/profile.pb-c.h"

/* The texts around the samples: where each is in the encoder's list of them. */
enum {
    TEXT_TYPES = 0, /* name and unit of each in turn */
    TEXT_PERIOD = 2 * PPROF_TYPES_MAX,
    TEXT_DEFAULT_TYPE = TEXT_PERIOD + 2,
    TEXT_DOC_URL,
    TEXT_COMMENTS,
    TEXT_COUNT = TEXT_COMMENTS + PPROF_COMMENTS_MAX
};

struct encoder {
    const struct pprof *profile;
    const struct pprof_meta *meta;
    uint32_t types; /* a bit each */
    size_t comment_count;
    struct order_text texts[TEXT_COUNT];
    struct order order;
    uint64_t *location_ids; /* of the sample that is being written; in the order's arena */
    struct gzip_packer packer;
};

static void write_part(struct encoder *e, Perftools__Profiles__Profile *part)
{
    (void)protobuf_c_message_pack_to_buffer(&part->base, &e->packer.base);
}

static void write_types(struct encoder *e)
{
    Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT, *types = &type;
    size_t i;

    part.n_sample_type = 1;
    part.sample_type = &types;
    for (i = 0; i < e->profile->type_count; i++) {
        if (!(e->types >> i & 1))
            continue;
        type.type = e->texts[TEXT_TYPES + 2 * i].id;
        type.unit = e->texts[TEXT_TYPES + 2 * i + 1].id;
        write_part(e, &part);
    }
}

static void fill_label(const struct label_key *key, Perftools__Profiles__Label *label)
{
    *label = (Perftools__Profiles__Label)PERFTOOLS__PROFILES__LABEL__INIT;
    label->key = key->key;
    if (key->str != NO_TEXT)
        label->str = key->str;
    else
        label->num = label_number(key);
    if (key->unit != NO_TEXT)
        label->num_unit = key->unit;
}

static void write_row(struct encoder *e, const struct order_row *row)
{
    Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT, *samples = &sample;
    Perftools__Profiles__Label labels[PPROF_LABELS_MAX], *label_list[PPROF_LABELS_MAX];
    int64_t values[PPROF_TYPES_MAX];
    size_t i;

    part.n_sample = 1;
    part.sample = &samples;
    for (i = 0; i < row->depth; i++)
        e->location_ids[i] = row->frames[i];
    sample.n_location_id = row->depth;
    sample.location_id = e->location_ids;
    for (i = 0; i < e->profile->type_count; i++) {
        if (e->types >> i & 1)
            values[sample.n_value++] = row->values[i];
    }
    sample.value = values;
    for (i = 0; i < row->label_count; i++) {
        fill_label(&row->labels[i], &labels[i]);
        label_list[i] = &labels[i];
    }
    sample.n_label = row->label_count;
    sample.label = label_list;
    write_part(e, &part);
}

/* mapping_id stays 0: a frame of Python is in no mapped file. */
static void write_locations(struct encoder *e)
{
    Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT,
                                  *locations = &location;
    Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT, *lines = &line;
    const struct location_key *key;
    size_t i;

    part.n_location = 1;
    part.location = &locations;
    location.n_line = 1;
    location.line = &lines;
    for (i = 0; i < e->order.location_count; i++) {
        key = &e->order.locations[i].as.location;
        location.id = i + 1;
        line.function_id = key->function;
        line.line = key->line;
        line.column = key->column;
        write_part(e, &part);
    }
}

/*
 * system_name stays 0: were it the name, `go tool pprof` would take it for a mangled
 * C++ name and show <module> as nothing.
 */
static void write_functions(struct encoder *e)
{
    Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT,
                                  *functions = &function;
    const struct function_key *key;
    size_t i;

    part.n_function = 1;
    part.function = &functions;
    for (i = 0; i < e->order.function_count; i++) {
        key = &e->order.functions[i].as.function;
        function.id = i + 1;
        function.name = key->name;
        function.filename = key->file;
        function.start_line = key->start_line;
        write_part(e, &part);
    }
}

/* The string table and all that is there once. */
static void write_rest(struct encoder *e)
{
    Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__ValueType period_type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    int64_t comments[PPROF_COMMENTS_MAX];
    size_t i;

    part.n_string_table = e->order.string_count;
    part.string_table = e->order.strings;
    part.time_nanos = e->meta->time_ns;
    part.duration_nanos = e->meta->duration_ns;
    period_type.type = e->texts[TEXT_PERIOD].id;
    period_type.unit = e->texts[TEXT_PERIOD + 1].id;
    if (e->meta->period_type.type)
        part.period_type = &period_type;
    part.period = e->meta->period;
    for (i = 0; i < e->comment_count; i++)
        comments[i] = e->texts[TEXT_COMMENTS + i].id;
    part.n_comment = e->comment_count;
    part.comment = comments;
    part.default_sample_type = e->texts[TEXT_DEFAULT_TYPE].id;
    part.doc_url = e->texts[TEXT_DOC_URL].id;
    write_part(e, &part);
}

static void gather_texts(struct encoder *e)
{
    size_t i;

    for (i = 0; i < e->profile->type_count; i++) {
        if (!(e->types >> i & 1))
            continue;
        e->texts[TEXT_TYPES + 2 * i].text = e->profile->types[i].type;
        e->texts[TEXT_TYPES + 2 * i + 1].text = e->profile->types[i].unit;
    }
    e->texts[TEXT_PERIOD].text = e->meta->period_type.type;
    e->texts[TEXT_PERIOD + 1].text = e->meta->period_type.unit;
    e->texts[TEXT_DEFAULT_TYPE].text = e->meta->default_type;
    e->texts[TEXT_DOC_URL].text = e->meta->doc_url;
    for (i = 0; i < e->comment_count; i++)
        e->texts[TEXT_COMMENTS + i].text = e->meta->comments[i];
}

static enum pprof_rc put_in_order(struct encoder *e)
{
    enum pprof_rc rc = order_make(e->profile, e->types, e->texts, TEXT_COUNT, &e->order);
    void *ids;

    if (rc != PPROF_OK)
        return rc;
    rc = table_alloc(&e->order.arena, e->order.depth_max * sizeof(*e->location_ids), &ids);
    if (rc == PPROF_OK)
        e->location_ids = ids;
    return rc;
}

static enum pprof_rc write_all(struct encoder *e, struct buf *out)
{
    enum pprof_rc rc = gzip_begin(&e->packer, out);
    size_t i;

    if (rc != PPROF_OK)
        return rc;
    write_types(e);
    for (i = 0; i < e->order.row_count; i++)
        write_row(e, &e->order.rows[i]);
    write_locations(e);
    write_functions(e);
    write_rest(e);
    return gzip_end(&e->packer);
}

enum pprof_rc pprof_encode(const struct pprof *profile, const struct pprof_meta *meta,
                           struct buf *out)
{
    struct encoder e = {.profile = profile, .meta = meta};
    size_t before = out->size;
    enum pprof_rc rc;

    e.types = meta->types ? meta->types : UINT32_MAX;
    e.comment_count =
        meta->comment_count < PPROF_COMMENTS_MAX ? meta->comment_count : PPROF_COMMENTS_MAX;
    gather_texts(&e);
    rc = put_in_order(&e);
    if (rc == PPROF_OK)
        rc = write_all(&e, out);
    if (rc != PPROF_OK)
        out->size = before;
    order_finish(&e.order);
    return rc;
}
