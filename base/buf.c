/* SPDX-License-Identifier: Apache-2.0 */
/* buf.c - see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.max = max < BUF_MAX ? max : BUF_MAX};
}

void buf_finish(struct buf *buf)
{
    if (!buf)
        return;
    free(buf->data);
    buf_init(buf, buf->max);
}

void buf_reset(struct buf *buf)
{
    buf->size = 0;
    buf->failed = false;
}

/* Makes room for `size` more bytes, and for the NUL of buf_text. */
static bool reserve_buf(struct buf *buf, size_t size)
{
    size_t capacity = buf->capacity ? buf->capacity : 256;
    unsigned char *data;

    if (buf->failed || size > buf->max - buf->size)
        return false;
    if (size < buf->capacity - buf->size)
        return true;
    while (capacity - buf->size <= size)
        capacity = capacity > buf->max / 2 ? buf->max + 1 : capacity * 2;
    data = realloc(buf->data, capacity);
    if (!data)
        return false;
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

unsigned char *buf_extend(struct buf *buf, size_t size)
{
    unsigned char *room;

    if (!reserve_buf(buf, size)) {
        buf->failed = true;
        return NULL;
    }
    room = buf->data + buf->size;
    buf->size += size;
    return room;
}

void buf_add(struct buf *buf, const void *bytes, size_t size)
{
    unsigned char *room;

    if (size == 0)
        return;
    room = buf_extend(buf, size);
    if (room)
        memcpy(room, bytes, size);
}

void buf_add_str(struct buf *buf, const char *str)
{
    buf_add(buf, str, strlen(str));
}

void buf_add_fmt(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    unsigned char *room;
    int size;

    va_start(args, format);
    va_copy(again, args);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0)
        buf->failed = true;
    room = size < 0 ? NULL : buf_extend(buf, (size_t)size);
    if (room)
        (void)vsnprintf((char *)room, (size_t)size + 1, format, again);
    va_end(again);
}

const char *buf_text(const struct buf *buf)
{
    if (!buf->data)
        return "";
    buf->data[buf->size] = '\0';
    return (const char *)buf->data;
}

bool buf_failed(const struct buf *buf)
{
    return buf->failed;
}
