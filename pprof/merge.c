/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - adds one profile to another. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "pprof/profile.h"

struct merger {
    struct pprof *into;
    const struct pprof *from;
    struct pprof_rule rule;
    struct pprof_fit fit;
    double factor;                   /* of each value; 0 and 1: as it is */
    double rest;                     /* what rounding has left of the values before */
    struct arena texts;              /* owned: of the labels of the row that is being added */
    size_t type_of[PPROF_TYPES_MAX]; /* of `from`: its place in `into`, or PPROF_TYPES_MAX */
    uint32_t *functions;             /* owned: from's number -> into's */
    uint32_t *locations;             /* owned, likewise */
    uint32_t *frames;                /* owned: the stack that is being added */
};

static void match_types(struct merger *m)
{
    const struct pprof_type *a, *b;
    size_t i, j;

    for (i = 0; i < m->from->type_count; i++) {
        a = &m->from->types[i];
        m->type_of[i] = PPROF_TYPES_MAX;
        for (j = 0; j < m->into->type_count; j++) {
            b = &m->into->types[j];
            if (strcmp(a->type, b->type) == 0 && strcmp(a->unit, b->unit) == 0)
                m->type_of[i] = j;
        }
    }
}

static enum pprof_rc copy_function(struct pprof *into, const struct pprof *from, uint32_t function,
                                   uint32_t *out)
{
    const struct function_key *key = function_at(from, function);

    return pprof_function(into, text_at(from, key->name), text_at(from, key->file), key->start_line,
                          out);
}

static enum pprof_rc map_functions(struct merger *m)
{
    enum pprof_rc rc = PPROF_OK;

    for (uint32_t i = 0; i < m->from->functions.count && rc == PPROF_OK; i++)
        rc = copy_function(m->into, m->from, i, &m->functions[i]);
    return rc;
}

static enum pprof_rc map_locations(struct merger *m)
{
    const struct location_key *key;
    enum pprof_rc rc = PPROF_OK;

    for (uint32_t i = 0; i < m->from->locations.count && rc == PPROF_OK; i++) {
        key = location_at(m->from, i);
        rc = pprof_location(m->into, m->functions[key->function], key->line, key->column,
                            &m->locations[i]);
    }
    return rc;
}

static bool depth_fits(const struct pprof_fit *fit, size_t depth)
{
    return fit->depth_max == 0 || depth <= fit->depth_max;
}

/* Interns the frame that stands for `count` others. */
static enum pprof_rc left_out_frame(struct merger *m, size_t count, uint32_t *out)
{
    char name[48];
    uint32_t function;
    enum pprof_rc rc;

    (void)snprintf(name, sizeof(name), "<... %zu frames left out>", count);
    rc = pprof_function(m->into, name, "", 0, &function);
    return rc == PPROF_OK ? pprof_location(m->into, function, 0, 0, out) : rc;
}

/* A stack that is too deep keeps both of its ends: the leaf has the time, the root says why. */
static enum pprof_rc map_stack(struct merger *m, uint32_t stack, uint32_t *out)
{
    enum pprof_rc rc = PPROF_OK;
    size_t i, depth, leaf_side, root_side;
    const uint32_t *locations = stack_at(m->from, stack, &depth);

    for (i = 0; i < depth; i++)
        m->frames[i] = m->locations[locations[i]];
    if (!depth_fits(&m->fit, depth)) {
        leaf_side = m->fit.depth_max / 2;
        root_side = m->fit.depth_max - leaf_side - 1;
        rc = left_out_frame(m, depth - leaf_side - root_side, &m->frames[leaf_side]);
        memmove(m->frames + leaf_side + 1, m->frames + depth - root_side,
                root_side * sizeof(*m->frames));
        depth = m->fit.depth_max;
    }
    return rc == PPROF_OK ? pprof_stack(m->into, m->frames, depth, out) : rc;
}

static void lend_label(const struct pprof *from, const struct label_key *key,
                       struct pprof_label *out)
{
    out->key = text_at(from, key->key);
    out->str = key->str == NO_TEXT ? NULL : text_at(from, key->str);
    out->num = label_number(key);
    out->num_unit = key->unit == NO_TEXT ? NULL : text_at(from, key->unit);
}

/* NULL: the label keeps its name. */
static const char *new_key(const struct pprof_fit *fit, const char *key)
{
    for (const struct pprof_rename *rename = fit->renames; rename && rename->key; rename++) {
        if (strcmp(rename->key, key) == 0)
            return rename->as;
    }
    return NULL;
}

static bool label_fits(const struct pprof_fit *fit, const struct pprof_label *label)
{
    return !new_key(fit, label->key) &&
           !(fit->label_max && label->str && strlen(label->str) > fit->label_max);
}

static enum pprof_rc fit_label(struct merger *m, struct pprof_label *label)
{
    const char *key = new_key(&m->fit, label->key), *text = label->str;
    char number[24];
    size_t size;

    if (label_fits(&m->fit, label))
        return PPROF_OK;
    if (!text && m->fit.texts) {
        (void)snprintf(number, sizeof(number), "%" PRId64, label->num);
        text = number;
    }
    label->key = key ? key : label->key;
    if (!text)
        return PPROF_OK;
    size = strlen(text);
    if (m->fit.label_max && size > m->fit.label_max)
        size = utf8_good(text, m->fit.label_max); /* not within a character */
    label->str = arena_strndup(&m->texts, text, size);
    return label->str ? PPROF_OK : PPROF_NOMEM;
}

/* True if a row has a label that a rule asks for. */
static bool has_label(const struct pprof_label *labels, size_t count,
                      const struct pprof_label *wanted)
{
    char number[24];

    for (size_t i = 0; i < count; i++) {
        if (strcmp(labels[i].key, wanted->key) != 0)
            continue;
        (void)snprintf(number, sizeof(number), "%" PRId64, labels[i].num);
        if (wanted->str ? strcmp(labels[i].str ? labels[i].str : number, wanted->str) == 0
                        : !labels[i].str && labels[i].num == wanted->num)
            return true;
    }
    return false;
}

/* The labels of a row as it is merged; false: the rule leaves it out. */
static bool lend_labels(const struct merger *m, const struct row_key *key, size_t *count,
                        struct pprof_label labels[PPROF_LABELS_MAX])
{
    const struct pprof_rule *rule = &m->rule;
    bool wanted = true;

    for (size_t i = 0; i < *count; i++)
        lend_label(m->from, &key->labels[i], &labels[i]);
    for (size_t i = 0; wanted && i < rule->with_count; i++)
        wanted = has_label(labels, *count, &rule->with[i]);
    if (rule->extra[0] && *count < PPROF_LABELS_MAX)
        labels[(*count)++] = (struct pprof_label){.key = rule->extra[0], .str = rule->extra[1]};
    return wanted;
}

static int64_t taken_off(int64_t value)
{
    return value == INT64_MIN ? INT64_MAX : -value;
}

/* The value times the factor. What rounding leaves goes to the next row, so that sums hold. */
static int64_t scaled(struct merger *m, int64_t value)
{
    const double exact = (double)value * m->factor + m->rest;
    int64_t rounded;

    if (m->factor <= 0 || m->factor == 1)
        return value;
    if (exact >= (double)INT64_MAX || exact <= (double)INT64_MIN)
        return exact > 0 ? INT64_MAX : INT64_MIN;
    rounded = (int64_t)(exact < 0 ? exact - 0.5 : exact + 0.5);
    m->rest = exact - (double)rounded;
    return rounded;
}

static enum pprof_rc merge_row(struct merger *m, uint32_t row)
{
    struct pprof_label labels[PPROF_LABELS_MAX];
    int64_t values[PPROF_TYPES_MAX] = {0}, value;
    size_t i, label_count;
    const struct row_key *key = row_at(m->from, row, &label_count);
    uint32_t stack, number;
    enum pprof_rc rc;

    if (!lend_labels(m, key, &label_count, labels))
        return PPROF_OK;
    arena_reset(&m->texts);
    rc = map_stack(m, key->stack, &stack);
    for (i = 0; rc == PPROF_OK && i < label_count; i++)
        rc = fit_label(m, &labels[i]);
    if (rc == PPROF_OK)
        rc = pprof_row(m->into, stack, labels, label_count, &number);
    if (rc != PPROF_OK)
        return rc;
    for (i = 0; i < m->from->type_count; i++) {
        if (m->type_of[i] == PPROF_TYPES_MAX)
            continue;
        value = scaled(m, values_at(m->from, row)[i]);
        values[m->type_of[i]] =
            add_saturated(values[m->type_of[i]], m->rule.subtract ? taken_off(value) : value);
    }
    pprof_add(m->into, number, values);
    return PPROF_OK;
}

static enum pprof_rc merge_rows(struct merger *m)
{
    enum pprof_rc rc = map_functions(m);

    if (rc == PPROF_OK)
        rc = map_locations(m);
    for (uint32_t row = 0; row < m->from->rows.count && rc == PPROF_OK; row++)
        rc = merge_row(m, row);
    return rc;
}

/* Merges by the map of types in `m`. */
static enum pprof_rc merge(struct merger *m)
{
    enum pprof_rc rc = PPROF_NOMEM;

    pprof_set_binary(m->into, m->from->binary, m->from->build_id);
    arena_init(&m->texts, SIZE_MAX / 2); /* bounded by what a row may hold */
    m->functions = malloc((m->from->functions.count + 1) * sizeof(*m->functions));
    m->locations = malloc((m->from->locations.count + 1) * sizeof(*m->locations));
    m->frames = malloc(PPROF_DEPTH_MAX * sizeof(*m->frames));
    if (m->functions && m->locations && m->frames)
        rc = merge_rows(m);
    free(m->functions);
    free(m->locations);
    free(m->frames);
    arena_finish(&m->texts);
    return rc;
}

enum pprof_rc pprof_merge_by(struct pprof *into, const struct pprof *from,
                             const struct pprof_rule *rule)
{
    struct merger m = {.into = into, .from = from, .rule = *rule};

    match_types(&m);
    return merge(&m);
}

enum pprof_rc pprof_merge(struct pprof *into, const struct pprof *from)
{
    static const struct pprof_rule all;

    return pprof_merge_by(into, from, &all);
}

enum pprof_rc pprof_merge_value(struct pprof *into, size_t to, const struct pprof *from,
                                size_t type, double factor)
{
    struct merger m = {.into = into, .from = from, .factor = factor};

    if (to >= into->type_count || type >= from->type_count)
        return PPROF_BAD;
    for (size_t i = 0; i < from->type_count; i++)
        m.type_of[i] = i == type ? to : PPROF_TYPES_MAX;
    return merge(&m);
}

static enum pprof_rc copy_location(struct pprof *into, const struct pprof *from, uint32_t location,
                                   uint32_t *out)
{
    const struct location_key *key = location_at(from, location);
    uint32_t function;
    enum pprof_rc rc = copy_function(into, from, key->function, &function);

    return rc == PPROF_OK ? pprof_location(into, function, key->line, key->column, out) : rc;
}

static enum pprof_rc copy_stack(struct pprof *into, const struct pprof *from, uint32_t stack,
                                uint32_t *out)
{
    size_t depth;
    const uint32_t *locations = stack_at(from, stack, &depth);
    uint32_t *frames = malloc((depth + 1) * sizeof(*frames));
    enum pprof_rc rc = frames ? PPROF_OK : PPROF_NOMEM;

    for (size_t i = 0; i < depth && rc == PPROF_OK; i++)
        rc = copy_location(into, from, locations[i], &frames[i]);
    if (rc == PPROF_OK)
        rc = pprof_stack(into, frames, depth, out);
    free(frames);
    return rc;
}

enum pprof_rc pprof_copy_row(struct pprof *into, const struct pprof *from, uint32_t row,
                             uint32_t *out)
{
    struct pprof_label labels[PPROF_LABELS_MAX];
    size_t label_count;
    const struct row_key *key = row_at(from, row, &label_count);
    uint32_t stack;
    enum pprof_rc rc = copy_stack(into, from, key->stack, &stack);

    for (size_t i = 0; i < label_count; i++)
        lend_label(from, &key->labels[i], &labels[i]);
    return rc == PPROF_OK ? pprof_row(into, stack, labels, label_count, out) : rc;
}

static bool row_fits(const struct pprof *profile, uint32_t row, const struct pprof_fit *fit)
{
    size_t label_count, depth;
    const struct row_key *key = row_at(profile, row, &label_count);
    struct pprof_label label;
    bool fits;

    (void)stack_at(profile, key->stack, &depth);
    fits = depth_fits(fit, depth);
    for (size_t i = 0; fits && i < label_count; i++) {
        lend_label(profile, &key->labels[i], &label);
        fits = label_fits(fit, &label);
    }
    return fits;
}

enum pprof_rc pprof_fit(const struct pprof *profile, const struct pprof_fit *fit,
                        struct pprof **out)
{
    struct merger m = {.from = profile, .fit = *fit};
    enum pprof_rc rc;
    uint32_t row = 0;

    *out = NULL;
    while (row < profile->rows.count && row_fits(profile, row, fit))
        row++;
    if (row == profile->rows.count)
        return PPROF_OK;
    rc = pprof_new(profile->types, profile->type_count, SIZE_MAX / 2, &m.into);
    if (rc != PPROF_OK)
        return rc;
    match_types(&m);
    rc = merge(&m);
    if (rc == PPROF_OK)
        *out = m.into;
    else
        pprof_free(m.into);
    return rc;
}
