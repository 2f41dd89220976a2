/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - reads the ini file whole, or says why it cannot be read. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"
#include "conf/settings.h"

enum { STEP = 16 * 1024 };

/*
 * Opens a regular file. Without O_NONBLOCK, opening a FIFO would wait for a writer.
 * Gives: the descriptor; -1: `err` says why.
 */
static int open_regular(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0) {
        err_set(err, "cannot be opened: %s", strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) != 0)
        err_set(err, "cannot be examined: %s", strerror(errno));
    else if (S_ISDIR(st.st_mode))
        err_set(err, "is a directory; allowed: a regular file");
    else if (!S_ISREG(st.st_mode))
        err_set(err, "is a device, pipe or socket; allowed: a regular file");
    else
        return fd;
    (void)close(fd);
    return -1;
}

/* Appends what is in the file; false: `err` says why not. */
static bool read_all(int fd, struct buf *text, struct err *err)
{
    unsigned char step[STEP];
    ssize_t size;

    while (!buf_failed(text)) {
        size = read(fd, step, sizeof(step));
        if (size == 0)
            return true;
        if (size > 0)
            buf_add(text, step, (size_t)size);
        else if (errno != EINTR) {
            err_set(err, "cannot be read: %s", strerror(errno));
            return false;
        }
    }
    return true; /* too long, or out of memory: the caller asks */
}

/* Adds one line about the file as a whole. */
static enum conf_rc refuse(const char *path, const struct err *err, struct buf *errors)
{
    struct conf *named;
    enum conf_rc rc = conf_origin_new(path, &named);

    if (rc != CONF_OK)
        return rc;
    buf_add_fmt(errors, "%s: %s\n", named->origin->file, err->text);
    conf_free(named);
    return CONF_BAD;
}

static enum conf_rc parse_file(const char *path, int fd, struct buf *text, struct conf **out,
                               struct buf *errors)
{
    struct err err;

    if (!read_all(fd, text, &err))
        return refuse(path, &err, errors);
    if (buf_failed(text) && text->size <= CONF_TEXT_MAX - STEP)
        return CONF_NOMEM;
    if (buf_failed(text)) {
        err_set(&err, "is too large; allowed: up to 1 MiB");
        return refuse(path, &err, errors);
    }
    return conf_parse(path, text->size ? (const char *)text->data : "", text->size, out, errors);
}

enum conf_rc conf_read(const char *path, struct conf **out, struct buf *errors)
{
    struct err err;
    struct buf text;
    enum conf_rc rc;
    int fd = open_regular(path, &err);

    if (fd < 0)
        return refuse(path, &err, errors);
    buf_init(&text, CONF_TEXT_MAX);
    rc = parse_file(path, fd, &text, out, errors);
    buf_finish(&text);
    (void)close(fd);
    return rc;
}
