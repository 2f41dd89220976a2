/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h - a byte buffer that grows up to a maximum given at the start.
 *
 * Shape:   buf_init, any number of buf_add..., buf_failed once at the end, buf_finish.
 *          After a failure every further add does nothing.
 * Threads: a buffer belongs to one thread at a time.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BUF_MAX (SIZE_MAX / 2)

struct buf {
    unsigned char *data; /* owned; NULL while empty */
    size_t size;         /* bytes used */
    size_t capacity;     /* bytes of room; more than `size` unless `data` is NULL */
    size_t max;          /* upper limit of `size` */
    bool failed;         /* an add ran out of memory or would have gone over `max` */
};

/* Makes an empty buffer; allocates nothing. A `max` over BUF_MAX counts as BUF_MAX. */
void buf_init(struct buf *buf, size_t max);

/* Frees the memory; the buffer is empty then and can be used again. NULL is fine. */
void buf_finish(struct buf *buf);

/* Drops the content, clears `failed` and keeps the memory. */
void buf_reset(struct buf *buf);

/* Appends `size` bytes. */
void buf_add(struct buf *buf, const void *bytes, size_t size);

/* Appends a string without its NUL. */
void buf_add_str(struct buf *buf, const char *str);

/* Appends formatted text without a NUL. */
void buf_add_fmt(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * Appends `size` uninitialised bytes, for the caller to fill in.
 *
 * Lends: these bytes, until the next add; NULL after a failure.
 */
unsigned char *buf_extend(struct buf *buf, size_t size);

/*
 * Gives the content as a string with a NUL; after a failure, the content before that.
 *
 * Lends: the string, until the next add.
 * Cost:  allocates nothing, because a byte of room is always kept behind the content.
 */
const char *buf_text(const struct buf *buf);

/* True if any add since buf_init or buf_reset has failed. */
MUST_CHECK bool buf_failed(const struct buf *buf);

#endif
