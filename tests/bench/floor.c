/* SPDX-License-Identifier: Apache-2.0 */
/* floor.c - see floor.h. */
#include "tests/bench/floor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/time_units.h"

enum { CALLS = 4001, BYTES_MAX = 1 << 20, WORD = 8 };

/* What is read, and by which descriptor. */
struct source {
    pid_t pid;
    int mem; /* /proc/PID/mem */
    uint64_t from;
};

enum call { NOTHING, READV, PREAD };

uint64_t floor_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return timespec_to_ns(now);
}

/* Reads "start-end rights ..." of a memory map. False: it is no such line, or not writable. */
static bool read_mapping(const char *line, uint64_t *start, uint64_t *end)
{
    char *rest;

    *start = strtoull(line, &rest, 16);
    if (*rest != '-')
        return false;
    *end = strtoull(rest + 1, &rest, 16);
    return strncmp(rest, " rw", 3) == 0 && *end > *start;
}

/* Finds memory that the process has written to: its heap, or else its first writable mapping. */
static bool find_memory(pid_t pid, uint64_t *from, uint64_t *size)
{
    char path[64], line[4400];
    uint64_t start, end;
    bool heap = false;
    FILE *maps;

    *size = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    while (maps && !heap && fgets(line, sizeof(line), maps)) {
        heap = strstr(line, "[heap]") != NULL;
        if (read_mapping(line, &start, &end) && (heap || *size == 0)) {
            *from = start;
            *size = end - start;
        }
    }
    if (maps)
        (void)fclose(maps);
    return *size >= WORD;
}

static ssize_t call_once(const struct source *source, enum call call, void *into, size_t bytes)
{
    struct iovec local = {into, bytes}, remote = {(void *)(uintptr_t)source->from, bytes};

    switch (call) {
    case READV:
        return process_vm_readv(source->pid, &local, 1, &remote, 1, 0);
    case PREAD:
        return pread(source->mem, into, bytes, (off_t)source->from);
    case NOTHING:
    default:
        return (ssize_t)bytes;
    }
}

static int compare(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* The median of many calls; 0: they fail. */
static uint64_t median_of(const struct source *source, enum call call, void *into, size_t bytes)
{
    static uint64_t took[CALLS];
    uint64_t before;
    size_t i;

    for (i = 0; i < CALLS; i++) {
        before = floor_now_ns();
        if (call_once(source, call, into, bytes) != (ssize_t)bytes)
            return 0;
        took[i] = floor_now_ns() - before;
    }
    qsort(took, CALLS, sizeof(took[0]), compare);
    return took[CALLS / 2];
}

bool floor_measure(pid_t pid, uint64_t bytes, struct floor_cost *out)
{
    static unsigned char into[BYTES_MAX];
    struct source source = {.pid = pid, .mem = -1};
    char path[64];
    uint64_t size;

    if (!find_memory(pid, &source.from, &size))
        return false;
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    source.mem = open(path, O_RDONLY | O_CLOEXEC);
    if (source.mem < 0)
        return false;
    size = size < sizeof(into) ? size : sizeof(into);
    out->bytes = bytes < WORD ? WORD : bytes < size ? bytes : size;
    out->clock_ns = median_of(&source, NOTHING, into, WORD);
    out->word_readv_ns = median_of(&source, READV, into, WORD);
    out->word_pread_ns = median_of(&source, PREAD, into, WORD);
    out->readv_ns = median_of(&source, READV, into, out->bytes);
    out->pread_ns = median_of(&source, PREAD, into, out->bytes);
    (void)close(source.mem);
    return out->readv_ns > 0 || out->pread_ns > 0;
}
