/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - reads the ini file whole, or says why it cannot be read. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/denied.h"
#include "base/file.h"
#include "conf/conf.h"
#include "conf/settings.h"

/*
 * Opens a regular file. Without O_NONBLOCK, opening a FIFO would wait for a writer.
 * Gives: the descriptor; -1: `err` says why.
 */
static int open_regular(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char text[DENIED_TEXT_MAX];
    struct stat st;

    if (fd < 0) {
        err_set(err, "cannot be opened: %s", denied_text(path, errno, text));
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

static enum conf_rc read_conf_within_limit(int fd, struct buf *text, struct err *err)
{
    if (file_read_all(fd, text))
        return CONF_OK;
    if (errno == ENOMEM)
        return CONF_NOMEM;
    if (errno == EFBIG)
        err_set(err, "is too large; allowed: up to 1 MiB");
    else
        err_set(err, "cannot be read: %s", strerror(errno));
    return CONF_BAD;
}

enum conf_rc conf_file_read(const char *path, struct buf *text, struct err *err)
{
    int fd = open_regular(path, err);
    enum conf_rc rc = CONF_BAD;

    if (fd >= 0) {
        rc = read_conf_within_limit(fd, text, err);
        (void)close(fd);
    }
    return rc;
}
