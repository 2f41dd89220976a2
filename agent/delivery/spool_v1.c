/* SPDX-License-Identifier: Apache-2.0 */
/* spool_v1.c - see spool_v1.h. */
#include "agent/delivery/spool_v1.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "base/file.h"

enum { FIXED_SIZE = 64, HEAD_CRC_AT = 28, NUMBER_DIGITS = 16, VERSION = 1 };

static const unsigned char magic[8] = {0x89, 'P', 'S', 'P', 'O', 'O', 'L', '\n'};

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
static bool get_strings(struct rest *rest, struct spool_v1_entry *out)
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
                      struct spool_v1_entry *out)
{
    struct exporter_profile *profile = &out->profile;
    uint64_t payload = get_int(at + 16, 8);

    if (payload > SPOOL_V1_PAYLOAD_MAX || file_size - head_size != payload)
        return false;
    profile->size = (size_t)payload;
    profile->start_ns = (int64_t)get_int(at + 32, 8);
    profile->end_ns = (int64_t)get_int(at + 40, 8);
    out->form = (unsigned)get_int(at + 56, 4);
    out->ower_count = (size_t)get_int(at + 60, 2);
    profile->label_count = (size_t)get_int(at + 62, 2);
    profile->labels = out->labels;
    return out->ower_count > 0 && out->ower_count <= SPOOL_V1_OWERS_MAX &&
           profile->label_count <= SPOOL_V1_LABELS_MAX;
}

bool spool_v1_decode(const void *bytes, size_t size, struct spool_v1_entry *out)
{
    const unsigned char *at = bytes;
    struct rest rest;
    uint64_t head_size;

    out->bytes = NULL;
    out->profile = (struct exporter_profile){.bytes = NULL};
    if (size < FIXED_SIZE || memcmp(at, magic, sizeof(magic)) != 0 || get_int(at + 8, 4) != VERSION)
        return false;
    head_size = get_int(at + 12, 4);
    if (head_size < FIXED_SIZE || head_size > SPOOL_V1_HEAD_MAX || head_size > size ||
        get_int(at + HEAD_CRC_AT, 4) != head_crc_of(at, (size_t)head_size) ||
        !get_fixed(at, head_size, size, out))
        return false;
    rest = (struct rest){at + FIXED_SIZE, (size_t)head_size - FIXED_SIZE, false};
    if (!get_strings(&rest, out))
        return false;
    out->profile.bytes = at + head_size;
    return get_int(at + 24, 4) == crc_of(at + head_size, out->profile.size);
}

void spool_v1_file_name(const struct spool_v1_name *name, char out[SPOOL_V1_NAME_SIZE])
{
    (void)snprintf(out, SPOOL_V1_NAME_SIZE, "%016" PRIx64 "-%04x.profile", name->number,
                   name->owed);
}

static bool read_name_v1(const char *text, struct spool_v1_name *out)
{
    char again[SPOOL_V1_NAME_SIZE];

    if (strlen(text) != NUMBER_DIGITS + sizeof("-0000.profile") - 1)
        return false;
    out->number = strtoull(text, NULL, 16);
    out->owed = (uint16_t)strtoul(text + NUMBER_DIGITS + 1, NULL, 16);
    spool_v1_file_name(out, again);
    return strcmp(text, again) == 0 && out->owed != 0;
}

static bool append_name_v1(struct spool_v1_list *list, const struct spool_v1_name *name)
{
    if (!ARRAY_RESERVE(list->names, list->capacity, list->count + 1))
        return false;
    list->names[list->count++] = *name;
    return true;
}

static int by_number_v1(const void *a, const void *b)
{
    const struct spool_v1_name *left = a, *right = b;

    return left->number < right->number ? -1 : left->number > right->number;
}

bool spool_v1_list(int dir, struct spool_v1_list *out)
{
    DIR *stream = file_open_dir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const struct dirent *item = NULL;
    struct spool_v1_name name;
    bool good = stream != NULL;

    *out = (struct spool_v1_list){0};
    while (good && out->count < SPOOL_V1_LIST_MAX && (errno = 0, item = readdir(stream)))
        good = !read_name_v1(item->d_name, &name) || append_name_v1(out, &name);
    good = good && (item || errno == 0);
    if (stream)
        (void)closedir(stream);
    if (out->count > 0)
        qsort(out->names, out->count, sizeof(out->names[0]), by_number_v1);
    return good;
}

/* Gives: all bytes of a regular file, ended with free; NULL: none, or it cannot be an entry. */
static unsigned char *read_file_v1(int fd, size_t *size)
{
    unsigned char *bytes = NULL;
    struct stat info;
    size_t got = 0;

    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < FIXED_SIZE ||
        info.st_size > SPOOL_V1_HEAD_MAX + SPOOL_V1_PAYLOAD_MAX)
        return NULL;
    *size = (size_t)info.st_size;
    bytes = malloc(*size);
    if (bytes && file_read(fd, bytes, *size, &got) && got == *size)
        return bytes;
    free(bytes);
    return NULL;
}

bool spool_v1_read(int dir, const struct spool_v1_name *name, struct spool_v1_entry *out)
{
    char text[SPOOL_V1_NAME_SIZE];
    unsigned char *bytes = NULL;
    size_t size = 0;
    bool good;
    int fd;

    spool_v1_file_name(name, text);
    fd = openat(dir, text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) {
        bytes = read_file_v1(fd, &size);
        (void)close(fd);
    }
    good = bytes && spool_v1_decode(bytes, size, out) && (name->owed >> out->ower_count) == 0;
    if (good)
        out->bytes = bytes;
    else
        free(bytes);
    return good;
}

void spool_v1_remove(int dir, const struct spool_v1_name *name)
{
    char text[SPOOL_V1_NAME_SIZE];

    spool_v1_file_name(name, text);
    (void)unlinkat(dir, text, 0);
}
