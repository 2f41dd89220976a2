/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c - reads a pprof file, whoever wrote it, and trusts nothing in it.
 *
 * The file is stepped through once a kind of field, in the order in which the
 * kinds need each other (texts, types, mappings, functions, locations, samples),
 * because writers may put them in any. protobuf-c unpacks one small message at a
 * time into an arena, so that a file of a few bytes cannot become a big tree.
 */
#include "pprof/decode.h"

#include <stdlib.h>
#include <string.h>

#include "pprof/gzip.h"
#include "pprof/profile.pb-c.h"

static enum pprof_rc decode_string(struct decoder *d, const void *wire_field)
{
    const struct wire_field *field = wire_field;

    if (field->size > UINT32_MAX)
        return PPROF_FULL;
    if (d->text_count == 0 && field->size != 0) {
        err_set(d->err, "the first entry of the string table is not empty");
        return PPROF_BAD;
    }
    d->texts[d->text_count++] = (struct decode_text){
        .bytes = (const char *)field->bytes, .size = (uint32_t)field->size, .number = NO_TEXT};
    return PPROF_OK;
}

#define MESSAGE(descriptor, take) \
    .type = WIRE_BYTES, .message = &perftools__profiles__##descriptor##__descriptor, .decode = take
#define NUMBER .type = WIRE_VARINT, .once = true

/* How the fields of Profile must look, and what takes them in if each_field is called for them. */
static const struct field_kind {
    const char *name; /* NULL: may look in any way */
    enum wire_type type;
    bool once; /* twice: the file is two profiles, one after the other */
    const ProtobufCMessageDescriptor *message; /* what `decode` gets; NULL: the wire_field */
    enum pprof_rc (*decode)(struct decoder *, const void *);
} kinds[FIELD_COUNT] = {
    [FIELD_SAMPLE_TYPE] = {.name = "sample type", MESSAGE(value_type, decode_value_type)},
    [FIELD_SAMPLE] = {.name = "sample", MESSAGE(sample, decode_sample)},
    [FIELD_MAPPING] = {.name = "mapping", MESSAGE(mapping, decode_mapping)},
    [FIELD_LOCATION] = {.name = "location", MESSAGE(location, decode_location)},
    [FIELD_FUNCTION] = {.name = "function", MESSAGE(function, decode_function)},
    [FIELD_STRING] = {.name = "string", .type = WIRE_BYTES, .decode = decode_string},
    [FIELD_DROP_FRAMES] = {.name = "drop_frames", NUMBER},
    [FIELD_KEEP_FRAMES] = {.name = "keep_frames", NUMBER},
    [FIELD_TIME] = {.name = "time_nanos", NUMBER},
    [FIELD_DURATION] = {.name = "duration_nanos", NUMBER},
    [FIELD_PERIOD_TYPE] = {.name = "period_type",
                           .once = true,
                           MESSAGE(value_type, decode_period_type)},
    [FIELD_PERIOD] = {.name = "period", NUMBER},
    [FIELD_COMMENT] = {.decode = decode_comment},
    [FIELD_DEFAULT_TYPE] = {.name = "default_sample_type", NUMBER},
    [FIELD_DOC_URL] = {.name = "doc_url", NUMBER},
};

static enum pprof_rc check_field(struct decoder *d, const struct wire_field *field)
{
    const struct field_kind *kind;

    if (field->number >= FIELD_COUNT)
        return PPROF_OK; /* of a newer version */
    kind = &kinds[field->number];
    d->counts[field->number]++;
    if (!kind->name)
        return PPROF_OK;
    if (field->type != kind->type) {
        err_set(d->err, "not a pprof file: %s has wire type %d", kind->name, (int)field->type);
        return PPROF_BAD;
    }
    if (kind->once && d->counts[field->number] > 1) {
        err_set(d->err, "%s is there twice: these are several profiles, one after the other",
                kind->name);
        return PPROF_BAD;
    }
    d->numbers[field->number] = (int64_t)field->value;
    return PPROF_OK;
}

/* Looks at all fields once, and counts them. */
static enum pprof_rc survey(struct decoder *d)
{
    struct wire wire = {d->bytes, d->bytes + d->size};
    struct wire_field field;
    enum wire_step step = wire_next(&wire, &field);
    enum pprof_rc rc = PPROF_OK;

    for (; step == WIRE_FIELD && rc == PPROF_OK; step = wire_next(&wire, &field))
        rc = check_field(d, &field);
    if (rc == PPROF_OK && step != WIRE_END) {
        err_set(d->err, "not a pprof file: broken or cut off before byte %zu",
                (size_t)(wire.at - d->bytes));
        return PPROF_BAD;
    }
    return rc;
}

/* protobuf-c's memory: an arena that is reset after each message. */
static void *message_alloc(void *ctx, size_t size)
{
    struct decoder *d = ctx;
    void *memory = NULL;
    enum pprof_rc rc = table_alloc(&d->message, size, &memory);

    if (rc != PPROF_OK)
        d->message_rc = rc;
    return memory;
}

static void message_free(void *ctx, void *memory)
{
    (void)ctx;
    (void)memory;
}

/* Gives a message that lives until the arena is reset; NULL: message_rc says why. */
static const void *unpack(struct decoder *d, const ProtobufCMessageDescriptor *descriptor,
                          const struct wire_field *field)
{
    ProtobufCAllocator allocator = {message_alloc, message_free, d};
    const void *message;

    d->message_rc = PPROF_OK;
    message = protobuf_c_message_unpack(descriptor, &allocator, field->size, field->bytes);
    if (!message && d->message_rc == PPROF_OK) {
        err_set(d->err, "it is damaged");
        d->message_rc = PPROF_BAD;
    }
    return message;
}

/* Decodes each field of a number. The file was surveyed. */
static enum pprof_rc each_field(struct decoder *d, enum decode_field number)
{
    const struct field_kind *kind = &kinds[number];
    struct wire wire = {d->bytes, d->bytes + d->size};
    struct wire_field field;
    const void *message;
    enum pprof_rc rc;
    size_t count = 0;

    while (wire_next(&wire, &field) == WIRE_FIELD) {
        if (field.number != (uint32_t)number)
            continue;
        arena_reset(&d->message);
        message = kind->message ? unpack(d, kind->message, &field) : &field;
        rc = message ? kind->decode(d, message) : d->message_rc;
        if (rc != PPROF_OK) {
            err_within(d->err, "%s %zu", kind->name ? kind->name : "comment", count);
            return rc;
        }
        count++;
    }
    return PPROF_OK;
}

static enum pprof_rc alloc_decode_list(struct decoder *d, enum decode_field field, size_t size,
                                       void **out)
{
    return table_alloc(&d->lists, d->counts[field] * size, out);
}

/* Makes the lists, as long as the survey found them to be. */
static enum pprof_rc make_lists(struct decoder *d)
{
    void *texts, *files, *functions, *locations, *frames;
    enum pprof_rc rc = alloc_decode_list(d, FIELD_STRING, sizeof(*d->texts), &texts);

    if (rc == PPROF_OK)
        rc = alloc_decode_list(d, FIELD_MAPPING, sizeof(*d->mapping_files), &files);
    if (rc == PPROF_OK)
        rc = alloc_decode_list(d, FIELD_FUNCTION, sizeof(*d->functions), &functions);
    if (rc == PPROF_OK)
        rc = alloc_decode_list(d, FIELD_LOCATION, sizeof(*d->locations), &locations);
    if (rc == PPROF_OK)
        rc = table_alloc(&d->lists, PPROF_DEPTH_MAX * sizeof(*d->frames), &frames);
    if (rc != PPROF_OK)
        return rc;
    d->texts = texts;
    d->mapping_files = files;
    d->functions = functions;
    d->locations = locations;
    d->frames = frames;
    return PPROF_OK;
}

static enum pprof_rc check_text_fields(struct decoder *d)
{
    static const enum decode_field fields[] = {FIELD_DROP_FRAMES, FIELD_KEEP_FRAMES,
                                               FIELD_DEFAULT_TYPE, FIELD_DOC_URL};
    struct decode_text *text;
    enum pprof_rc rc;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        rc = decode_text_at(d, d->numbers[fields[i]], &text);
        if (rc != PPROF_OK) {
            err_within(d->err, "%s", kinds[fields[i]].name);
            return rc;
        }
    }
    return PPROF_OK;
}

static enum pprof_rc read_profile_head(struct decoder *d)
{
    enum pprof_rc rc = survey(d);

    if (rc == PPROF_OK && d->counts[FIELD_STRING] == 0) {
        err_set(d->err, "not a pprof file: there is no string table");
        return PPROF_BAD;
    }
    if (rc == PPROF_OK && d->counts[FIELD_SAMPLE_TYPE] > PPROF_TYPES_MAX) {
        err_set(d->err, "%zu sample types, more than %d", d->counts[FIELD_SAMPLE_TYPE],
                PPROF_TYPES_MAX);
        return PPROF_FULL;
    }
    if (rc == PPROF_OK && d->counts[FIELD_SAMPLE_TYPE] == 0 && d->counts[FIELD_SAMPLE]) {
        err_set(d->err, "there are samples but no sample types");
        return PPROF_BAD;
    }
    if (rc == PPROF_OK)
        rc = make_lists(d);
    if (rc == PPROF_OK)
        rc = each_field(d, FIELD_STRING);
    if (rc == PPROF_OK)
        rc = check_text_fields(d);
    if (rc == PPROF_OK)
        rc = each_field(d, FIELD_COMMENT);
    if (rc == PPROF_OK)
        rc = each_field(d, FIELD_PERIOD_TYPE);
    return rc;
}

static enum pprof_rc read_samples(struct decoder *d, size_t max_bytes)
{
    enum pprof_rc rc = each_field(d, FIELD_SAMPLE_TYPE);

    if (rc == PPROF_OK)
        rc = pprof_new(d->types, d->type_count, max_bytes, &d->profile);
    if (rc == PPROF_OK)
        rc = each_field(d, FIELD_MAPPING);
    if (rc == PPROF_OK)
        rc = each_field(d, FIELD_FUNCTION);
    if (rc == PPROF_OK)
        rc = each_field(d, FIELD_LOCATION);
    if (rc == PPROF_OK)
        rc = each_field(d, FIELD_SAMPLE);
    return rc;
}

static void move_decoded_profile(struct decoder *d, struct pprof_decoded *out)
{
    *out = (struct pprof_decoded){.profile = d->profile,
                                  .type_count = d->type_count,
                                  .time_ns = d->numbers[FIELD_TIME],
                                  .duration_ns = d->numbers[FIELD_DURATION],
                                  .period = d->numbers[FIELD_PERIOD]};
    memcpy(out->types, d->profile->types, sizeof(out->types));
    d->profile = NULL;
}

static enum pprof_rc decode_plain(const uint8_t *bytes, size_t size, size_t max_bytes,
                                  struct pprof_decoded *out, struct err *err)
{
    struct decoder d = {.bytes = bytes, .size = size, .err = err};
    enum pprof_rc rc;

    arena_init(&d.lists, max_bytes);
    arena_init(&d.message, max_bytes);
    table_init(&d.mapping_ids, &d.lists, (uint64_t)(uintptr_t)bytes);
    table_init(&d.function_ids, &d.lists, (uint64_t)(uintptr_t)bytes);
    table_init(&d.location_ids, &d.lists, (uint64_t)(uintptr_t)bytes);
    rc = read_profile_head(&d);
    if (rc == PPROF_OK)
        rc = read_samples(&d, max_bytes);
    if (rc == PPROF_OK)
        move_decoded_profile(&d, out);
    pprof_free(d.profile);
    table_finish(&d.mapping_ids);
    table_finish(&d.function_ids);
    table_finish(&d.location_ids);
    arena_finish(&d.lists);
    arena_finish(&d.message);
    return rc;
}

enum pprof_rc pprof_decode(const void *bytes, size_t size, size_t max_bytes,
                           struct pprof_decoded *out, struct err *err)
{
    enum pprof_rc rc = PPROF_OK;
    struct err why = {{0}};
    struct buf plain;

    buf_init(&plain, max_bytes);
    if (gzip_is(bytes, size)) {
        rc = gzip_unpack(bytes, size, &plain, &why);
        bytes = plain.data ? plain.data : bytes;
        size = plain.size;
    }
    if (rc == PPROF_OK && size > max_bytes)
        rc = PPROF_FULL;
    if (rc == PPROF_OK)
        rc = decode_plain(bytes, size, max_bytes, out, &why);
    buf_finish(&plain);
    if (rc != PPROF_OK) /* what runs full or out of memory deep down has no text of its own */
        err_set(err, "%s", why.text[0] ? why.text : pprof_rc_text(rc));
    return rc;
}
