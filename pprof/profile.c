/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - gathers weighted stacks; see profile.h for what it keeps. */
#include "pprof/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { TEXT_MAX = 1 << 20, ROWS_FIRST = 64 };

static const char *const texts_of_rc[] = {
#define PPROF_TEXT(name, text) [PPROF_##name] = text,
    PPROF_OUTCOMES(PPROF_TEXT)
#undef PPROF_TEXT
};

const char *pprof_rc_text(enum pprof_rc rc)
{
    return (size_t)rc < sizeof(texts_of_rc) / sizeof(texts_of_rc[0]) ? texts_of_rc[rc]
                                                                     : "unknown outcome";
}

static void init_tables(struct pprof *profile)
{
    /* Where the heap lies is what somebody who chooses the names cannot know. */
    uint64_t seed = (uint64_t)(uintptr_t)profile;

    table_init(&profile->texts, &profile->arena, seed);
    table_init(&profile->functions, &profile->arena, seed);
    table_init(&profile->locations, &profile->arena, seed);
    table_init(&profile->stacks, &profile->arena, seed);
    table_init(&profile->rows, &profile->arena, seed);
}

/* Keeps a copy of the names apart from the texts, so that reset leaves them. */
static bool copy_types(struct pprof *profile, const struct pprof_type *types)
{
    size_t at[PPROF_TYPES_MAX][2] = {{0}};

    for (size_t i = 0; i < profile->type_count; i++) {
        at[i][0] = profile->names.size;
        utf8_repair(types[i].type, strlen(types[i].type), &profile->names);
        buf_add(&profile->names, "", 1);
        at[i][1] = profile->names.size;
        utf8_repair(types[i].unit, strlen(types[i].unit), &profile->names);
        buf_add(&profile->names, "", 1);
    }
    if (buf_failed(&profile->names))
        return false;
    for (size_t i = 0; i < profile->type_count; i++)
        profile->types[i] = (struct pprof_type){buf_text(&profile->names) + at[i][0],
                                                buf_text(&profile->names) + at[i][1]};
    return true;
}

enum pprof_rc pprof_new(const struct pprof_type *types, size_t type_count, size_t max_bytes,
                        struct pprof **out)
{
    struct pprof *profile;

    if (type_count > PPROF_TYPES_MAX)
        return PPROF_FULL;
    profile = calloc(1, sizeof(*profile));
    if (!profile)
        return PPROF_NOMEM;
    profile->type_count = type_count;
    arena_init(&profile->arena, max_bytes);
    buf_init(&profile->repaired, 3 * TEXT_MAX);
    buf_init(&profile->names, 3 * TEXT_MAX);
    init_tables(profile);
    if (!copy_types(profile, types)) {
        pprof_free(profile);
        return PPROF_NOMEM;
    }
    *out = profile;
    return PPROF_OK;
}

void pprof_free(struct pprof *profile)
{
    if (!profile)
        return;
    table_finish(&profile->texts);
    table_finish(&profile->functions);
    table_finish(&profile->locations);
    table_finish(&profile->stacks);
    table_finish(&profile->rows);
    arena_finish(&profile->arena);
    buf_finish(&profile->repaired);
    buf_finish(&profile->names);
    free(profile->values);
    free(profile);
}

static void copy_cut(char *out, size_t out_size, const char *text, size_t size)
{
    size = size < out_size ? size : out_size - 1;
    memcpy(out, text, size);
    out[size] = '\0';
}

void profile_set_binary(struct pprof *profile, const char *file, size_t file_size,
                        const char *build_id, size_t build_id_size)
{
    if (profile->binary[0])
        return;
    copy_cut(profile->binary, sizeof(profile->binary), file, file_size);
    copy_cut(profile->build_id, sizeof(profile->build_id), build_id, build_id_size);
}

void pprof_set_binary(struct pprof *profile, const char *file, const char *build_id)
{
    profile_set_binary(profile, file, strlen(file), build_id, strlen(build_id));
}

void pprof_reset(struct pprof *profile)
{
    table_reset(&profile->texts);
    table_reset(&profile->functions);
    table_reset(&profile->locations);
    table_reset(&profile->stacks);
    table_reset(&profile->rows);
    arena_reset(&profile->arena);
}

static enum pprof_rc repaired_text(struct pprof *profile, const char *text, size_t size,
                                   uint32_t *out)
{
    buf_reset(&profile->repaired);
    utf8_repair(text, size, &profile->repaired);
    if (buf_failed(&profile->repaired))
        return PPROF_NOMEM;
    return table_intern(&profile->texts, profile->repaired.data, profile->repaired.size, out);
}

enum pprof_rc profile_text(struct pprof *profile, const char *text, size_t size, uint32_t *out)
{
    uint32_t known;

    if (size > TEXT_MAX)
        return PPROF_FULL;
    known = table_find(&profile->texts, text, size);
    if (known == TABLE_NONE) { /* what is in the table is valid: only new ones are looked through */
        if (utf8_good(text, size) != size)
            return repaired_text(profile, text, size, out);
        return table_intern(&profile->texts, text, size, out);
    }
    *out = known;
    return PPROF_OK;
}

static enum pprof_rc intern_string(struct pprof *profile, const char *string, uint32_t *out)
{
    return profile_text(profile, string ? string : "", string ? strlen(string) : 0, out);
}

enum pprof_rc pprof_function(struct pprof *profile, const char *name, const char *file,
                             int32_t start_line, uint32_t *out)
{
    struct function_key key = {.start_line = start_line};
    enum pprof_rc rc = intern_string(profile, name, &key.name);

    if (rc == PPROF_OK)
        rc = intern_string(profile, file, &key.file);
    if (rc != PPROF_OK)
        return rc;
    return table_intern(&profile->functions, &key, sizeof(key), out);
}

enum pprof_rc pprof_location(struct pprof *profile, uint32_t function, int32_t line, int32_t column,
                             uint32_t *out)
{
    struct location_key key = {.function = function, .line = line, .column = column};

    if (function >= profile->functions.count)
        return PPROF_BAD;
    return table_intern(&profile->locations, &key, sizeof(key), out);
}

enum pprof_rc pprof_stack(struct pprof *profile, const uint32_t *locations, size_t depth,
                          uint32_t *out)
{
    if (depth > PPROF_DEPTH_MAX)
        return PPROF_FULL;
    for (size_t i = 0; i < depth; i++) {
        if (locations[i] >= profile->locations.count)
            return PPROF_BAD;
    }
    return table_intern(&profile->stacks, depth ? (const void *)locations : "",
                        depth * sizeof(*locations), out);
}

/* A new row's values start at 0; `values` grows with the table, out of the same budget. */
static enum pprof_rc grow_profile_values(struct pprof *profile)
{
    size_t count = profile->values_count ? profile->values_count * 2 : ROWS_FIRST;
    size_t row_bytes = profile->type_count * sizeof(*profile->values);
    size_t added = (count - profile->values_count) * row_bytes;
    int64_t *values;

    if (added > profile->arena.max - profile->arena.used)
        return PPROF_FULL;
    values = realloc(profile->values, count * row_bytes + 1); /* +1: never a size of 0 */
    if (!values)
        return PPROF_NOMEM;
    profile->arena.max -= added;
    profile->values = values;
    profile->values_count = count;
    return PPROF_OK;
}

/* Labels are a set: sorts them, drops what is there twice or would be lost. */
static size_t tidy_labels(const struct pprof *profile, struct label_key *labels, size_t count)
{
    size_t i, kept = 0;

    for (i = 0; i < count; i++) {
        if (labels[i].unit != NO_TEXT && profile->texts.entries[labels[i].unit].size == 0)
            labels[i].unit = NO_TEXT;
    }
    sort_labels(labels, count);
    for (i = 0; i < count; i++) {
        if (label_is_lost(profile, &labels[i]))
            continue;
        if (kept && compare_labels(&labels[kept - 1], &labels[i]) == 0)
            continue;
        labels[kept++] = labels[i];
    }
    return kept;
}

enum pprof_rc profile_row(struct pprof *profile, struct row_key *row, size_t label_count,
                          uint32_t *out)
{
    size_t kept = tidy_labels(profile, row->labels, label_count);
    size_t size = sizeof(row->stack) + kept * sizeof(row->labels[0]);
    uint32_t before = profile->rows.count;
    enum pprof_rc rc = PPROF_OK;

    if (before == profile->values_count)
        rc = grow_profile_values(profile);
    if (rc == PPROF_OK)
        rc = table_intern(&profile->rows, row, size, out);
    else if (table_find(&profile->rows, row, size) != TABLE_NONE) /* full, but it is there */
        rc = table_intern(&profile->rows, row, size, out);
    if (rc == PPROF_OK && profile->rows.count > before)
        memset(values_at(profile, before), 0, profile->type_count * sizeof(int64_t));
    return rc;
}

static enum pprof_rc intern_label(struct pprof *profile, const struct pprof_label *label,
                                  struct label_key *out)
{
    enum pprof_rc rc = intern_string(profile, label->key, &out->key);

    out->str = NO_TEXT;
    out->unit = NO_TEXT;
    label_set_number(out, label->str ? 0 : label->num);
    if (rc == PPROF_OK && label->str)
        rc = intern_string(profile, label->str, &out->str);
    else if (rc == PPROF_OK && label->num_unit)
        rc = intern_string(profile, label->num_unit, &out->unit);
    return rc;
}

enum pprof_rc pprof_row(struct pprof *profile, uint32_t stack, const struct pprof_label *labels,
                        size_t label_count, uint32_t *out)
{
    struct row_key row = {.stack = stack};
    enum pprof_rc rc;

    if (stack >= profile->stacks.count)
        return PPROF_BAD;
    if (label_count > PPROF_LABELS_MAX)
        return PPROF_FULL;
    for (size_t i = 0; i < label_count; i++) {
        rc = intern_label(profile, &labels[i], &row.labels[i]);
        if (rc != PPROF_OK)
            return rc;
    }
    return profile_row(profile, &row, label_count, out);
}

void pprof_add(struct pprof *profile, uint32_t row, const int64_t *values)
{
    int64_t *sums;

    if (row >= profile->rows.count)
        return;
    sums = values_at(profile, row);
    for (size_t i = 0; i < profile->type_count; i++)
        sums[i] = add_saturated(sums[i], values[i]);
}

size_t pprof_row_count(const struct pprof *profile)
{
    return profile->rows.count;
}

size_t pprof_label_count(const struct pprof *profile)
{
    size_t most = 0, count;

    for (uint32_t row = 0; row < profile->rows.count; row++) {
        (void)row_at(profile, row, &count);
        most = count > most ? count : most;
    }
    return most;
}

int64_t pprof_total(const struct pprof *profile, size_t type)
{
    int64_t total = 0;

    if (type >= profile->type_count)
        return 0;
    for (uint32_t row = 0; row < profile->rows.count; row++)
        total = add_saturated(total, values_at(profile, row)[type]);
    return total;
}
