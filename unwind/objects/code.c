/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - see code.h. */
#include "unwind/objects/code.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_MAX = 1024, BATCH = 128 };

/* The words of a code object that an entry is made of and compared by. */
struct head {
    cpy_addr type, filename, qualname, linetable, co_code;
    int64_t unit_count;
    int32_t first_line, first_traceable;
};

void codes_init(struct codes *codes)
{
    *codes = (struct codes){.next_id = 1};
    buf_init(&codes->text, OBJECT_BYTES_MAX + 8 * OBJECT_TEXT_MAX + 64);
}

static void free_dead(struct codes *codes)
{
    struct code_entry *entry, *next;

    for (entry = codes->dead; entry; entry = next) {
        next = entry->next_dead;
        free(entry);
    }
    codes->dead = NULL;
}

static void free_code_entries(struct codes *codes)
{
    for (size_t i = 0; i < codes->by_addr.slot_count; i++)
        free(codes->by_addr.slots[i].value);
    pointer_table_clear(&codes->by_addr);
    codes->bytes = 0;
}

void codes_finish(struct codes *codes)
{
    free_dead(codes);
    free_code_entries(codes);
    pointer_table_finish(&codes->by_addr);
    buf_finish(&codes->text);
}

void codes_sweep(struct codes *codes)
{
    free_dead(codes);
    if (codes->by_addr.count >= CODES_MAX || codes->bytes >= CODES_BYTES_MAX) {
        codes->evicted += codes->by_addr.count;
        free_code_entries(codes);
    }
}

static enum cpy_rc put_code_entry(struct codes *codes, struct code_entry *entry)
{
    struct code_entry *before = pointer_table_find(&codes->by_addr, entry->addr);

    if (!pointer_table_put(&codes->by_addr, entry->addr, entry))
        return CPY_NOMEM;
    if (before) { /* its strings may be lent: it goes with the next sweep */
        codes->replaced++;
        before->next_dead = codes->dead;
        codes->dead = before;
        codes->bytes -= before->bytes;
    }
    codes->bytes += entry->bytes;
    return CPY_OK;
}

static void parse_head(const struct layout *l, const unsigned char *bytes, struct head *out)
{
    *out = (struct head){0};
    memcpy(&out->type, bytes + l->object.ob_type, 8);
    if (l->code.co_code == NO_FIELD)
        memcpy(&out->unit_count, bytes + l->object.ob_size, 8);
    else
        memcpy(&out->co_code, bytes + l->code.co_code, 8);
    memcpy(&out->filename, bytes + l->code.filename, 8);
    memcpy(&out->qualname, bytes + l->code.qualname, 8);
    memcpy(&out->linetable, bytes + l->code.linetable, 8);
    memcpy(&out->first_line, bytes + l->code.firstlineno, 4);
    if (l->code.firsttraceable != NO_FIELD)
        memcpy(&out->first_traceable, bytes + l->code.firsttraceable, 4);
}

static bool is_same_code_head(const struct code_entry *entry, const struct head *head)
{
    return entry->filename == head->filename && entry->qualname == head->qualname &&
           entry->linetable == head->linetable && entry->co_code == head->co_code &&
           (entry->co_code != 0 || entry->unit_count == head->unit_count) &&
           entry->code.first_line == head->first_line;
}

/* Puts an entry, its strings and its table into one piece of memory. */
static struct code_entry *make_entry(struct codes *codes, cpy_addr addr, const struct head *head,
                                     size_t file_at, size_t table_at)
{
    size_t size = sizeof(struct code_entry) + codes->text.size;
    struct code_entry *entry = malloc(size);
    unsigned char *data;

    if (!entry)
        return NULL;
    data = (unsigned char *)(entry + 1);
    memcpy(data, codes->text.data, codes->text.size);
    *entry = (struct code_entry){
        .code = {codes->next_id++, (const char *)data, (const char *)data + file_at,
                 head->first_line},
        .addr = addr,
        .filename = head->filename,
        .qualname = head->qualname,
        .linetable = head->linetable,
        .co_code = head->co_code,
        .first_traceable = head->first_traceable,
        .unit_count = head->unit_count,
        .bytes = size,
        .table = data + table_at,
        .table_size = codes->text.size - table_at,
    };
    return entry;
}

/* True if `type` is the type of code objects; found out once by its name. */
static bool is_code_type(struct codes *codes, const struct reader *reader, cpy_addr type)
{
    if (!codes->code_type && object_type_is(reader, type, "code"))
        codes->code_type = type;
    return codes->code_type == type && type != 0;
}

static enum cpy_rc read_code_head(const struct reader *reader, cpy_addr addr, struct head *out)
{
    unsigned char bytes[HEAD_MAX];
    enum cpy_rc rc = mem_read(reader->mem, addr, bytes, reader->layout->code.size);

    if (rc == CPY_OK)
        parse_head(reader->layout, bytes, out);
    return rc;
}

/* Before 3.11 the number of code units is that of a bytes object. */
static enum cpy_rc read_unit_count(const struct reader *reader, struct head *head)
{
    int64_t size;
    enum cpy_rc rc = head->co_code == 0
                         ? CPY_OK
                         : mem_read(reader->mem, head->co_code + reader->layout->object.ob_size,
                                    &size, sizeof(size));

    if (rc == CPY_OK && head->co_code != 0)
        head->unit_count = size / 2;
    return rc;
}

static enum cpy_rc decode_code_object(struct codes *codes, const struct reader *reader,
                                      cpy_addr addr, struct head *head)
{
    struct code_entry *entry;
    struct head after;
    size_t file_at = 0, table_at = 0;
    enum cpy_rc rc = CPY_RACED;

    if (!is_code_type(codes, reader, head->type) || head->unit_count < 0)
        return rc;
    buf_reset(&codes->text);
    rc = object_read_str(reader, head->qualname, &codes->text);
    file_at = codes->text.size;
    if (rc == CPY_OK)
        rc = object_read_str(reader, head->filename, &codes->text);
    table_at = codes->text.size;
    if (rc == CPY_OK)
        rc = object_read_bytes(reader, head->linetable, &codes->text);
    if (rc == CPY_OK)
        rc = read_unit_count(reader, head);
    if (rc == CPY_OK) /* still the same object? */
        rc = read_code_head(reader, addr, &after);
    if (rc != CPY_OK)
        return rc;
    entry = make_entry(codes, addr, head, file_at, table_at);
    if (!entry)
        return CPY_NOMEM;
    rc = is_same_code_head(entry, &after) && after.type == head->type ? put_code_entry(codes, entry)
                                                                      : CPY_RACED;
    if (rc != CPY_OK)
        free(entry);
    else
        codes->decoded++;
    return rc;
}

/* Compares or decodes the code objects whose heads lie in `bytes`, one after the other. */
static enum cpy_rc check_heads(struct codes *codes, const struct reader *reader,
                               const cpy_addr *addrs, const unsigned char *bytes, size_t count,
                               uint64_t generation)
{
    size_t i, size = reader->layout->code.size;
    struct code_entry *entry;
    struct head head;
    enum cpy_rc rc;

    for (i = 0; i < count; i++) {
        parse_head(reader->layout, bytes + i * size, &head);
        entry = pointer_table_find(&codes->by_addr, addrs[i]);
        if (head.type != codes->code_type || !entry || !is_same_code_head(entry, &head)) {
            reader->mem->once = true;
            rc = decode_code_object(codes, reader, addrs[i], &head);
            reader->mem->once = false;
            if (rc != CPY_OK)
                return rc;
            entry = pointer_table_find(&codes->by_addr, addrs[i]);
        }
        entry->generation = generation;
        entry->checked = codes->pass;
    }
    return CPY_OK;
}

static bool is_good(const struct codes *codes, cpy_addr addr, uint64_t generation)
{
    const struct code_entry *entry = codes_find(codes, addr);

    return entry &&
           (entry->checked == codes->pass || (generation != 0 && entry->generation == generation));
}

enum cpy_rc codes_check(struct codes *codes, const struct reader *reader, const cpy_addr *addrs,
                        size_t count, uint64_t generation)
{
    unsigned char bytes[BATCH * 256];
    struct mem_range ranges[BATCH];
    cpy_addr batch[BATCH];
    size_t i, used = 0, size = reader->layout->code.size, most = sizeof(bytes) / size;
    enum cpy_rc rc = CPY_OK;

    most = most < BATCH ? most : BATCH;
    codes->pass++;
    for (i = 0; i < count && rc == CPY_OK; i++) {
        /* Recursion: the same function in a row is read once. */
        if (!is_good(codes, addrs[i], generation) && (used == 0 || batch[used - 1] != addrs[i])) {
            batch[used] = addrs[i];
            ranges[used] = (struct mem_range){addrs[i], bytes + used * size, size};
            used++;
        }
        if (used < most && !(i + 1 == count && used > 0))
            continue;
        rc = mem_read_ranges(reader->mem, ranges, used);
        if (rc == CPY_OK)
            rc = check_heads(codes, reader, batch, bytes, used, generation);
        used = 0;
    }
    return rc;
}
