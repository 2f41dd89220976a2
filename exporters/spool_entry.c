/* SPDX-License-Identifier: Apache-2.0 */
/* spool_entry.c - the only file that knows the bytes and the name of a spool's entry; see spool.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "exporters/spool.h"

enum { FIXED_SIZE = 64, HEAD_CRC_AT = 28, ORDER_DIGITS = 16 };

static const unsigned char magic[8] = {0x89, 'P', 'S', 'P', 'O', 'O', 'L', '\n'};

static void put_int(unsigned char *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_int(const unsigned char *at, size_t size)
{
    uint64_t value = 0;

    for (size_t i = size; i > 0; i--)
        value = value << 8 | at[i - 1];
    return value;
}

static uint32_t crc_of(const void *bytes, size_t size)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, size);
}

/* That of a head whose own field counts as 0. */
static uint32_t head_crc_of(const unsigned char *head, size_t size)
{
    static const unsigned char none[4];
    uLong crc = crc32_z(crc32_z(0, NULL, 0), head, HEAD_CRC_AT);

    crc = crc32_z(crc, none, sizeof(none));
    return (uint32_t)crc32_z(crc, head + HEAD_CRC_AT + 4, size - HEAD_CRC_AT - 4);
}

static void add_string(struct buf *out, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    unsigned char bytes[4];

    put_int(bytes, size, sizeof(bytes));
    buf_add(out, bytes, sizeof(bytes));
    buf_add(out, text ? text : "", size);
}

static void add_strings(struct buf *out, const struct spool_head *head)
{
    const struct exporter_profile *profile = &head->profile;

    for (size_t i = 0; i < head->ower_count; i++)
        add_string(out, head->owers[i]);
    add_string(out, profile->service);
    add_string(out, profile->type);
    for (size_t i = 0; i < profile->label_count; i++) {
        add_string(out, profile->labels[i].name);
        add_string(out, profile->labels[i].value);
    }
}

static void fill_fixed(unsigned char *at, const struct spool_head *head, size_t head_size)
{
    const struct exporter_profile *profile = &head->profile;

    memcpy(at, magic, sizeof(magic));
    put_int(at + 8, SPOOL_VERSION, 4);
    put_int(at + 12, head_size, 4);
    put_int(at + 16, profile->size, 8);
    put_int(at + 24, crc_of(profile->bytes, profile->size), 4);
    put_int(at + 32, (uint64_t)profile->start_ns, 8);
    put_int(at + 40, (uint64_t)profile->end_ns, 8);
    put_int(at + 48, (uint64_t)head->put_ns, 8);
    put_int(at + 56, head->form, 4);
    put_int(at + 60, head->ower_count, 2);
    put_int(at + 62, profile->label_count, 2);
    put_int(at + HEAD_CRC_AT, head_crc_of(at, head_size), 4);
}

static size_t string_size(const char *text)
{
    return 4 + (text ? strlen(text) + 1 : 0);
}

static size_t head_size_of(const struct spool_head *head)
{
    const struct exporter_profile *profile = &head->profile;
    size_t size = FIXED_SIZE + string_size(profile->service) + string_size(profile->type);

    for (size_t i = 0; i < head->ower_count; i++)
        size += string_size(head->owers[i]);
    for (size_t i = 0; i < profile->label_count; i++)
        size += string_size(profile->labels[i].name) + string_size(profile->labels[i].value);
    return size;
}

enum spool_rc spool_encode(const struct spool_head *head, struct buf *out)
{
    size_t before = out->size;

    if (head->ower_count == 0 || head->ower_count > SPOOL_OWERS_MAX ||
        head->profile.label_count > SPOOL_LABELS_MAX || head->profile.size > SPOOL_PAYLOAD_MAX ||
        head_size_of(head) > SPOOL_HEAD_MAX)
        return SPOOL_TOO_LARGE;
    (void)buf_extend(out, FIXED_SIZE);
    add_strings(out, head);
    if (buf_failed(out))
        return SPOOL_NOMEM;
    fill_fixed(out->data + before, head, out->size - before);
    return SPOOL_OK;
}

/* What is left to read. */
struct rest {
    const unsigned char *at;
    size_t size;
    bool bad;
};

static const char *get_string(struct rest *rest)
{
    const char *text;
    uint64_t size;

    if (rest->bad || rest->size < 4) {
        rest->bad = true;
        return NULL;
    }
    size = get_int(rest->at, 4);
    text = (const char *)rest->at + 4;
    rest->bad = size > rest->size - 4 || (size > 0 && strnlen(text, size) != size - 1);
    if (rest->bad || size == 0) {
        rest->at += 4;
        rest->size -= 4;
        return NULL;
    }
    rest->at += 4 + size;
    rest->size -= 4 + (size_t)size;
    return text;
}

/* True if all strings are there, fill the head, and none is absent that must be there. */
static bool get_strings(struct rest *rest, struct spool_head *out)
{
    struct exporter_profile *profile = &out->profile;
    bool all = true;

    for (size_t i = 0; i < out->ower_count; i++)
        all = (out->owers[i] = get_string(rest)) && all;
    profile->service = get_string(rest);
    profile->type = get_string(rest);
    for (size_t i = 0; i < profile->label_count; i++) {
        all = (out->labels[i].name = get_string(rest)) && all;
        all = (out->labels[i].value = get_string(rest)) && all;
    }
    return all && !rest->bad && rest->size == 0;
}

static bool get_fixed(const unsigned char *at, uint64_t head_size, uint64_t file_size,
                      struct spool_head *out)
{
    struct exporter_profile *profile = &out->profile;
    uint64_t payload = get_int(at + 16, 8);

    if (payload > SPOOL_PAYLOAD_MAX || file_size - head_size != payload)
        return false;
    profile->size = (size_t)payload;
    profile->start_ns = (int64_t)get_int(at + 32, 8);
    profile->end_ns = (int64_t)get_int(at + 40, 8);
    out->put_ns = (int64_t)get_int(at + 48, 8);
    out->form = (unsigned)get_int(at + 56, 4);
    out->ower_count = (size_t)get_int(at + 60, 2);
    profile->label_count = (size_t)get_int(at + 62, 2);
    profile->labels = out->labels;
    return out->ower_count > 0 && out->ower_count <= SPOOL_OWERS_MAX &&
           profile->label_count <= SPOOL_LABELS_MAX;
}

enum spool_rc spool_decode(const void *bytes, size_t size, uint64_t file_size,
                           struct spool_head *out)
{
    const unsigned char *at = bytes;
    struct rest rest;
    uint64_t head_size;

    out->profile = (struct exporter_profile){.bytes = NULL};
    if (size < FIXED_SIZE || size > file_size || memcmp(at, magic, sizeof(magic)) != 0)
        return SPOOL_CORRUPT;
    if (get_int(at + 8, 4) != SPOOL_VERSION)
        return get_int(at + 8, 4) > SPOOL_VERSION ? SPOOL_NEWER : SPOOL_CORRUPT;
    head_size = get_int(at + 12, 4);
    if (head_size < FIXED_SIZE || head_size > SPOOL_HEAD_MAX || head_size > size)
        return SPOOL_CORRUPT;
    if (get_int(at + HEAD_CRC_AT, 4) != head_crc_of(at, (size_t)head_size) ||
        !get_fixed(at, head_size, file_size, out))
        return SPOOL_CORRUPT;
    rest = (struct rest){at + FIXED_SIZE, (size_t)head_size - FIXED_SIZE, false};
    if (!get_strings(&rest, out))
        return SPOOL_CORRUPT;
    if (size < file_size)
        return SPOOL_OK;
    out->profile.bytes = at + head_size;
    return get_int(at + 24, 4) == crc_of(at + head_size, out->profile.size) ? SPOOL_OK
                                                                            : SPOOL_CORRUPT;
}

void spool_name_write(const struct spool_name *name, char out[SPOOL_NAME_SIZE])
{
    (void)snprintf(out, SPOOL_NAME_SIZE, "%016" PRIx64 "-%04x.profile", name->order, name->owed);
}

bool spool_name_read(const char *text, struct spool_name *out)
{
    char again[SPOOL_NAME_SIZE];
    struct spool_name got;

    if (strlen(text) != ORDER_DIGITS + sizeof("-0000.profile") - 1)
        return false;
    got.order = strtoull(text, NULL, 16);
    got.owed = (uint16_t)strtoul(text + ORDER_DIGITS + 1, NULL, 16);
    spool_name_write(&got, again);
    /* The greatest numbers are left out, so that the next one never overflows. */
    if (strcmp(text, again) != 0 || got.owed == 0 || got.order == 0 || got.order > INT64_MAX)
        return false;
    *out = got;
    return true;
}

static const char *const labels[] = {
#define SPOOL_LABEL(name, label, text) label,
    SPOOL_OUTCOMES(SPOOL_LABEL)
#undef SPOOL_LABEL
};

static const char *const texts[] = {
#define SPOOL_TEXT(name, label, text) text,
    SPOOL_OUTCOMES(SPOOL_TEXT)
#undef SPOOL_TEXT
};

const char *spool_rc_label(enum spool_rc rc)
{
    size_t i = (size_t)rc;

    return i < sizeof(labels) / sizeof(labels[0]) ? labels[i] : "unknown";
}

const char *spool_rc_text(enum spool_rc rc)
{
    size_t i = (size_t)rc;

    return i < sizeof(texts) / sizeof(texts[0]) ? texts[i] : "unknown";
}
