/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - hands over what a profile has gained; see feed.h. */
#include "pprof/feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/protobuf_wire.h"
#include "pprof/feed_record.h"
#include "pprof/profile.h"

/* Small negative numbers stay small. */
static void put_signed(struct buf *out, int64_t number)
{
    wire_put_varint(out, (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0));
}

static void begin_feed_record(struct buf *out, enum feed_record kind)
{
    const unsigned char byte = (unsigned char)kind;

    buf_add(out, &byte, 1);
}

static void put_sized(struct buf *out, const void *bytes, size_t size)
{
    wire_put_varint(out, size);
    buf_add(out, bytes, size);
}

static void put_text(const struct pprof *profile, uint32_t number, struct buf *out)
{
    const struct table_entry *entry = &profile->texts.entries[number];

    begin_feed_record(out, FEED_TEXT);
    put_sized(out, entry->key, entry->size);
}

static void give_binary(struct pprof_delta_encoder *encoder, const struct pprof *profile,
                        struct buf *out)
{
    if (encoder->binary || !profile->binary[0])
        return;
    encoder->binary = true;
    begin_feed_record(out, FEED_BINARY);
    put_sized(out, profile->binary, strlen(profile->binary));
    put_sized(out, profile->build_id, strlen(profile->build_id));
}

static void put_function(const struct pprof *profile, uint32_t number, struct buf *out)
{
    const struct function_key *key = function_at(profile, number);

    begin_feed_record(out, FEED_FUNCTION);
    wire_put_varint(out, key->name);
    wire_put_varint(out, key->file);
    put_signed(out, key->start_line);
}

static void put_feed_location(const struct pprof *profile, uint32_t number, struct buf *out)
{
    const struct location_key *key = location_at(profile, number);

    begin_feed_record(out, FEED_LOCATION);
    wire_put_varint(out, key->function);
    put_signed(out, key->line);
    put_signed(out, key->column);
}

static void put_stack(const struct pprof *profile, uint32_t number, struct buf *out)
{
    size_t i, depth;
    const uint32_t *locations = stack_at(profile, number, &depth);

    begin_feed_record(out, FEED_STACK);
    wire_put_varint(out, depth);
    for (i = 0; i < depth; i++)
        wire_put_varint(out, locations[i]);
}

/* A number, or 0 for none. */
static void put_optional(struct buf *out, uint32_t text)
{
    wire_put_varint(out, text == NO_TEXT ? 0 : (uint64_t)text + 1);
}

static void put_row(const struct pprof *profile, uint32_t number, struct buf *out)
{
    size_t i, count;
    const struct row_key *key = row_at(profile, number, &count);

    begin_feed_record(out, FEED_ROW);
    wire_put_varint(out, key->stack);
    wire_put_varint(out, count);
    for (i = 0; i < count; i++) {
        wire_put_varint(out, key->labels[i].key);
        put_optional(out, key->labels[i].str);
        put_optional(out, key->labels[i].unit);
        put_signed(out, label_number(&key->labels[i]));
    }
}

/* Gives what is new in one table; false: the piece is full. */
static bool give_table(const struct pprof *profile, const struct table *table, uint32_t *given,
                       void (*put_one)(const struct pprof *, uint32_t, struct buf *), size_t until,
                       struct buf *out)
{
    while (*given < table->count) {
        if (out->size >= until || out->failed)
            return false;
        put_one(profile, (*given)++, out);
    }
    return true;
}

static bool grow_encoder_values(struct pprof_delta_encoder *encoder, const struct pprof *profile)
{
    size_t row_bytes = profile->type_count * sizeof(*encoder->values);
    size_t before = encoder->capacity;

    if (!array_grow(&encoder->values, &encoder->capacity, profile->rows.count, row_bytes))
        return false;
    if (encoder->capacity > before)
        memset((char *)encoder->values + before * row_bytes, 0,
               (encoder->capacity - before) * row_bytes);
    return true;
}

/* What a value grew by; a sum that has reached its end grows no more. */
static int64_t grown(int64_t before, int64_t now)
{
    return (int64_t)((uint64_t)now - (uint64_t)before);
}

static void give_values(struct pprof_delta_encoder *encoder, const struct pprof *profile,
                        uint32_t row, struct buf *out)
{
    const int64_t *now = values_at(profile, row);
    int64_t *before = encoder->values + row * profile->type_count;

    if (memcmp(now, before, profile->type_count * sizeof(*now)) == 0)
        return;
    begin_feed_record(out, FEED_VALUES);
    wire_put_varint(out, row);
    for (size_t i = 0; i < profile->type_count; i++)
        put_signed(out, grown(before[i], now[i]));
    memcpy(before, now, profile->type_count * sizeof(*now));
}

enum pprof_rc pprof_give(struct pprof_delta_encoder *encoder, const struct pprof *profile,
                         size_t size, struct buf *out, bool *more)
{
    size_t until = out->size + size;
    bool done;

    if (!grow_encoder_values(encoder, profile))
        return PPROF_NOMEM;
    give_binary(encoder, profile, out);
    done =
        give_table(profile, &profile->texts, &encoder->texts, put_text, until, out) &&
        give_table(profile, &profile->functions, &encoder->functions, put_function, until, out) &&
        give_table(profile, &profile->locations, &encoder->locations, put_feed_location, until,
                   out) &&
        give_table(profile, &profile->stacks, &encoder->stacks, put_stack, until, out) &&
        give_table(profile, &profile->rows, &encoder->rows, put_row, until, out);
    while (done && encoder->next < profile->rows.count) {
        done = out->size < until && !out->failed;
        if (done)
            give_values(encoder, profile, encoder->next++, out);
    }
    if (done)
        encoder->next = 0;
    *more = !done;
    return buf_failed(out) ? PPROF_NOMEM : PPROF_OK;
}

void pprof_delta_encoder_reset(struct pprof_delta_encoder *encoder)
{
    free(encoder->values); /* other rows come, which begin at nothing */
    *encoder = (struct pprof_delta_encoder){0};
}

void pprof_delta_encoder_finish(struct pprof_delta_encoder *encoder)
{
    pprof_delta_encoder_reset(encoder);
}
