/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - the only file that knows the bytes of a batch; see batch.h. */
#include "exporters/batch.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    CRC_AT = 12,
    CRC_FROM = 16,
    PROFILE_FIXED = 28,
    PROFILE_FIXED_V2 = 24, /* it has no owner */
    PAYLOAD_MAX = 64 << 20
};

static const unsigned char batch_magic[8] = {0x89, 'P', 'B', 'A', 'T', 'C', 'H', '\n'};

static void put_number(unsigned char *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_number(const unsigned char *at, size_t size)
{
    uint64_t value = 0;

    for (size_t i = size; i > 0; i--)
        value = value << 8 | at[i - 1];
    return value;
}

static uint32_t batch_crc(const unsigned char *bytes, size_t size)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes + CRC_FROM, size - CRC_FROM);
}

void batch_builder_init(struct batch_builder *builder, enum exporter_form form)
{
    *builder = (struct batch_builder){.head = {.form = (unsigned)form}};
    buf_init(&builder->bytes, BATCH_SIZE_MAX);
}

void batch_builder_finish(struct batch_builder *builder)
{
    buf_finish(&builder->bytes);
}

bool batch_builder_is_full(const struct batch_builder *builder, size_t size)
{
    return builder->head.count == BATCH_PROFILES_MAX ||
           (builder->head.count > 0 && builder->bytes.size + size > BATCH_SIZE_FULL);
}

static void add_batch_string(struct buf *out, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    unsigned char bytes[4];

    put_number(bytes, size, sizeof(bytes));
    buf_add(out, bytes, sizeof(bytes));
    buf_add(out, text ? text : "", size);
}

static void add_profile_bytes(struct buf *out, const struct exporter_profile *profile)
{
    unsigned char fixed[PROFILE_FIXED];

    put_number(fixed, (uint64_t)profile->start_ns, 8);
    put_number(fixed + 8, (uint64_t)profile->end_ns, 8);
    put_number(fixed + 16, profile->label_count, 4);
    put_number(fixed + 20, profile->size, 4);
    put_number(fixed + 24, profile->owner, 4);
    buf_add(out, fixed, sizeof(fixed));
    add_batch_string(out, profile->service);
    add_batch_string(out, profile->type);
    for (size_t i = 0; i < profile->label_count; i++) {
        add_batch_string(out, profile->labels[i].name);
        add_batch_string(out, profile->labels[i].value);
    }
    buf_add(out, profile->bytes, profile->size);
}

bool batch_builder_add(struct batch_builder *builder, const struct exporter_profile *profile)
{
    struct batch_head *head = &builder->head;
    size_t before = builder->bytes.size;

    if (head->count == BATCH_PROFILES_MAX || profile->label_count > BATCH_LABELS_MAX ||
        profile->size > PAYLOAD_MAX)
        return false;
    if (before == 0)
        (void)buf_extend(&builder->bytes, BATCH_HEAD_SIZE);
    add_profile_bytes(&builder->bytes, profile);
    if (buf_failed(&builder->bytes)) {
        builder->bytes.failed = false;
        builder->bytes.size = before;
        return false;
    }
    if (head->count == 0 || profile->start_ns < head->start_ns)
        head->start_ns = profile->start_ns;
    if (head->count == 0 || profile->end_ns > head->end_ns)
        head->end_ns = profile->end_ns;
    head->count++;
    return true;
}

static void fill_batch_head(unsigned char *bytes, size_t size, const struct batch_head *head)
{
    memcpy(bytes, batch_magic, sizeof(batch_magic));
    put_number(bytes + 8, BATCH_VERSION, 4);
    put_number(bytes + 16, size, 8);
    put_number(bytes + 24, head->form, 4);
    put_number(bytes + 28, head->count, 4);
    put_number(bytes + 32, (uint64_t)head->start_ns, 8);
    put_number(bytes + 40, (uint64_t)head->end_ns, 8);
    put_number(bytes + 48, (uint64_t)head->made_ns, 8);
    put_number(bytes + 56, head->interval, 8);
    put_number(bytes + CRC_AT, batch_crc(bytes, size), 4);
}

struct batch *batch_builder_take(struct batch_builder *builder, uint64_t interval, int64_t made_ns)
{
    struct buf *bytes = &builder->bytes;
    struct batch *batch = NULL;
    unsigned char *exact;

    if (builder->head.count == 0)
        return NULL;
    builder->head.interval = interval;
    builder->head.made_ns = made_ns;
    fill_batch_head(bytes->data, bytes->size, &builder->head);
    exact = malloc(bytes->size);
    if (exact) {
        memcpy(exact, bytes->data, bytes->size);
        if (batch_read(exact, bytes->size, &batch) != BATCH_OK)
            batch = NULL;
    }
    buf_finish(bytes); /* it may be much larger than the next one needs */
    builder->head = (struct batch_head){.form = builder->head.form};
    return batch;
}

enum batch_rc batch_read_head(const unsigned char bytes[BATCH_HEAD_SIZE], uint64_t file_size,
                              struct batch_head *out)
{
    if (file_size < BATCH_HEAD_SIZE || memcmp(bytes, batch_magic, sizeof(batch_magic)) != 0)
        return BATCH_CORRUPT;
    if (get_number(bytes + 8, 4) > BATCH_VERSION)
        return BATCH_NEWER;
    *out = (struct batch_head){
        .version = (unsigned)get_number(bytes + 8, 4),
        .form = (unsigned)get_number(bytes + 24, 4),
        .count = (size_t)get_number(bytes + 28, 4),
        .start_ns = (int64_t)get_number(bytes + 32, 8),
        .end_ns = (int64_t)get_number(bytes + 40, 8),
        .made_ns = (int64_t)get_number(bytes + 48, 8),
        .interval = get_number(bytes + 56, 8),
    };
    if (out->version < BATCH_VERSION_OLDEST || get_number(bytes + 16, 8) != file_size ||
        file_size > BATCH_SIZE_MAX || out->count == 0 || out->count > BATCH_PROFILES_MAX ||
        out->form > EXPORTER_REQUEST_GIL_LIMITED)
        return BATCH_CORRUPT;
    return BATCH_OK;
}

/* What is left to read. */
struct batch_rest {
    const unsigned char *at;
    size_t size;
    unsigned version;
    bool bad;
};

static struct batch_rest rest_behind_head(const unsigned char *bytes, size_t size,
                                          const struct batch_head *head)
{
    return (struct batch_rest){bytes + BATCH_HEAD_SIZE, size - BATCH_HEAD_SIZE, head->version,
                               false};
}

static const unsigned char *take_batch_bytes(struct batch_rest *rest, size_t size)
{
    const unsigned char *at = rest->at;

    rest->bad = rest->bad || size > rest->size;
    if (rest->bad)
        return NULL;
    rest->at += size;
    rest->size -= size;
    return at;
}

static const char *take_batch_string(struct batch_rest *rest)
{
    const unsigned char *at = take_batch_bytes(rest, 4);
    size_t size = at ? (size_t)get_number(at, 4) : 0;
    const char *text = size > 0 ? (const char *)take_batch_bytes(rest, size) : NULL;

    if (text && strnlen(text, size) != size - 1) {
        rest->bad = true;
        return NULL;
    }
    return text;
}

/* Reads a profile; its labels go to `labels`, or are only counted if that is NULL. */
static size_t take_profile(struct batch_rest *rest, struct exporter_profile *out,
                           struct label *labels)
{
    const bool has_owner = rest->version > 2;
    const unsigned char *fixed =
        take_batch_bytes(rest, has_owner ? PROFILE_FIXED : PROFILE_FIXED_V2);
    struct label label;
    size_t count, size;

    if (!fixed)
        return 0;
    count = (size_t)get_number(fixed + 16, 4);
    size = (size_t)get_number(fixed + 20, 4);
    rest->bad = count > BATCH_LABELS_MAX || size > PAYLOAD_MAX;
    *out = (struct exporter_profile){
        .start_ns = (int64_t)get_number(fixed, 8),
        .end_ns = (int64_t)get_number(fixed + 8, 8),
        .labels = labels,
        .label_count = count,
        .size = size,
        .owner = has_owner ? (uint32_t)get_number(fixed + 24, 4) : 0,
    };
    out->service = take_batch_string(rest);
    out->type = take_batch_string(rest);
    for (size_t i = 0; i < count && !rest->bad; i++) {
        label.name = take_batch_string(rest);
        label.value = take_batch_string(rest);
        rest->bad = rest->bad || !label.name || !label.value;
        if (labels)
            labels[i] = label;
    }
    out->bytes = take_batch_bytes(rest, size);
    return rest->bad ? 0 : count;
}

/* How many labels the profiles have; SIZE_MAX: they are not what they should be. */
static size_t count_batch_labels(const unsigned char *bytes, size_t size,
                                 const struct batch_head *head)
{
    struct batch_rest rest = rest_behind_head(bytes, size, head);
    struct exporter_profile profile;
    size_t labels = 0;

    for (size_t i = 0; i < head->count && !rest.bad; i++)
        labels += take_profile(&rest, &profile, NULL);
    return rest.bad || rest.size > 0 ? SIZE_MAX : labels;
}

/* A batch with room for its profiles and labels behind it. */
static struct batch *new_batch(const struct batch_head *head, size_t label_count,
                               unsigned char *bytes, size_t size)
{
    struct batch_rest rest = rest_behind_head(bytes, size, head);
    struct exporter_profile *profiles;
    struct label *labels;
    struct batch *batch =
        malloc(sizeof(*batch) + head->count * sizeof(*profiles) + label_count * sizeof(*labels));

    if (!batch)
        return NULL;
    profiles = (struct exporter_profile *)(batch + 1);
    labels = (struct label *)(profiles + head->count);
    for (size_t i = 0; i < head->count; i++)
        labels += take_profile(&rest, &profiles[i], labels);
    *batch = (struct batch){
        .form = (enum exporter_form)head->form,
        .start_ns = head->start_ns,
        .end_ns = head->end_ns,
        .made_ns = head->made_ns,
        .interval = head->interval,
        .count = head->count,
        .profiles = profiles,
        .bytes = bytes,
        .size = size,
    };
    atomic_init(&batch->references, 1);
    return batch;
}

enum batch_rc batch_read(unsigned char *bytes, size_t size, struct batch **out)
{
    enum batch_rc rc = BATCH_CORRUPT;
    struct batch *batch = NULL;
    struct batch_head head;
    size_t labels;

    if (size >= BATCH_HEAD_SIZE)
        rc = batch_read_head(bytes, size, &head);
    if (rc == BATCH_OK && get_number(bytes + CRC_AT, 4) != batch_crc(bytes, size))
        rc = BATCH_CORRUPT;
    if (rc == BATCH_OK) {
        labels = count_batch_labels(bytes, size, &head);
        rc = labels == SIZE_MAX ? BATCH_CORRUPT : BATCH_NOMEM;
        batch = rc == BATCH_NOMEM ? new_batch(&head, labels, bytes, size) : NULL;
    }
    if (!batch) {
        free(bytes);
        return rc;
    }
    *out = batch;
    return BATCH_OK;
}

struct batch *batch_subset(const struct batch *batch, const struct batch_set *set)
{
    struct batch_builder builder;
    struct batch *subset = NULL;
    bool good = true;

    batch_builder_init(&builder, batch->form);
    for (size_t i = 0; good && i < batch->count; i++)
        if (batch_set_has(set, i))
            good = batch_builder_add(&builder, &batch->profiles[i]);
    if (good)
        subset = batch_builder_take(&builder, batch->interval, batch->made_ns);
    batch_builder_finish(&builder);
    return subset;
}

struct batch *batch_ref(struct batch *batch)
{
    (void)atomic_fetch_add(&batch->references, 1);
    return batch;
}

void batch_unref(struct batch *batch)
{
    if (!batch || atomic_fetch_sub(&batch->references, 1) != 1)
        return;
    free((void *)(uintptr_t)batch->bytes); /* our own */
    free(batch);
}

void batch_set_add(struct batch_set *set, size_t i)
{
    set->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

bool batch_set_has(const struct batch_set *set, size_t i)
{
    return (set->bits[i / 64] >> (i % 64) & 1) != 0;
}

size_t batch_set_count(const struct batch_set *set)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof(set->bits) / sizeof(set->bits[0]); i++)
        count += (size_t)__builtin_popcountll(set->bits[i]);
    return count;
}
