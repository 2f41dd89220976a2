/* SPDX-License-Identifier: Apache-2.0 */
/* decode_parts.c - takes in the single messages of a pprof file; see decode.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pprof/decode.h"
#include "pprof/profile.pb-c.h"

enum { TYPE_NAME_MAX = 1024 };

enum pprof_rc decode_text_at(struct decoder *d, int64_t index, struct decode_text **out)
{
    if (index < 0 || (uint64_t)index >= d->text_count) {
        err_set(d->err, "string %" PRId64 " of %zu", index, d->text_count);
        return PPROF_BAD;
    }
    *out = &d->texts[index];
    return PPROF_OK;
}

/* The profile's number of a text of the file. */
static enum pprof_rc text_number(struct decoder *d, int64_t index, uint32_t *out)
{
    struct decode_text *text;
    enum pprof_rc rc = decode_text_at(d, index, &text);

    if (rc == PPROF_OK && text->number == NO_TEXT)
        rc = profile_text(d->profile, text->bytes, text->size, &text->number);
    if (rc == PPROF_OK)
        *out = text->number;
    return rc;
}

/* A type's name with a NUL, for as long as the lists live. */
static enum pprof_rc type_name(struct decoder *d, int64_t index, const char **out)
{
    struct decode_text *text;
    enum pprof_rc rc = decode_text_at(d, index, &text);
    void *copy = NULL;

    if (rc == PPROF_OK && text->size > TYPE_NAME_MAX) {
        err_set(d->err, "its name has %u bytes, more than %d", text->size, TYPE_NAME_MAX);
        return PPROF_FULL;
    }
    if (rc == PPROF_OK)
        rc = table_alloc(&d->lists, text->size + (size_t)1, &copy);
    if (rc != PPROF_OK)
        return rc;
    memcpy(copy, text->bytes, text->size);
    ((char *)copy)[text->size] = '\0';
    *out = copy;
    return PPROF_OK;
}

enum pprof_rc decode_value_type(struct decoder *d, const void *message)
{
    const Perftools__Profiles__ValueType *type = message;
    enum pprof_rc rc = type_name(d, type->type, &d->types[d->type_count].type);

    if (rc == PPROF_OK)
        rc = type_name(d, type->unit, &d->types[d->type_count].unit);
    if (rc == PPROF_OK)
        d->type_count++;
    return rc;
}

enum pprof_rc decode_period_type(struct decoder *d, const void *message)
{
    const Perftools__Profiles__ValueType *type = message;
    struct decode_text *text;
    enum pprof_rc rc = decode_text_at(d, type->type, &text);

    return rc == PPROF_OK ? decode_text_at(d, type->unit, &text) : rc;
}

static enum pprof_rc decode_packed_comments(struct decoder *d, const struct wire_field *field)
{
    struct wire packed = {field->bytes, field->bytes + field->size};
    struct decode_text *text;
    enum pprof_rc rc = PPROF_OK;
    uint64_t index;

    while (packed.at < packed.end && rc == PPROF_OK) {
        if (!wire_varint(&packed, &index))
            return PPROF_BAD;
        rc = decode_text_at(d, (int64_t)index, &text);
    }
    return rc;
}

/* Comments are one number a field, or many in one. */
enum pprof_rc decode_comment(struct decoder *d, const void *wire_field)
{
    const struct wire_field *field = wire_field;
    struct decode_text *text;

    switch (field->type) {
    case WIRE_VARINT:
        return decode_text_at(d, (int64_t)field->value, &text);
    case WIRE_BYTES:
        return decode_packed_comments(d, field);
    case WIRE_FIXED64:
    case WIRE_FIXED32:
    default:
        return PPROF_BAD;
    }
}

/* Notes an id of the file; ids are not 0 and not there twice. */
static enum pprof_rc new_id(struct decoder *d, struct table *ids, uint64_t id)
{
    uint32_t place, before = ids->count;
    enum pprof_rc rc;

    if (id == 0) {
        err_set(d->err, "its id is 0");
        return PPROF_BAD;
    }
    rc = table_intern(ids, &id, sizeof(id), &place);
    if (rc == PPROF_OK && ids->count == before) {
        err_set(d->err, "its id %" PRIu64 " is there twice", id);
        return PPROF_BAD;
    }
    return rc;
}

enum pprof_rc decode_mapping(struct decoder *d, const void *message)
{
    const Perftools__Profiles__Mapping *mapping = message;
    struct decode_text *file, *build_id;
    enum pprof_rc rc = new_id(d, &d->mapping_ids, mapping->id);

    if (rc == PPROF_OK)
        rc = decode_text_at(d, mapping->build_id, &build_id);
    if (rc == PPROF_OK)
        rc = decode_text_at(d, mapping->filename, &file);
    if (rc != PPROF_OK)
        return rc;
    d->mapping_files[d->mapping_ids.count - 1] = mapping->filename;
    if (d->mapping_ids.count == 1) /* the main binary */
        profile_set_binary(d->profile, file->bytes, file->size, build_id->bytes, build_id->size);
    return PPROF_OK;
}

/* A line number as the profile has it: what does not fit is not a line. */
static int32_t line_number(int64_t line)
{
    return line < 0 || line > INT32_MAX ? 0 : (int32_t)line;
}

enum pprof_rc decode_function(struct decoder *d, const void *message)
{
    const Perftools__Profiles__Function *function = message;
    struct function_key key = {0};
    struct decode_text *text;
    enum pprof_rc rc = new_id(d, &d->function_ids, function->id);

    if (rc == PPROF_OK)
        rc = decode_text_at(d, function->system_name, &text);
    if (rc == PPROF_OK) /* some writers give the mangled name only */
        rc = text_number(d, function->name ? function->name : function->system_name, &key.name);
    if (rc == PPROF_OK)
        rc = text_number(d, function->filename, &key.file);
    key.start_line = line_number(function->start_line);
    if (rc != PPROF_OK)
        return rc;
    return table_intern(&d->profile->functions, &key, sizeof(key),
                        &d->functions[d->function_ids.count - 1]);
}

/* The frame of an address that no function is known for. */
static enum pprof_rc bare_frame(struct decoder *d, const Perftools__Profiles__Location *location,
                                uint32_t *out)
{
    struct function_key key = {0};
    uint32_t mapping, function;
    char name[32];
    int size = snprintf(name, sizeof(name), "0x%" PRIx64, location->address);
    enum pprof_rc rc = profile_text(d->profile, name, (size_t)size, &key.name);

    mapping = table_find(&d->mapping_ids, &location->mapping_id, sizeof(location->mapping_id));
    if (rc == PPROF_OK)
        rc = text_number(d, mapping == TABLE_NONE ? 0 : d->mapping_files[mapping], &key.file);
    if (rc == PPROF_OK)
        rc = table_intern(&d->profile->functions, &key, sizeof(key), &function);
    return rc == PPROF_OK ? pprof_location(d->profile, function, 0, 0, out) : rc;
}

static enum pprof_rc line_frame(struct decoder *d, const Perftools__Profiles__Line *line,
                                uint32_t *out)
{
    uint32_t place = table_find(&d->function_ids, &line->function_id, sizeof(line->function_id));

    if (place == TABLE_NONE) {
        err_set(d->err, "a line of function %" PRIu64 ", which is not there", line->function_id);
        return PPROF_BAD;
    }
    return pprof_location(d->profile, d->functions[place], line_number(line->line),
                          line_number(line->column), out);
}

enum pprof_rc decode_location(struct decoder *d, const void *message)
{
    const Perftools__Profiles__Location *location = message;
    void *frames = NULL;
    size_t i, count;
    enum pprof_rc rc;

    count = location->n_line ? location->n_line : 1;
    rc = new_id(d, &d->location_ids, location->id);
    if (rc == PPROF_OK)
        rc = table_alloc(&d->lists, count * sizeof(uint32_t), &frames);
    if (rc == PPROF_OK && location->n_line == 0)
        rc = bare_frame(d, location, frames);
    for (i = 0; i < location->n_line && rc == PPROF_OK; i++)
        rc = line_frame(d, location->line[i], (uint32_t *)frames + i);
    if (rc == PPROF_OK)
        d->locations[d->location_ids.count - 1] = (struct decode_location){frames, count};
    return rc;
}

static enum pprof_rc decode_sample_stack(struct decoder *d,
                                         const Perftools__Profiles__Sample *sample, uint32_t *out)
{
    const struct decode_location *location;
    size_t i, depth = 0;
    uint32_t place;

    for (i = 0; i < sample->n_location_id; i++) {
        place = table_find(&d->location_ids, &sample->location_id[i], sizeof(uint64_t));
        if (place == TABLE_NONE) {
            err_set(d->err, "location %" PRIu64 " is not there", sample->location_id[i]);
            return PPROF_BAD;
        }
        location = &d->locations[place];
        if (location->count > PPROF_DEPTH_MAX - depth) {
            err_set(d->err, "more than %d frames", PPROF_DEPTH_MAX);
            return PPROF_FULL;
        }
        memcpy(d->frames + depth, location->frames, location->count * sizeof(uint32_t));
        depth += location->count;
    }
    return pprof_stack(d->profile, d->frames, depth, out);
}

/* Copies a text without the backslash before each quote, and of two at the end; gives its size. */
static size_t unquote(char *out, const char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\' && i + 1 < size) { /* it and what follows are a pair */
            if (text[i + 1] != '"' && !(text[i + 1] == '\\' && i + 2 == size))
                out[used++] = '\\';
            i++;
        }
        out[used++] = text[i];
    }
    return used;
}

/* The profile's number of the text of a label: encode.c puts a backslash before each quote of it.
 */
static enum pprof_rc label_text_number(struct decoder *d, int64_t index, uint32_t *out)
{
    struct decode_text *text;
    enum pprof_rc rc = decode_text_at(d, index, &text);
    void *copy;

    if (rc != PPROF_OK || !memchr(text->bytes, '\\', text->size))
        return rc == PPROF_OK ? text_number(d, index, out) : rc;
    rc = table_alloc(&d->message, text->size, &copy);
    if (rc == PPROF_OK)
        rc = profile_text(d->profile, copy, unquote(copy, text->bytes, text->size), out);
    return rc;
}

/* Where a label has both a text and a number, the text counts, as for google/pprof. */
static enum pprof_rc decode_sample_label(struct decoder *d, const Perftools__Profiles__Label *label,
                                         struct label_key *out)
{
    enum pprof_rc rc = text_number(d, label->key, &out->key);

    out->str = NO_TEXT;
    out->unit = NO_TEXT;
    label_set_number(out, label->str ? 0 : label->num);
    if (rc == PPROF_OK && label->str)
        rc = label_text_number(d, label->str, &out->str);
    else if (rc == PPROF_OK && label->num_unit)
        rc = text_number(d, label->num_unit, &out->unit);
    return rc;
}

static enum pprof_rc read_row(struct decoder *d, const Perftools__Profiles__Sample *sample,
                              uint32_t *out)
{
    struct row_key row = {0};
    enum pprof_rc rc = decode_sample_stack(d, sample, &row.stack);

    if (rc == PPROF_OK && sample->n_label > PPROF_LABELS_MAX) {
        err_set(d->err, "%zu labels, more than %d", sample->n_label, PPROF_LABELS_MAX);
        return PPROF_FULL;
    }
    for (size_t i = 0; i < sample->n_label && rc == PPROF_OK; i++)
        rc = decode_sample_label(d, sample->label[i], &row.labels[i]);
    return rc == PPROF_OK ? profile_row(d->profile, &row, sample->n_label, out) : rc;
}

enum pprof_rc decode_sample(struct decoder *d, const void *message)
{
    const Perftools__Profiles__Sample *sample = message;
    uint32_t row;
    enum pprof_rc rc;

    if (sample->n_value != d->type_count) {
        err_set(d->err, "%zu values for %zu sample types", sample->n_value, d->type_count);
        return PPROF_BAD;
    }
    rc = read_row(d, sample, &row);
    if (rc == PPROF_OK)
        pprof_add(d->profile, row, sample->value);
    return rc;
}
