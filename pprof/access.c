/* SPDX-License-Identifier: Apache-2.0 */
/* access.c - reads single things out of a profile's tables; see profile.h. */
#include "pprof/profile.h"

const char *text_at(const struct pprof *profile, uint32_t text)
{
    return profile->texts.entries[text].key;
}

const struct function_key *function_at(const struct pprof *profile, uint32_t function)
{
    return profile->functions.entries[function].key;
}

const struct location_key *location_at(const struct pprof *profile, uint32_t location)
{
    return profile->locations.entries[location].key;
}

const uint32_t *stack_at(const struct pprof *profile, uint32_t stack, size_t *depth)
{
    *depth = profile->stacks.entries[stack].size / sizeof(uint32_t);
    return profile->stacks.entries[stack].key;
}

const struct row_key *row_at(const struct pprof *profile, uint32_t row, size_t *label_count)
{
    const struct table_entry *entry = &profile->rows.entries[row];

    *label_count = (entry->size - sizeof(uint32_t)) / sizeof(struct label_key);
    return entry->key;
}

int64_t *values_at(const struct pprof *profile, uint32_t row)
{
    return profile->values + row * profile->type_count;
}

int compare_labels(const struct label_key *a, const struct label_key *b)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->str != b->str)
        return a->str < b->str ? -1 : 1;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return a->low < b->low ? -1 : a->low > b->low;
}

void sort_labels(struct label_key *labels, size_t count)
{
    struct label_key label;
    size_t i, at;

    for (i = 1; i < count; i++) {
        label = labels[i];
        for (at = i; at > 0 && compare_labels(&labels[at - 1], &label) > 0; at--)
            labels[at] = labels[at - 1];
        labels[at] = label;
    }
}

int64_t label_number(const struct label_key *label)
{
    return (int64_t)((uint64_t)label->high << 32 | label->low);
}

void label_set_number(struct label_key *label, int64_t number)
{
    label->low = (uint32_t)((uint64_t)number & UINT32_MAX);
    label->high = (uint32_t)((uint64_t)number >> 32);
}

bool label_is_lost(const struct pprof *profile, const struct label_key *label)
{
    if (label->str != NO_TEXT)
        return profile->texts.entries[label->str].size == 0;
    return label->unit == NO_TEXT && label->low == 0 && label->high == 0;
}

int64_t add_saturated(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b)
        return INT64_MIN;
    return a + b;
}

size_t pprof_interned_bytes(const struct pprof *profile)
{
    return profile->arena.used;
}
