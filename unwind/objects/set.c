/* SPDX-License-Identifier: Apache-2.0 */
/* set.c - knows how sets lie in memory. */
#include <string.h>

#include "unwind/objects/object.h"

/* setentry, 3.6 to 3.15: Include/cpython/setobject.h. */
enum { ENTRY_SIZE = 16, ENTRY_HASH = 8, BATCH = 128, HEAD_MAX = 512 };

struct table {
    cpy_addr at;
    uint64_t slots, used;
};

static enum cpy_rc read_table(const struct reader *reader, cpy_addr set, struct table *out)
{
    const struct layout *l = reader->layout;
    unsigned char head[HEAD_MAX];
    int64_t mask, used;
    enum cpy_rc rc = mem_read(reader->mem, set, head, l->set.size);

    if (rc != CPY_OK)
        return rc;
    memcpy(&mask, head + l->set.mask, sizeof(mask));
    memcpy(&used, head + l->set.used, sizeof(used));
    memcpy(&out->at, head + l->set.table, sizeof(out->at));
    if (mask < 0 || mask >= OBJECT_SLOTS_MAX || used < 0 || used > mask)
        return CPY_RACED; /* a table is never full */
    out->slots = (uint64_t)mask + 1;
    out->used = (uint64_t)used;
    return CPY_OK;
}

enum cpy_rc object_read_set(const struct reader *reader, cpy_addr set, cpy_addr *out, size_t most,
                            size_t *count, uint64_t *total)
{
    struct table table;
    unsigned char block[BATCH * ENTRY_SIZE];
    uint64_t base, i, size;
    int64_t hash;
    cpy_addr key;
    enum cpy_rc rc = read_table(reader, set, &table);

    *count = 0;
    if (rc != CPY_OK)
        return rc;
    *total = table.used;
    for (base = 0; base < table.slots; base += BATCH) {
        if (*count == most || *count == table.used)
            return CPY_OK;
        size = table.slots - base < BATCH ? table.slots - base : BATCH;
        rc = mem_read(reader->mem, table.at + base * ENTRY_SIZE, block, size * ENTRY_SIZE);
        if (rc != CPY_OK)
            return rc;
        for (i = 0; i < size && *count < most; i++) {
            memcpy(&key, block + i * ENTRY_SIZE, sizeof(key));
            memcpy(&hash, block + i * ENTRY_SIZE + ENTRY_HASH, sizeof(hash));
            if (key != 0 && hash != -1) /* -1: it was taken out */
                out[(*count)++] = key;
        }
    }
    return *count == table.used ? CPY_OK : CPY_RACED;
}
