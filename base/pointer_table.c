/* SPDX-License-Identifier: Apache-2.0 */
/* pointer_table.c - see pointer_table.h. */
#include "base/pointer_table.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 16 };

void pointer_table_finish(struct pointer_table *table)
{
    free(table->slots);
    *table = (struct pointer_table){0};
}

void pointer_table_clear(struct pointer_table *table)
{
    if (table->count > 0)
        memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
    table->count = 0;
}

static bool grow_pointer_table(struct pointer_table *table)
{
    struct pointer_table wider = {.count = table->count};

    wider.slot_count = table->slot_count > 0 ? table->slot_count * 2 : SLOTS_FIRST;
    wider.slots = calloc(wider.slot_count, sizeof(*wider.slots));
    if (!wider.slots)
        return false;
    for (size_t i = 0; i < table->slot_count; i++)
        if (table->slots[i].value)
            *pointer_table_slot(&wider, table->slots[i].key) = table->slots[i];
    free(table->slots);
    *table = wider;
    return true;
}

bool pointer_table_put(struct pointer_table *table, uint64_t key, void *value)
{
    const bool is_new = !pointer_table_find(table, key);

    if (is_new && table->count == table->slot_count / 2 && !grow_pointer_table(table))
        return false;
    table->count += is_new ? 1 : 0;
    *pointer_table_slot(table, key) = (struct pointer_slot){key, value};
    return true;
}

void pointer_table_remove(struct pointer_table *table, uint64_t key)
{
    const size_t mask = table->slot_count - 1;
    size_t hole, at;

    if (!pointer_table_find(table, key))
        return;
    hole = (size_t)(pointer_table_slot(table, key) - table->slots);
    table->slots[hole].value = NULL;
    table->count--;
    /* Keys behind the hole that were put there because their own slots were taken move up. */
    for (at = (hole + 1) & mask; table->slots[at].value; at = (at + 1) & mask) {
        if (((at - pointer_table_home(table, table->slots[at].key)) & mask) < ((at - hole) & mask))
            continue;
        table->slots[hole] = table->slots[at];
        table->slots[at].value = NULL;
        hole = at;
    }
}
