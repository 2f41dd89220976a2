/* SPDX-License-Identifier: Apache-2.0 */
/* secret.c - knows what a secret's file must look like to be trusted. */
#include "exporters/http/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "exporters/http/hidden.h"

/* NULL when fit. Symbolic links are: Kubernetes mounts secrets that way. */
static const char *why_unfit(int fd)
{
    struct stat info;

    if (fstat(fd, &info) != 0)
        return strerror(errno);
    if (!S_ISREG(info.st_mode))
        return "is not a regular file";
    if (info.st_size > SECRET_FILE_MAX)
        return "is larger than 64 KiB";
    if ((info.st_mode & S_IROTH) != 0)
        return "holds a secret and may be read by everybody: chmod o-r it";
    return NULL;
}

static size_t first_line(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    size_t length = end ? (size_t)(end - text) : size;

    while (length > 0 && strchr(" \t\r", text[length - 1]))
        length--;
    return length;
}

/* NULL when the line can stand in a header. */
static const char *why_no_secret(const char *line, size_t length)
{
    if (length == 0)
        return "has nothing in its first line";
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            return "has a control character in its first line";
    }
    return NULL;
}

enum exporter_rc secret_copy(const char *what, const char *text, char **out, struct err *err)
{
    size_t size = strnlen(text, SECRET_FILE_MAX);
    const char *wrong =
        text[size] == '\0' ? why_no_secret(text, first_line(text, size)) : "is larger than 64 KiB";
    char *copy;

    if (wrong) {
        err_set(err, "%s %s", what, wrong);
        return EXPORTER_BAD_CONFIG;
    }
    copy = hidden_strdup(text);
    if (!copy)
        return EXPORTER_NOMEM;
    copy[first_line(text, size)] = '\0';
    *out = copy;
    return EXPORTER_OK;
}

static enum exporter_rc take_line(int fd, const char *path, char *text, struct err *err)
{
    const char *wrong;
    size_t size;

    if (!file_read(fd, text, SECRET_FILE_MAX, &size)) { /* it may have grown since why_unfit */
        err_set(err, "%s: %s", path, strerror(errno));
        return EXPORTER_RETRY;
    }
    size = first_line(text, size);
    wrong = why_no_secret(text, size);
    if (wrong) {
        err_set(err, "%s %s", path, wrong);
        return EXPORTER_RETRY;
    }
    text[size] = '\0';
    return EXPORTER_OK;
}

static enum exporter_rc read_secret_line(int fd, const char *path, char **out, struct err *err)
{
    char *text = hidden_calloc(1, SECRET_FILE_MAX + 1);
    enum exporter_rc rc = text ? take_line(fd, path, text, err) : EXPORTER_NOMEM;
    char *line = rc == EXPORTER_OK ? hidden_strdup(text) : NULL;

    hidden_free(text);
    if (rc != EXPORTER_OK)
        return rc;
    if (!line)
        return EXPORTER_NOMEM;
    *out = line;
    return EXPORTER_OK;
}

enum exporter_rc secret_read(const char *path, char **out, struct err *err)
{
    /* O_NONBLOCK: a FIFO must not hold us up before it is refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    enum exporter_rc rc = EXPORTER_RETRY;
    const char *unfit;

    if (fd < 0) {
        err_set(err, "%s: %s", path, strerror(errno));
        return rc;
    }
    unfit = why_unfit(fd);
    if (unfit)
        err_set(err, "%s %s", path, unfit);
    else
        rc = read_secret_line(fd, path, out, err);
    (void)close(fd);
    return rc;
}

void secret_free(char *secret)
{
    hidden_free(secret);
}
