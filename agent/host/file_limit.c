/* SPDX-License-Identifier: Apache-2.0 */
/* file_limit.c - see file_limit.h. */
#include "agent/host/file_limit.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

void file_limit_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

size_t file_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < SIZE_MAX ? limit.rlim_cur
                                                                              : SIZE_MAX;
}

size_t file_limit_used(int any_fd)
{
    const int lowest = fcntl(any_fd, F_DUPFD_CLOEXEC, 0);

    if (lowest < 0)
        return file_limit();
    (void)close(lowest);
    return (size_t)lowest;
}
