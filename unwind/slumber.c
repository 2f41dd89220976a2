/* SPDX-License-Identifier: Apache-2.0 */
/* slumber.c - see slumber.h. */
#include "unwind/slumber.h"

#include <unistd.h>

#include "unwind/taskstat.h"

void slumber_init(struct slumber *slumber)
{
    *slumber = (struct slumber){.fd = -1};
}

void slumber_finish(struct slumber *slumber)
{
    if (slumber->fd >= 0)
        (void)close(slumber->fd);
    slumber_init(slumber);
}

bool slumber_lasts(struct slumber *slumber)
{
    struct taskstat_sched now;

    if (!slumber->asleep)
        return false;
    slumber->asleep = taskstat_reread_sched(slumber->fd, &now) && now.turns == slumber->turns;
    return slumber->asleep && slumber->read;
}

void slumber_note(struct slumber *slumber, int proc_fd, pid_t tid, bool same)
{
    struct taskstat_sched now;
    struct taskstat stat;

    slumber->read = slumber->asleep;
    if (!same || slumber->asleep || proc_fd < 0 || tid == 0)
        return;
    if (slumber->fd < 0)
        slumber->fd = taskstat_open_sched(proc_fd, tid);
    /* Where the kernel does not count, it says 0. */
    slumber->asleep = taskstat_reread_sched(slumber->fd, &now) && now.turns > 0 &&
                      taskstat_read(proc_fd, tid, &stat) &&
                      (stat.state == 'S' || stat.state == 'D');
    slumber->turns = now.turns;
    slumber->asleep =
        slumber->asleep && taskstat_reread_sched(slumber->fd, &now) && now.turns == slumber->turns;
}
