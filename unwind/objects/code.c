/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - see code.h. */
#include "unwind/objects/code.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_MAX = 1024, BATCH = 128, BATCH_BYTES = 96 << 10 };

/* The words of a code object that an entry is made of and compared by. */
struct head {
    cpy_addr type, filename, qualname, linetable, co_code;
    int64_t unit_count;
    int32_t first_line, first_traceable;
    uint32_t version;
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
    codes->sample++;
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
        codes->replaced_at = codes->sample;
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
    if (l->code.version != NO_FIELD)
        memcpy(&out->version, bytes + l->code.version, 4);
}

static bool is_same_code_head(const struct code_entry *entry, const struct head *head)
{
    return entry->filename == head->filename && entry->qualname == head->qualname &&
           entry->linetable == head->linetable && entry->co_code == head->co_code &&
           (entry->co_code != 0 || entry->unit_count == head->unit_count) &&
           entry->code.first_line == head->first_line &&
           entry->first_traceable == head->first_traceable && entry->version == head->version;
}

/* Where the parts of an entry are in codes->text, which begins with the name of the function. */
struct parts {
    size_t file_at, table_at;
    uint64_t table_length;         /* the table's own size */
    uint32_t func_span, file_span; /* see object_take_str */
};

/* Puts an entry, its strings and its table into one piece of memory. */
static struct code_entry *make_entry(struct codes *codes, cpy_addr addr, const struct head *head,
                                     const struct parts *parts)
{
    size_t size = sizeof(struct code_entry) + codes->text.size;
    struct code_entry *entry = malloc(size);
    unsigned char *data;

    if (!entry)
        return NULL;
    data = (unsigned char *)(entry + 1);
    memcpy(data, codes->text.data, codes->text.size);
    *entry = (struct code_entry){
        .code = {codes->next_id++, (const char *)data, (const char *)data + parts->file_at,
                 head->first_line},
        .addr = addr,
        .compared = codes->sample,
        .filename = head->filename,
        .qualname = head->qualname,
        .linetable = head->linetable,
        .co_code = head->co_code,
        .first_traceable = head->first_traceable,
        .unit_count = head->unit_count,
        .version = head->version,
        .bytes = size,
        .table = data + parts->table_at,
        .table_size = codes->text.size - parts->table_at,
        .table_length = parts->table_length,
        .func_span = parts->func_span,
        .file_span = parts->file_span,
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

/* Reads the names and the line table into codes->text. */
static enum cpy_rc read_contents(struct codes *codes, const struct reader *reader,
                                 const struct head *head, struct parts *out)
{
    enum cpy_rc rc;

    *out = (struct parts){0};
    buf_reset(&codes->text);
    rc = object_read_str_span(reader, head->qualname, &codes->text, &out->func_span);
    out->file_at = codes->text.size;
    if (rc == CPY_OK)
        rc = object_read_str_span(reader, head->filename, &codes->text, &out->file_span);
    out->table_at = codes->text.size;
    return rc == CPY_OK ? object_read_bytes(reader, head->linetable, CODES_TABLE_COMPARED,
                                            &codes->text, &out->table_length)
                        : rc;
}

static enum cpy_rc decode_code_object(struct codes *codes, const struct reader *reader,
                                      cpy_addr addr, struct head *head)
{
    struct code_entry *entry;
    struct parts parts;
    struct head after;
    enum cpy_rc rc;

    if (!is_code_type(codes, reader, head->type) || head->unit_count < 0)
        return CPY_RACED;
    rc = read_contents(codes, reader, head, &parts);
    if (rc == CPY_OK)
        rc = read_unit_count(reader, head);
    if (rc == CPY_OK) /* still the same object? */
        rc = read_code_head(reader, addr, &after);
    if (rc != CPY_OK)
        return rc;
    entry = make_entry(codes, addr, head, &parts);
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

/* A code object to check. All borrowed: the copies are fetched ones, or in the batch. */
struct item {
    cpy_addr addr;
    struct code_entry *entry;                 /* NULL: it is not known yet */
    const unsigned char *head;                /* NULL: not needed */
    const unsigned char *func, *file, *table; /* likewise; from the lengths on */
};

/* Code objects that are checked together, and what has to be read for that. */
struct batch {
    struct item items[BATCH];
    struct mem_range ranges[MEM_RANGES_MAX];
    size_t count, range_count, used; /* items, ranges, bytes */
    bool has_contents;               /* some ranges are at pointers of entries */
    unsigned char bytes[BATCH_BYTES];
};

enum { ITEM_RANGES = 4 };

static void clear_batch(struct batch *batch)
{
    batch->count = batch->range_count = batch->used = 0;
    batch->has_contents = false;
}

static size_t compared_table_bytes(const struct code_entry *entry)
{
    return entry->table_size < CODES_TABLE_COMPARED ? entry->table_size : CODES_TABLE_COMPARED;
}

/* Bytes of a line table's object from its size on, as far as they are compared. */
static size_t table_span(const struct layout *l, const struct code_entry *entry)
{
    return l->bytes.ob_sval - l->object.ob_size + compared_table_bytes(entry);
}

static bool has_batch_room(const struct layout *l, const struct batch *batch,
                           const struct code_entry *entry)
{
    size_t size = l->code.size;

    if (entry)
        size += (size_t)entry->func_span + entry->file_span + table_span(l, entry);
    return batch->count < BATCH && batch->range_count + ITEM_RANGES <= MEM_RANGES_MAX &&
           size <= sizeof(batch->bytes) - batch->used;
}

static const unsigned char *add_batch_range(struct batch *batch, cpy_addr from, size_t size)
{
    unsigned char *into = batch->bytes + batch->used;

    batch->ranges[batch->range_count++] = (struct mem_range){from, into, size};
    batch->used += size;
    return into;
}

/* The copy of what was fetched, or where the batch will have one. */
static const unsigned char *find_copy(const struct reader *reader, struct batch *batch,
                                      cpy_addr from, size_t size)
{
    const unsigned char *bytes = reader->mem->once ? NULL : mem_look(reader->mem, from, size, size);

    return bytes ? bytes : add_batch_range(batch, from, size);
}

/* Finds copies of the names and the line table of an entry, which all threads have in common. */
static void find_contents(const struct reader *reader, struct batch *batch, struct item *item)
{
    const struct layout *l = reader->layout;
    const struct code_entry *entry = item->entry;
    const size_t ranges = batch->range_count;

    reader->mem->shared = true;
    item->func = find_copy(reader, batch, entry->qualname + l->unicode.length, entry->func_span);
    item->file = find_copy(reader, batch, entry->filename + l->unicode.length, entry->file_span);
    item->table =
        find_copy(reader, batch, entry->linetable + l->object.ob_size, table_span(l, entry));
    reader->mem->shared = false;
    batch->has_contents |= batch->range_count > ranges;
}

/* Reads what the batch needs. What is at the pointers of an entry may be gone if another code
 * object is there now: then all are taken for that. */
static enum cpy_rc read_batch(const struct reader *reader, struct batch *batch)
{
    const bool has_contents = batch->has_contents, once = reader->mem->once;
    enum cpy_rc rc;

    if (batch->range_count == 0)
        return CPY_OK;
    reader->mem->once = true; /* the others are noted already */
    rc = mem_read_ranges(reader->mem, batch->ranges, batch->range_count);
    if (rc == CPY_RACED && has_contents) {
        batch->range_count = batch->used = 0;
        for (struct item *item = batch->items; item < batch->items + batch->count; item++) {
            item->entry = NULL;
            item->head = add_batch_range(batch, item->addr, reader->layout->code.size);
        }
        rc = mem_read_ranges(reader->mem, batch->ranges, batch->range_count);
    }
    reader->mem->once = once;
    return rc;
}

/* True if a copy of a str has this text. */
static bool is_same_text(struct codes *codes, const struct layout *l, const unsigned char *bytes,
                         uint32_t span, const char *text)
{
    buf_reset(&codes->text);
    return object_take_str(l, bytes, span, &codes->text) == CPY_OK &&
           strcmp(buf_text(&codes->text), text) == 0;
}

/* True if the names and the line table are what the entry was decoded from. */
static bool is_same_contents(struct codes *codes, const struct layout *l, const struct item *item)
{
    const struct code_entry *entry = item->entry;
    const unsigned char *table = item->table + (l->bytes.ob_sval - l->object.ob_size);
    uint64_t table_size;

    memcpy(&table_size, item->table, sizeof(table_size));
    return table_size == entry->table_length &&
           memcmp(table, entry->table, compared_table_bytes(entry)) == 0 &&
           is_same_text(codes, l, item->func, entry->func_span, entry->code.func) &&
           is_same_text(codes, l, item->file, entry->file_span, entry->code.file);
}

/* Decodes a code object that is not known. */
static enum cpy_rc decode_item(struct codes *codes, const struct reader *reader,
                               const struct item *item)
{
    const bool once = reader->mem->once;
    struct head head;
    enum cpy_rc rc = CPY_OK;

    reader->mem->once = true;
    if (item->head)
        parse_head(reader->layout, item->head, &head);
    else
        rc = read_code_head(reader, item->addr, &head);
    if (rc == CPY_OK)
        rc = decode_code_object(codes, reader, item->addr, &head);
    reader->mem->once = once;
    return rc;
}

/* True if a code object is what is known of its address, as far as copies of it were needed. */
static bool is_same_item(struct codes *codes, const struct layout *l, const struct item *item)
{
    struct head head;

    if (!item->entry)
        return false;
    if (item->head) {
        parse_head(l, item->head, &head);
        if (head.type != codes->code_type || !is_same_code_head(item->entry, &head))
            return false;
    }
    return !item->func || is_same_contents(codes, l, item);
}

/* What has to be checked of a code object. */
struct due {
    bool head, contents;
};

static uint64_t stamp_of(const struct codes *codes, const struct code_entry *entry,
                         const struct codes_owner *owner)
{
    return entry->version != 0 ? codes_stamp(codes, owner->interp_id, entry->version) : 0;
}

static struct due due_of(const struct codes *codes, const struct code_entry *entry,
                         const struct codes_owner *owner)
{
    bool all;

    if (!entry)
        return (struct due){.head = true};
    if (owner->generation != 0) {
        all = entry->generation != owner->generation;
        return (struct due){all, all};
    }
    return (struct due){.head = entry->checked != codes->pass,
                        .contents =
                            entry->compared != codes->sample &&
                            (entry->stamp == 0 || entry->stamp != stamp_of(codes, entry, owner))};
}

/* Reads the batch, and decodes the code objects that are not as they are known. */
static enum cpy_rc check_batch(struct codes *codes, const struct reader *reader,
                               struct batch *batch, const struct codes_owner *owner)
{
    enum cpy_rc rc = read_batch(reader, batch);
    struct code_entry *entry;
    const struct item *item;
    struct due due;

    for (item = batch->items; item < batch->items + batch->count && rc == CPY_OK; item++) {
        due = due_of(codes, codes_find(codes, item->addr), owner);
        if (!due.head && !due.contents)
            continue; /* it was in the batch before */
        if (!is_same_item(codes, reader->layout, item))
            rc = decode_item(codes, reader, item);
        if (rc != CPY_OK)
            break;
        entry = pointer_table_find(&codes->by_addr, item->addr);
        entry->generation = owner->generation;
        entry->checked = codes->pass;
        if (due.contents)
            entry->compared = codes->sample;
        entry->stamp = stamp_of(codes, entry, owner);
    }
    clear_batch(batch);
    return rc;
}

static void add_batch_item(const struct reader *reader, struct batch *batch, cpy_addr addr,
                           struct code_entry *entry, struct due due)
{
    struct item *item = &batch->items[batch->count++];

    *item = (struct item){.addr = addr, .entry = entry};
    if (due.head)
        item->head = find_copy(reader, batch, addr, reader->layout->code.size);
    if (due.contents)
        find_contents(reader, batch, item);
}

enum cpy_rc codes_check(struct codes *codes, const struct reader *reader, const cpy_addr *addrs,
                        size_t count, const struct codes_owner *owner)
{
    struct batch batch; /* large: only what is used of it is touched */
    struct code_entry *entry;
    struct due due;
    enum cpy_rc rc = CPY_OK;

    clear_batch(&batch);
    codes->pass++;
    for (size_t i = 0; i < count && rc == CPY_OK; i++) {
        if (i > 0 && addrs[i] == addrs[i - 1])
            continue; /* recursion */
        entry = pointer_table_find(&codes->by_addr, addrs[i]);
        due = due_of(codes, entry, owner);
        if (!due.head && !due.contents)
            continue;
        if (!has_batch_room(reader->layout, &batch, entry))
            rc = check_batch(codes, reader, &batch, owner);
        if (rc == CPY_OK)
            add_batch_item(reader, &batch, addrs[i], entry, due);
    }
    return rc == CPY_OK ? check_batch(codes, reader, &batch, owner) : rc;
}

void codes_distrust(struct codes *codes, cpy_addr addr)
{
    struct code_entry *entry = pointer_table_find(&codes->by_addr, addr);

    if (!entry)
        return;
    entry->linetable = 0; /* no code object has that */
    entry->generation = entry->checked = entry->stamp = 0;
}
