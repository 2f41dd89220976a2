/* SPDX-License-Identifier: Apache-2.0 */
/* alarm.c - see alarm.h. */
#include "agent/host/alarm.h"

#include <poll.h>
#include <sched.h>
#include <sys/timerfd.h>
#include <unistd.h>

bool alarm_init(struct alarm *alarm)
{
    *alarm = (struct alarm){.cpu = -1};
    alarm->fd[0] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    alarm->fd[1] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return alarm->fd[0] >= 0 && alarm->fd[1] >= 0;
}

void alarm_finish(struct alarm *alarm)
{
    for (int i = 0; i < 2; i++) {
        if (alarm->fd[i] >= 0)
            (void)close(alarm->fd[i]);
        alarm->fd[i] = -1;
    }
}

static bool set(struct alarm *alarm, int which, uint64_t at_ns)
{
    const struct itimerspec at = {.it_value = timespec_of_ns(at_ns)};

    if (alarm->at_ns[which] == at_ns)
        return true;
    alarm->at_ns[which] = at_ns;
    /* What it had to tell of before is forgotten with that: it need not be read. */
    return timerfd_settime(alarm->fd[which], TFD_TIMER_ABSTIME, &at, NULL) == 0;
}

int alarm_wait(struct alarm *alarm, int fd, uint64_t until_ns, uint64_t after_ns)
{
    const int cpu = sched_getcpu();
    const int which = alarm->at_ns[1] == until_ns;
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
                           {.fd = alarm->fd[which], .events = POLLIN}};

    if (cpu != alarm->cpu) /* a timer is of the CPU that it was set on */
        alarm->at_ns[0] = alarm->at_ns[1] = 0;
    alarm->cpu = cpu;
    if (!set(alarm, which, until_ns) || !set(alarm, !which, after_ns))
        return -1;
    if (ppoll(fds, 2, NULL, NULL) < 0)
        return -1;
    return fds[0].revents != 0;
}
