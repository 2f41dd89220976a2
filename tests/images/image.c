/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - see image.h. */
#include "tests/images/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IMAGE_MAX = 64 << 20, HEAD = 32, RANGE_HEAD = 16, MAGIC = 8 };

static const char magic[] = "PYSTIMG2";

struct range {
    cpy_addr from;
    uint64_t size;
    size_t at;    /* of its bytes in the file, or in a recorder's buffer */
    size_t order; /* in which it was recorded */
};

struct image_mem {
    struct mem mem;
    struct mem *inner;    /* owned: of a recorder; NULL: an image */
    struct buf bytes;     /* owned: the file, or what was recorded */
    struct range *ranges; /* owned; sorted in an image */
    size_t count, capacity;
};

static void image_close(struct mem *mem)
{
    struct image_mem *im = (struct image_mem *)mem;

    mem_close(im->inner);
    buf_finish(&im->bytes);
    free(im->ranges);
    free(im);
}

/* The last range that starts at or before `from`. */
static const struct range *range_before(const struct image_mem *im, cpy_addr from)
{
    size_t low = 0, high = im->count, middle;

    while (low < high) {
        middle = (low + high) / 2;
        if (im->ranges[middle].from <= from)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &im->ranges[low - 1] : NULL;
}

static enum cpy_rc image_read(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    const struct image_mem *im = (const struct image_mem *)mem;
    const struct range *range;
    uint64_t skip;
    size_t i;

    mem->reads++;
    for (i = 0; i < count; i++) {
        range = range_before(im, ranges[i].from);
        skip = range ? ranges[i].from - range->from : 0;
        if (!range || skip > range->size || range->size - skip < ranges[i].size)
            return CPY_RACED;
        memcpy(ranges[i].into, im->bytes.data + range->at + skip, ranges[i].size);
        mem->bytes += ranges[i].size;
    }
    return CPY_OK;
}

static enum cpy_rc add_range(struct image_mem *im, const struct range *range)
{
    size_t capacity = im->capacity ? im->capacity * 2 : 64;
    struct range *wider;

    if (im->count == im->capacity) {
        wider = realloc(im->ranges, capacity * sizeof(*wider));
        if (!wider)
            return CPY_NOMEM;
        im->ranges = wider;
        im->capacity = capacity;
    }
    im->ranges[im->count++] = *range;
    return CPY_OK;
}

/* Finds the ranges in the file's bytes; they must be in order and inside the file. */
static enum cpy_rc index_ranges(struct image_mem *im, uint32_t count)
{
    size_t at = HEAD;
    uint64_t head[2], end = 0;
    enum cpy_rc rc = CPY_OK;

    for (; count > 0 && rc == CPY_OK; count--) {
        if (im->bytes.size - at < RANGE_HEAD)
            return CPY_FOREIGN;
        memcpy(head, im->bytes.data + at, sizeof(head));
        at += RANGE_HEAD;
        if (head[0] < end || head[1] > im->bytes.size - at || head[0] + head[1] < head[0])
            return CPY_FOREIGN;
        end = head[0] + head[1];
        rc = add_range(im, &(struct range){.from = head[0], .size = head[1], .at = at});
        at += head[1];
    }
    return rc;
}

static struct image_mem *new_image(struct mem *inner)
{
    struct image_mem *im = calloc(1, sizeof(*im));

    if (!im)
        return NULL;
    im->inner = inner;
    im->mem.close = image_close;
    im->mem.read = image_read;
    buf_init(&im->bytes, IMAGE_MAX);
    return im;
}

static enum cpy_rc read_file(const char *path, struct buf *out, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    unsigned char *room = NULL;
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= HEAD &&
                st.st_size <= IMAGE_MAX;

    if (good)
        room = buf_extend(out, (size_t)st.st_size);
    good = room && read(fd, room, out->size) == (ssize_t)out->size;
    if (!good)
        err_set(err, "%s", fd < 0 ? strerror(errno) : "it is no memory image");
    if (fd >= 0)
        (void)close(fd);
    return good ? CPY_OK : CPY_FOREIGN;
}

enum cpy_rc image_open(const char *path, struct mem **out, struct found *found, struct err *err)
{
    struct image_mem *im = new_image(NULL);
    uint32_t words[2];
    enum cpy_rc rc;

    if (!im)
        return CPY_NOMEM;
    rc = read_file(path, &im->bytes, err);
    if (rc == CPY_OK) {
        memcpy(words, im->bytes.data + MAGIC, sizeof(words));
        rc = memcmp(im->bytes.data, magic, MAGIC) == 0 ? index_ranges(im, words[1]) : CPY_FOREIGN;
        if (rc == CPY_FOREIGN)
            err_set(err, "it is no memory image");
    }
    if (rc != CPY_OK) {
        mem_close(&im->mem);
        return rc;
    }
    found->hexversion = words[0];
    memcpy(&found->runtime, im->bytes.data + MAGIC + 8, sizeof(found->runtime));
    memcpy(&found->gil_current, im->bytes.data + MAGIC + 16, sizeof(found->gil_current));
    *out = &im->mem;
    return CPY_OK;
}

static enum cpy_rc record(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    struct image_mem *im = (struct image_mem *)mem;
    enum cpy_rc rc = mem_read_ranges(im->inner, ranges, count);
    struct range range;
    size_t i;

    mem->reads++;
    for (i = 0; i < count && rc == CPY_OK; i++) {
        range = (struct range){ranges[i].from, ranges[i].size, im->bytes.size, im->count};
        buf_add(&im->bytes, ranges[i].into, ranges[i].size);
        rc = buf_failed(&im->bytes) ? CPY_NOMEM : add_range(im, &range);
    }
    return rc;
}

/* Keeps a word that the process does not have. */
static enum cpy_rc note(struct mem *mem, cpy_addr at, uint64_t word)
{
    struct image_mem *im = (struct image_mem *)mem;
    const struct range range = {at, sizeof(word), im->bytes.size, im->count};

    buf_add(&im->bytes, &word, sizeof(word));
    return buf_failed(&im->bytes) ? CPY_NOMEM : add_range(im, &range);
}

struct mem *image_recorder(struct mem *inner)
{
    struct image_mem *im = new_image(inner);

    if (!im)
        return NULL;
    im->mem.read = record;
    return &im->mem;
}

static int by_address(const void *a, const void *b)
{
    const struct range *left = a, *right = b;

    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

/* Appends ranges[first..] that touch each other as one range; gives the next one. */
static size_t add_merged(const struct image_mem *im, const struct range *ranges, size_t first,
                         struct buf *out)
{
    uint64_t from = ranges[first].from, end = from, head[2];
    size_t next = first, data, i;

    for (; next < im->count && ranges[next].from <= end; next++)
        if (ranges[next].from + ranges[next].size > end)
            end = ranges[next].from + ranges[next].size;
    head[0] = from;
    head[1] = end - from;
    buf_add(out, head, sizeof(head));
    data = out->size;
    if (!buf_extend(out, end - from))
        return im->count;
    for (i = first; i < next; i++)
        memcpy(out->data + data + (ranges[i].from - from), im->bytes.data + ranges[i].at,
               ranges[i].size);
    return next;
}

static enum cpy_rc write_file(const char *path, const struct buf *bytes, struct err *err)
{
    FILE *file = buf_failed(bytes) ? NULL : fopen(path, "we");
    bool good = file && fwrite(bytes->data, 1, bytes->size, file) == bytes->size;

    if (file && fclose(file) != 0)
        good = false;
    if (!good)
        err_set(err, "%s: %s", path,
                buf_failed(bytes) ? "the image is too large" : strerror(errno));
    return good ? CPY_OK : CPY_NOMEM;
}

enum cpy_rc image_write(const struct mem *recorder, const char *path, const struct found *found,
                        struct err *err)
{
    const struct image_mem *im = (const struct image_mem *)recorder;
    struct range *ranges = calloc(im->count + 1, sizeof(*ranges));
    uint32_t words[2] = {found->hexversion, 0};
    struct buf out;
    size_t next = 0;
    enum cpy_rc rc;

    if (!ranges)
        return CPY_NOMEM;
    if (im->count > 0)
        memcpy(ranges, im->ranges, im->count * sizeof(*ranges));
    qsort(ranges, im->count, sizeof(*ranges), by_address);
    buf_init(&out, IMAGE_MAX);
    buf_add(&out, magic, MAGIC);
    buf_add(&out, words, sizeof(words));
    buf_add(&out, &found->runtime, sizeof(found->runtime));
    buf_add(&out, &found->gil_current, sizeof(found->gil_current));
    for (; next < im->count && !buf_failed(&out); words[1]++)
        next = add_merged(im, ranges, next, &out);
    if (!buf_failed(&out))
        memcpy(out.data + MAGIC, words, sizeof(words));
    rc = write_file(path, &out, err);
    buf_finish(&out);
    free(ranges);
    return rc;
}

enum cpy_rc image_open_target(const char *path, struct cpy_target **out, struct err *err)
{
    struct cpy_target *t = target_new();
    enum cpy_rc rc = CPY_NOMEM;

    if (!t)
        return rc;
    rc = image_open(path, &t->process.mem, &t->found, err);
    if (rc == CPY_OK)
        rc = find_accept(t->process.mem, t->found.hexversion, &t->found, err);
    if (rc != CPY_OK) {
        err_within(err, "%s", path);
        cpy_close(t);
        return rc;
    }
    target_choose_readers(t);
    *out = t;
    return CPY_OK;
}

static void ignore(void *ctx, const struct cpy_thread *thread)
{
    (void)ctx;
    (void)thread;
}

static void ignore_task(void *ctx, const struct cpy_task *task)
{
    (void)ctx;
    (void)task;
}

/* Reads the tasks, if the target has asyncio. */
static enum cpy_rc take_tasks(struct cpy_target *t)
{
    enum cpy_rc rc = cpy_tasks(t, ignore_task, NULL);

    if (rc == CPY_OK)
        rc = note(t->process.mem, ASYNCIO_IN_IMAGE, t->tasks.asyncio.table);
    return rc == CPY_FOREIGN ? CPY_OK : rc;
}

enum cpy_rc image_take(pid_t pid, const char *path, struct err *err)
{
    struct cpy_target *t = NULL;
    struct mem *recorder;
    enum cpy_rc rc = cpy_open(pid, &t, err);

    if (rc != CPY_OK)
        return rc;
    recorder = image_recorder(t->process.mem);
    if (!recorder) {
        cpy_close(t);
        return CPY_NOMEM;
    }
    t->process.mem = recorder;
    rc = find_accept(t->process.mem, t->found.hexversion, &t->found, err);
    if (rc == CPY_OK) {
        target_choose_readers(t);
        rc = cpy_sample(t, ignore, NULL);
    }
    if (rc == CPY_OK)
        rc = take_tasks(t);
    if (rc == CPY_OK)
        rc = image_write(t->process.mem, path, &t->found, err);
    else
        err_set(err, "process %d: %s", (int)pid, cpy_rc_text(rc));
    cpy_close(t);
    return rc;
}
