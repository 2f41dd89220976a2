/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.c - writes a profile as a gzip'd profile.proto.
 *
 * A protobuf message may be written in parts that are simply appended, so its samples,
 * locations and functions are written one after the other: no tree of the whole is ever built.
 */
#include <stdlib.h>
#include <string.h>

#include "base/protobuf_wire.h"
#include "pprof/gzip.h"
#include "pprof/line.h"
#include "pprof/order.h"
#include "pprof/profile.pb-c.h"

/* The fields that are written without protobuf-c, from pprof/profile.proto. */
enum {
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    LABEL_NUM = 3,
    LABEL_NUM_UNIT = 4,
    LOCATION_ID = 1,
    LOCATION_MAPPING_ID = 2,
    LOCATION_LINE = 4,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_FILENAME = 4,
    FUNCTION_START_LINE = 5
};

/* All locations are in the one mapping, the binary's: they have names already, as it says. A
 * Pyroscope has those without a mapping looked up at each query; google/pprof says that it misses
 * the file's name. */
enum { MAPPING_ID = 1 };

/* The texts around the samples: where each is in the encoder's list of them. */
enum {
    TEXT_TYPES = 0, /* name and unit of each in turn */
    TEXT_PERIOD = 2 * PPROF_TYPES_MAX,
    TEXT_DEFAULT_TYPE = TEXT_PERIOD + 2,
    TEXT_DOC_URL,
    TEXT_BINARY,
    TEXT_BUILD_ID,
    TEXT_COMMENTS,
    TEXT_COUNT = TEXT_COMMENTS + PPROF_COMMENTS_MAX
};

struct encoder {
    const struct pprof *profile;
    const struct pprof_meta *meta;
    uint32_t types;       /* a bit each */
    const uint32_t *rows; /* borrowed: those that are written; NULL: all */
    size_t row_count;
    size_t comment_count;
    struct order_text texts[TEXT_COUNT];
    struct order order;
    uint64_t *location_ids; /* of the sample that is being written; in the order's arena */
    struct buf plain;       /* owned: what is packed when it is whole */
};

static void write_part(struct encoder *e, Perftools__Profiles__Profile *part)
{
    wire_put_message(&e->plain, &part->base);
}

static void write_types(struct encoder *e)
{
    Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT, *types = &type;

    part.n_sample_type = 1;
    part.sample_type = &types;
    for (size_t i = 0; i < e->profile->type_count; i++) {
        if (!(e->types >> i & 1))
            continue;
        type.type = e->texts[TEXT_TYPES + 2 * i].id;
        type.unit = e->texts[TEXT_TYPES + 2 * i + 1].id;
        write_part(e, &part);
    }
}

static void write_label(struct encoder *e, const struct label_key *label)
{
    size_t before = e->plain.size;

    wire_put_number(&e->plain, LABEL_KEY, label->key);
    if (label->str != NO_TEXT)
        wire_put_number(&e->plain, LABEL_STR, label->str);
    else
        wire_put_number(&e->plain, LABEL_NUM, (uint64_t)label_number(label));
    if (label->unit != NO_TEXT)
        wire_put_number(&e->plain, LABEL_NUM_UNIT, label->unit);
    wire_wrap(&e->plain, SAMPLE_LABEL, before);
}

static void write_row(struct encoder *e, const struct order_row *row)
{
    uint64_t values[PPROF_TYPES_MAX];
    size_t i, count = 0, before = e->plain.size;

    for (i = 0; i < row->depth; i++)
        e->location_ids[i] = row->frames[i];
    for (i = 0; i < e->profile->type_count; i++) {
        if (e->types >> i & 1)
            values[count++] = (uint64_t)row->values[i];
    }
    wire_put_packed(&e->plain, SAMPLE_LOCATION_ID, e->location_ids, row->depth);
    wire_put_packed(&e->plain, SAMPLE_VALUE, values, count);
    for (i = 0; i < row->label_count; i++)
        write_label(e, &row->labels[i]);
    wire_wrap(&e->plain, PROFILE_SAMPLE, before);
}

static void write_locations(struct encoder *e)
{
    const struct location_key *key;
    size_t i, before;

    for (i = 0; i < e->order.location_count; i++) {
        key = &e->order.locations[i].as.location;
        before = e->plain.size;
        wire_put_number(&e->plain, LOCATION_ID, i + 1);
        wire_put_number(&e->plain, LOCATION_MAPPING_ID, MAPPING_ID);
        line_put(&e->plain, LOCATION_LINE, key->function, key->line, key->column);
        wire_wrap(&e->plain, PROFILE_LOCATION, before);
    }
}

/*
 * system_name stays 0: were it the name, `go tool pprof` would take it for a mangled
 * C++ name and show <module> as nothing.
 */
static void write_functions(struct encoder *e)
{
    const struct function_key *key;
    size_t i, before;

    for (i = 0; i < e->order.function_count; i++) {
        key = &e->order.functions[i].as.function;
        before = e->plain.size;
        wire_put_number(&e->plain, FUNCTION_ID, i + 1);
        wire_put_number(&e->plain, FUNCTION_NAME, key->name);
        wire_put_number(&e->plain, FUNCTION_FILENAME, key->file);
        wire_put_number(&e->plain, FUNCTION_START_LINE, (uint64_t)key->start_line);
        wire_wrap(&e->plain, PROFILE_FUNCTION, before);
    }
}

/* The string table and all that is there once. */
static void write_rest(struct encoder *e)
{
    Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__ValueType period_type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT, *mappings = &mapping;
    int64_t comments[PPROF_COMMENTS_MAX];

    mapping.id = MAPPING_ID;
    mapping.filename = e->texts[TEXT_BINARY].id;
    mapping.build_id = e->texts[TEXT_BUILD_ID].id;
    mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
    part.n_mapping = 1;
    part.mapping = &mappings;
    part.n_string_table = e->order.string_count;
    part.string_table = e->order.strings;
    part.time_nanos = e->meta->time_ns;
    part.duration_nanos = e->meta->duration_ns;
    period_type.type = e->texts[TEXT_PERIOD].id;
    period_type.unit = e->texts[TEXT_PERIOD + 1].id;
    if (e->meta->period_type.type)
        part.period_type = &period_type;
    part.period = e->meta->period;
    for (size_t i = 0; i < e->comment_count; i++)
        comments[i] = e->texts[TEXT_COMMENTS + i].id;
    part.n_comment = e->comment_count;
    part.comment = comments;
    part.default_sample_type = e->texts[TEXT_DEFAULT_TYPE].id;
    part.doc_url = e->texts[TEXT_DOC_URL].id;
    write_part(e, &part);
}

static void gather_texts(struct encoder *e)
{
    for (size_t i = 0; i < e->profile->type_count; i++) {
        if (!(e->types >> i & 1))
            continue;
        e->texts[TEXT_TYPES + 2 * i].text = e->profile->types[i].type;
        e->texts[TEXT_TYPES + 2 * i + 1].text = e->profile->types[i].unit;
    }
    e->texts[TEXT_PERIOD].text = e->meta->period_type.type;
    e->texts[TEXT_PERIOD + 1].text = e->meta->period_type.unit;
    e->texts[TEXT_DEFAULT_TYPE].text = e->meta->default_type;
    e->texts[TEXT_BINARY].text = e->profile->binary;
    e->texts[TEXT_BUILD_ID].text = e->profile->build_id;
    e->texts[TEXT_DOC_URL].text = e->meta->doc_url;
    for (size_t i = 0; i < e->comment_count; i++)
        e->texts[TEXT_COMMENTS + i].text = e->meta->comments[i];
}

/*
 * A text as it may stand between quotes in a file for graphviz: with a backslash before each quote
 * that has none, and behind a lone one at the end. What is so already stays: a profile that is read
 * and written again does not change. NULL: out of memory.
 */
static char *quoted(struct arena *arena, char *text)
{
    const size_t size = strlen(text);
    char *room = arena_alloc(arena, 2 * size + 2), *out = room;
    bool escaped = false;

    for (const char *at = text; room && *at; at++) {
        if (*at == '"' && !escaped)
            *out++ = '\\';
        escaped = *at == '\\' && !escaped;
        *out++ = *at;
    }
    if (!room)
        return NULL;
    if (escaped)
        *out++ = '\\';
    *out = '\0';
    return room;
}

/*
 * go tool pprof escapes names of functions for graphviz, but not the texts of labels
 * (internal/graph/dotgraph.go): a quote in the name of a thread ended its pictures and pages.
 */
static enum pprof_rc quote_labels(struct order *order)
{
    const struct order_row *row;
    char **text;

    for (row = order->rows; row < order->rows + order->row_count; row++)
        for (size_t i = 0; i < row->label_count; i++) {
            if (row->labels[i].str == NO_TEXT)
                continue;
            text = &order->strings[row->labels[i].str];
            if (strpbrk(*text, "\"\\") && !(*text = quoted(&order->arena, *text)))
                return PPROF_NOMEM;
        }
    return PPROF_OK;
}

static enum pprof_rc order_encoder_rows(struct encoder *e)
{
    enum pprof_rc rc = order_make_some(e->profile, e->types, e->rows, e->row_count, e->texts,
                                       TEXT_COUNT, &e->order);
    void *ids;

    if (rc != PPROF_OK)
        return rc;
    rc = table_alloc(&e->order.arena, e->order.depth_max * sizeof(*e->location_ids), &ids);
    if (rc != PPROF_OK)
        return rc;
    e->location_ids = ids;
    return quote_labels(&e->order);
}

static enum pprof_rc write_profile_message(struct encoder *e, struct buf *out)
{
    buf_reset(&e->plain);
    write_types(e);
    for (size_t i = 0; i < e->order.row_count; i++) {
        order_fetch(&e->order, i);
        write_row(e, &e->order.rows[i]);
    }
    write_locations(e);
    write_functions(e);
    write_rest(e);
    return buf_failed(&e->plain) ? PPROF_NOMEM : gzip_pack(e->plain.data, e->plain.size, out);
}

static void init(struct encoder *e, const struct pprof *profile, const struct pprof_meta *meta)
{
    *e = (struct encoder){.profile = profile, .meta = meta};
    buf_init(&e->plain, SIZE_MAX / 2); /* bounded by what the profile may hold */
    e->row_count = profile->rows.count;
    e->types = meta->types ? meta->types : UINT32_MAX;
    e->comment_count =
        meta->comment_count < PPROF_COMMENTS_MAX ? meta->comment_count : PPROF_COMMENTS_MAX;
    gather_texts(e);
}

/* Appends a profile of the rows that are set; `order` stays the caller's to finish. */
static enum pprof_rc encode_ordered_rows(struct encoder *e, struct buf *out)
{
    size_t before = out->size;
    enum pprof_rc rc = order_encoder_rows(e);

    if (rc == PPROF_OK)
        rc = write_profile_message(e, out);
    if (rc != PPROF_OK)
        out->size = before;
    return rc;
}

enum pprof_rc pprof_encode(const struct pprof *profile, const struct pprof_meta *meta,
                           struct buf *out)
{
    struct encoder e;
    enum pprof_rc rc;

    init(&e, profile, meta);
    rc = encode_ordered_rows(&e, out);
    order_finish(&e.order);
    buf_finish(&e.plain);
    return rc;
}

/* What is too large for one message, on its way into several. */
struct splitter {
    struct encoder e;
    const struct pprof_bounds *bounds;
    struct buf *out;
    void (*each)(void *ctx);
    void *ctx;
};

static bool fits(const struct splitter *s)
{
    return s->e.order.row_count <= s->bounds->rows && s->e.plain.size <= s->bounds->bytes;
}

/*
 * Encodes `count` of the `rows` as one part. When they are too many, *fitting says
 * how many are worth the next try, and nothing was given out.
 */
static enum pprof_rc give_part(struct splitter *s, const uint32_t *rows, size_t count,
                               size_t *fitting)
{
    enum pprof_rc rc;

    s->e.rows = rows;
    s->e.row_count = count;
    *fitting = count;
    s->out->size = 0;
    rc = encode_ordered_rows(&s->e, s->out);
    if (rc == PPROF_OK && count > 1 && !fits(s)) {
        *fitting = count / 2;
        if (*fitting > s->bounds->rows && s->bounds->rows > 0)
            *fitting = s->bounds->rows;
    } else if (rc == PPROF_OK) {
        s->each(s->ctx);
    }
    order_finish(&s->e.order);
    return rc;
}

/* The rows in the order in which they are written: neighbours share their callers. */
static uint32_t *sorted_rows(const struct order *order)
{
    uint32_t *rows = calloc(order->row_count + 1, sizeof(*rows));

    for (size_t i = 0; rows && i < order->row_count; i++)
        rows[i] = order->rows[i].number;
    return rows;
}

static enum pprof_rc give_parts(struct splitter *s, const uint32_t *rows, size_t count)
{
    size_t at = 0, size = count, fitting;
    enum pprof_rc rc = PPROF_OK;

    while (rc == PPROF_OK && at < count) {
        size = size < count - at ? size : count - at;
        rc = give_part(s, rows + at, size, &fitting);
        if (rc == PPROF_OK && fitting == size)
            at += size;
        size = fitting;
    }
    return rc;
}

enum pprof_rc pprof_encode_parts(const struct pprof *profile, const struct pprof_meta *meta,
                                 const struct pprof_bounds *bounds, struct buf *out,
                                 void (*each)(void *ctx), void *ctx)
{
    struct splitter s = {.bounds = bounds, .out = out, .each = each, .ctx = ctx};
    uint32_t *rows = NULL;
    enum pprof_rc rc;
    size_t count;
    bool one;

    init(&s.e, profile, meta);
    out->size = 0;
    rc = encode_ordered_rows(&s.e, out);
    count = s.e.order.row_count;
    one = rc == PPROF_OK && (count <= 1 || fits(&s));
    if (one)
        each(ctx);
    else if (rc == PPROF_OK)
        rows = sorted_rows(&s.e.order);
    order_finish(&s.e.order);
    if (!one && rc == PPROF_OK)
        rc = rows ? give_parts(&s, rows, count) : PPROF_NOMEM;
    free(rows);
    buf_finish(&s.e.plain);
    return rc;
}
