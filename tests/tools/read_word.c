/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_word.c - PID RATE SECONDS: so often, wakes up on the CPU of that process and reads one word
 * of it.
 *
 * What is left of the process's speed is the most that any sampler can leave which reads it while
 * it stands still: a timer's interrupt, two switches of the CPU, and the least read. In virtual
 * machines, and with caches that are the process's own until then, that is most of the price of a
 * sample. Prints how many words it read, at the end or when a SIGINT ends it before.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/host/alarm.h"
#include "agent/host/clock.h"
#include "unwind/fast/cpu_pin.h"

enum { LOOK_EACH = 50 }; /* words: then it is where the process is */

static volatile sig_atomic_t ended;

static void end(int number)
{
    (void)number;
    ended = 1;
}

/* Where its first mapping begins; 0: there is none to be seen. */
static uint64_t first_address(pid_t pid)
{
    char path[32], line[64] = "";
    FILE *maps;

    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    if (!maps)
        return 0;
    if (!fgets(line, sizeof(line), maps))
        line[0] = '\0';
    (void)fclose(maps);
    return strtoull(line, NULL, 16);
}

static bool read_word(pid_t pid, uint64_t address)
{
    uint64_t word;
    const struct iovec into = {&word, sizeof(word)};
    /* The kernel takes the address as a pointer. */
    const struct iovec from = {(void *)(uintptr_t)address, sizeof(word)};

    return process_vm_readv(pid, &into, 1, &from, 1, 0) == (ssize_t)sizeof(word);
}

/* How many it read; -1: it cannot get there, has no timer, or may not read. */
static long read_words(struct cpu_pin *cpu_pin, struct alarm *alarm, pid_t pid, long rate,
                       long count)
{
    const uint64_t step = NS_PER_S / (uint64_t)rate, address = first_address(pid);
    uint64_t next = clock_mono_ns(), now;
    long i;

    for (i = 0; i < count; i++) {
        if (i % LOOK_EACH == 0 && !cpu_pin_move(cpu_pin, pid, true))
            return -1;
        now = clock_mono_ns();
        next = next + step > now ? next + step : now; /* it may have been stopped */
        if (alarm_wait(alarm, -1, next, next + step) < 0 && !ended)
            return -1;
        if (ended)
            break;
        if (!read_word(pid, address))
            return -1;
    }
    return i;
}

int main(int argc, char **argv)
{
    long pid = argc == 4 ? strtol(argv[1], NULL, 10) : 0;
    long rate = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
    long seconds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    char path[32];
    struct alarm alarm;
    struct cpu_pin cpu_pin;
    long words = -1;

    if (pid <= 0 || rate <= 0 || rate > 100000 || seconds <= 0 || seconds > 3600) {
        (void)fprintf(stderr, "usage: read_word PID RATE SECONDS\n");
        return 2;
    }
    (void)snprintf(path, sizeof(path), "/proc/%ld", pid);
    cpu_pin_init(&cpu_pin, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    (void)signal(SIGINT, end);
    if (alarm_init(&alarm))
        words = read_words(&cpu_pin, &alarm, (pid_t)pid, rate, rate * seconds);
    alarm_finish(&alarm);
    cpu_pin_finish(&cpu_pin);
    if (words < 0)
        (void)fprintf(stderr, "read_word: may not sit on the CPU of process %ld, or read it\n",
                      pid);
    else
        (void)printf("%ld words\n", words);
    return words < 0;
}
