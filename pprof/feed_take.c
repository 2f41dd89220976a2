/* SPDX-License-Identifier: Apache-2.0 */
/* feed_take.c - takes what another process hands over; see feed.h. Trusts none of it. */
#include <stdlib.h>

#include "base/array.h"
#include "base/protobuf_wire.h"
#include "pprof/feed.h"
#include "pprof/feed_record.h"
#include "pprof/profile.h"

/* Stands for what `into` had no room for. */
#define LOST UINT32_MAX

enum { NUMBERS_MAX = 1 << 22 };

struct taking {
    struct pprof_delta_decoder *decoder;
    struct pprof *into;
    struct wire wire;
    uint32_t overflow;
};

/* The next of their numbers stands for `ours`. */
static enum pprof_rc map_next_number(struct pprof_numbers *numbers, uint32_t ours)
{
    if (numbers->count == NUMBERS_MAX)
        return PPROF_BAD;
    if (!ARRAY_RESERVE(numbers->ours, numbers->capacity, numbers->count + 1))
        return PPROF_NOMEM;
    numbers->ours[numbers->count++] = ours;
    return PPROF_OK;
}

/* Ends the taking of a thing: it has our number, or there was no room for it. */
static enum pprof_rc record_taken_number(struct pprof_numbers *numbers, enum pprof_rc rc,
                                         uint32_t ours)
{
    if (rc == PPROF_BAD || rc == PPROF_NOMEM)
        return rc;
    return map_next_number(numbers, rc == PPROF_OK ? ours : LOST);
}

static bool read_signed(struct wire *wire, int64_t *out)
{
    uint64_t raw;

    if (!wire_varint(wire, &raw))
        return false;
    *out = (int64_t)(raw >> 1 ^ (raw & 1 ? UINT64_MAX : 0));
    return true;
}

static bool read_int32(struct wire *wire, int32_t *out)
{
    int64_t value;

    if (!read_signed(wire, &value) || value < INT32_MIN || value > INT32_MAX)
        return false;
    *out = (int32_t)value;
    return true;
}

/* Reads one of their numbers, as ours, LOST for what there was no room for. */
static bool read_known(struct wire *wire, const struct pprof_numbers *numbers, uint32_t *out)
{
    uint64_t theirs;

    if (!wire_varint(wire, &theirs) || theirs >= numbers->count)
        return false;
    *out = numbers->ours[theirs];
    return true;
}

/* Lends the bytes of a text. */
static bool read_sized(struct wire *wire, const char **out, size_t *out_size)
{
    uint64_t size;

    if (!wire_varint(wire, &size) || size > (uint64_t)(wire->end - wire->at))
        return false;
    *out = (const char *)wire->at;
    *out_size = (size_t)size;
    wire->at += size;
    return true;
}

static enum pprof_rc take_feed_text(struct taking *t)
{
    const char *text;
    size_t size;
    uint32_t ours = LOST;
    enum pprof_rc rc;

    if (!read_sized(&t->wire, &text, &size))
        return PPROF_BAD;
    rc = profile_text(t->into, text, size, &ours);
    return record_taken_number(&t->decoder->texts, rc, ours);
}

static enum pprof_rc take_function(struct taking *t)
{
    struct function_key key;
    uint32_t ours = LOST;
    enum pprof_rc rc = PPROF_FULL;

    if (!read_known(&t->wire, &t->decoder->texts, &key.name) ||
        !read_known(&t->wire, &t->decoder->texts, &key.file) ||
        !read_int32(&t->wire, &key.start_line))
        return PPROF_BAD;
    if (key.name != LOST && key.file != LOST)
        rc = table_intern(&t->into->functions, &key, sizeof(key), &ours);
    return record_taken_number(&t->decoder->functions, rc, ours);
}

static enum pprof_rc take_location(struct taking *t)
{
    struct location_key key;
    uint32_t ours = LOST;
    enum pprof_rc rc = PPROF_FULL;

    if (!read_known(&t->wire, &t->decoder->functions, &key.function) ||
        !read_int32(&t->wire, &key.line) || !read_int32(&t->wire, &key.column))
        return PPROF_BAD;
    if (key.function != LOST)
        rc = pprof_location(t->into, key.function, key.line, key.column, &ours);
    return record_taken_number(&t->decoder->locations, rc, ours);
}

static enum pprof_rc take_feed_stack(struct taking *t)
{
    uint32_t locations[PPROF_DEPTH_MAX], ours = LOST;
    enum pprof_rc rc = PPROF_OK;
    uint64_t depth;

    if (!wire_varint(&t->wire, &depth) || depth > PPROF_DEPTH_MAX)
        return PPROF_BAD;
    for (size_t i = 0; i < depth; i++) {
        if (!read_known(&t->wire, &t->decoder->locations, &locations[i]))
            return PPROF_BAD;
        rc = locations[i] == LOST ? PPROF_FULL : rc;
    }
    if (rc == PPROF_OK)
        rc = pprof_stack(t->into, locations, (size_t)depth, &ours);
    return record_taken_number(&t->decoder->stacks, rc, ours);
}

/* A text that may be none. False: these are no bytes of ours. *full: it was lost. */
static bool read_optional(struct taking *t, uint32_t *out, bool *full)
{
    uint64_t theirs;

    if (!wire_varint(&t->wire, &theirs) || theirs > t->decoder->texts.count)
        return false;
    *out = theirs == 0 ? NO_TEXT : t->decoder->texts.ours[theirs - 1];
    *full |= theirs != 0 && *out == LOST;
    return true;
}

static bool read_feed_label(struct taking *t, struct label_key *out, bool *full)
{
    int64_t value;

    if (!read_known(&t->wire, &t->decoder->texts, &out->key) ||
        !read_optional(t, &out->str, full) || !read_optional(t, &out->unit, full) ||
        !read_signed(&t->wire, &value))
        return false;
    *full |= out->key == LOST;
    label_set_number(out, value);
    return true;
}

static enum pprof_rc take_row(struct taking *t)
{
    struct row_key row;
    uint32_t ours = LOST;
    enum pprof_rc rc = PPROF_FULL;
    uint64_t count;
    bool full;

    if (!read_known(&t->wire, &t->decoder->stacks, &row.stack) || !wire_varint(&t->wire, &count) ||
        count > PPROF_LABELS_MAX)
        return PPROF_BAD;
    full = row.stack == LOST;
    for (size_t i = 0; i < count; i++)
        if (!read_feed_label(t, &row.labels[i], &full))
            return PPROF_BAD;
    if (!full)
        rc = profile_row(t->into, &row, (size_t)count, &ours);
    return record_taken_number(&t->decoder->rows, rc, ours);
}

static enum pprof_rc take_values(struct taking *t)
{
    int64_t values[PPROF_TYPES_MAX];
    uint32_t row;

    if (!read_known(&t->wire, &t->decoder->rows, &row))
        return PPROF_BAD;
    for (size_t i = 0; i < t->into->type_count; i++)
        if (!read_signed(&t->wire, &values[i]))
            return PPROF_BAD;
    t->decoder->overflow += row == LOST;
    pprof_add(t->into, row == LOST ? t->overflow : row, values);
    return PPROF_OK;
}

static enum pprof_rc take_binary(struct taking *t)
{
    const char *file, *build_id;
    size_t file_size, build_id_size;

    if (!read_sized(&t->wire, &file, &file_size) ||
        !read_sized(&t->wire, &build_id, &build_id_size))
        return PPROF_BAD;
    profile_set_binary(t->into, file, file_size, build_id, build_id_size);
    return PPROF_OK;
}

enum pprof_rc pprof_take(struct pprof_delta_decoder *decoder, struct pprof *into, uint32_t overflow,
                         const void *bytes, size_t size)
{
    static enum pprof_rc (*const take[])(struct taking *) = {
        [FEED_TEXT] = take_feed_text,    [FEED_FUNCTION] = take_function,
        [FEED_LOCATION] = take_location, [FEED_STACK] = take_feed_stack,
        [FEED_ROW] = take_row,           [FEED_VALUES] = take_values,
        [FEED_BINARY] = take_binary};
    struct taking t = {.decoder = decoder, .into = into, .overflow = overflow};
    enum pprof_rc rc = PPROF_OK;
    uint8_t kind;

    t.wire = (struct wire){bytes, size ? (const uint8_t *)bytes + size : bytes};
    while (rc == PPROF_OK && t.wire.at < t.wire.end) {
        kind = *t.wire.at++;
        if (kind >= sizeof(take) / sizeof(take[0]) || !take[kind])
            return PPROF_BAD;
        rc = take[kind](&t);
    }
    return rc;
}

static void reset_number_map(struct pprof_numbers *numbers)
{
    numbers->count = 0;
}

void pprof_delta_decoder_reset(struct pprof_delta_decoder *decoder)
{
    reset_number_map(&decoder->texts);
    reset_number_map(&decoder->functions);
    reset_number_map(&decoder->locations);
    reset_number_map(&decoder->stacks);
    reset_number_map(&decoder->rows);
}

void pprof_delta_decoder_finish(struct pprof_delta_decoder *decoder)
{
    free(decoder->texts.ours);
    free(decoder->functions.ours);
    free(decoder->locations.ours);
    free(decoder->stacks.ours);
    free(decoder->rows.ours);
    *decoder = (struct pprof_delta_decoder){0};
}
