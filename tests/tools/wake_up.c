/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wake_up.c - PID RATE SECONDS: wakes up so often on the CPU of that process, and does nothing.
 *
 * What is left of the process's speed is the most that any sampler can leave which reads it while
 * it stands still: a timer's interrupt and two switches of the CPU. In virtual machines that is
 * most of the price of a sample. Prints how many times it woke up.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/alarm.h"
#include "agent/clock.h"
#include "unwind/seat.h"

enum { LOOK_EACH = 50 }; /* wake-ups: then it is where the process is */

/* False: it cannot get there, or has no timer. */
static bool wake_up(struct seat *seat, struct alarm *alarm, pid_t pid, long rate, long count)
{
    const uint64_t step = NS_PER_S / (uint64_t)rate;
    uint64_t next = clock_mono_ns();
    long i;

    for (i = 0; i < count; i++) {
        if (i % LOOK_EACH == 0 && !seat_move(seat, pid, true))
            return false;
        next += step;
        if (alarm_wait(alarm, -1, next, next + step) < 0)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    long pid = argc == 4 ? strtol(argv[1], NULL, 10) : 0;
    long rate = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
    long seconds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    char path[32];
    struct alarm alarm;
    struct seat seat;
    bool good;

    if (pid <= 0 || rate <= 0 || rate > 100000 || seconds <= 0 || seconds > 3600) {
        (void)fprintf(stderr, "usage: wake_up PID RATE SECONDS\n");
        return 2;
    }
    (void)snprintf(path, sizeof(path), "/proc/%ld", pid);
    seat_init(&seat, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    good = alarm_init(&alarm) && wake_up(&seat, &alarm, (pid_t)pid, rate, rate * seconds);
    alarm_finish(&alarm);
    seat_finish(&seat);
    if (!good)
        (void)fprintf(stderr, "wake_up: may not sit on the CPU of process %ld\n", pid);
    else
        (void)printf("%ld wake-ups\n", rate * seconds);
    return good ? 0 : 1;
}
