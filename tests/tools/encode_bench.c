/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode_bench.c - encodes a large profile again and again, and says what that costs.
 *
 * Use: encode_bench pprof|otlp STACKS DEPTH ROUNDS FILE
 *
 * The profile has STACKS distinct stacks of DEPTH frames, walks through a graph of calls, and three
 * values a stack. A line of JSON a round: the CPU time, the memory that it needed at the most
 * beyond what was there, the bytes of the gzip'd result and of what is in it. The last result goes
 * to FILE. The memory of a request is kept from round to round, as the agent keeps it from interval
 * to interval: all that is needed is in the first round's line.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_units.h"
#include "pprof/otlp.h"
#include "pprof/pprof.h"

enum { PROFILE_MAX = 256 * 1024 * 1024, DEPTH_MAX = 1024, FUNCTIONS = 2000, FILES = 150 };

static const struct pprof_type types[] = {
    {"samples", "count"}, {"wall", "nanoseconds"}, {"cpu", "nanoseconds"}};

struct numbers {
    uint64_t state;
};

/* xorshift64: the same profile on every machine. */
static uint32_t next(struct numbers *numbers, uint32_t below)
{
    numbers->state ^= numbers->state << 13;
    numbers->state ^= numbers->state >> 7;
    numbers->state ^= numbers->state << 17;
    return (uint32_t)(numbers->state >> 33) % below;
}

static int fail(const char *what)
{
    (void)fprintf(stderr, "encode_bench: %s\n", what);
    return 1;
}

static bool make_functions(struct pprof *profile, uint32_t functions[FUNCTIONS])
{
    char name[64], file[96];

    for (unsigned i = 0; i < FUNCTIONS; i++) {
        unsigned module = i % FILES;

        (void)snprintf(name, sizeof(name), "Handler%u.process_request_%u", i / 7, i);
        (void)snprintf(file, sizeof(file), "/usr/lib/python3/dist-packages/package%u/module%u.py",
                       module / 8, module);
        if (pprof_function(profile, name, file, (int32_t)(10 + 40 * (i / FILES)), &functions[i]) !=
            PPROF_OK)
            return false;
    }
    return true;
}

/*
 * A walk from the root: each function calls a few others, one of them mostly, each from a line
 * of its own. So stacks share their callers, as they do in programs.
 */
static bool make_stack(struct pprof *profile, const uint32_t functions[FUNCTIONS],
                       struct numbers *numbers, size_t depth)
{
    uint32_t locations[DEPTH_MAX], stack, row, function = 0, way, call;
    int64_t values[3];

    for (size_t i = depth; i-- > 0;) {
        way = next(numbers, 100);
        call = way < 70 ? 0 : way < 90 ? 1 : 2 + way % 4;
        if (pprof_location(profile, functions[function], (int32_t)(12 + function % 500 + 5 * call),
                           0, &locations[i]) != PPROF_OK)
            return false;
        function = (function * 7 + call * 131 + 1) % FUNCTIONS;
    }
    if (pprof_stack(profile, locations, depth, &stack) != PPROF_OK ||
        pprof_row(profile, stack, NULL, 0, &row) != PPROF_OK)
        return false;
    values[0] = 1 + next(numbers, 9);
    values[1] = values[0] * 52631578;
    values[2] = values[1] - next(numbers, 40000000);
    pprof_add(profile, row, values);
    return true;
}

static struct pprof *make_profile(size_t stacks, size_t depth)
{
    struct numbers numbers = {UINT64_C(0x9e3779b97f4a7c15)};
    uint32_t functions[FUNCTIONS];
    struct pprof *profile;

    if (pprof_new(types, sizeof(types) / sizeof(types[0]), PROFILE_MAX, &profile) != PPROF_OK)
        return NULL;
    if (make_functions(profile, functions)) {
        for (unsigned tries = 0; pprof_row_count(profile) < stacks && tries < 100 * stacks; tries++)
            if (!make_stack(profile, functions, &numbers, depth))
                break;
        if (pprof_row_count(profile) == stacks)
            return profile;
    }
    pprof_free(profile);
    return NULL;
}

struct bench {
    struct pprof *profile; /* owned */
    struct otlp *otlp;     /* owned; NULL: pprofs are made */
};

static bool encode_pprof(const struct pprof *profile, struct buf *out)
{
    const struct pprof_meta meta = {.time_ns = INT64_C(1700000000000000000),
                                    .duration_ns = INT64_C(15000000000),
                                    .period_type = {"cpu", "nanoseconds"},
                                    .period = 52631578};

    return pprof_encode(profile, &meta, out) == PPROF_OK;
}

static bool add_otlp(const struct pprof *profile, struct otlp *otlp)
{
    const struct otlp_attribute attribute = {.key = "service.name", .str = "shop"};
    const struct otlp_type kinds[] = {
        {2, {"samples", "count"}, 1000, {"cpu", "nanoseconds"}, 1000},
        {1, {"wall", "nanoseconds"}, 1, {"wall", "nanoseconds"}, 52631578}};
    const struct otlp_service service = {.profile = profile,
                                         .attributes = &attribute,
                                         .attribute_count = 1,
                                         .types = kinds,
                                         .type_count = 2,
                                         .time_ns = INT64_C(1700000000000000000),
                                         .duration_ns = INT64_C(15000000000)};
    struct otlp_rows *rows;
    bool added = otlp_rows_new(&service, &rows) == PPROF_OK;

    if (added) {
        added = otlp_add(otlp, rows) == PPROF_OK;
        otlp_rows_free(rows);
    }
    return added;
}

static bool encode(const struct bench *bench, struct buf *out)
{
    static const unsigned char no_id[OTLP_ID_SIZE];

    if (!bench->otlp)
        return encode_pprof(bench->profile, out);
    return otlp_reset(bench->otlp, no_id) == PPROF_OK && add_otlp(bench->profile, bench->otlp) &&
           otlp_finish(bench->otlp, out) == PPROF_OK;
}

/* CPU time, as others may be at work on the machine. */
static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)timespec_to_ns(now);
}

/* The last four bytes of a gzip stream say how long it is when it is unpacked. */
static unsigned long plain_size(const struct buf *packed)
{
    const unsigned char *end = packed->data + packed->size;

    if (packed->size < 4)
        return 0;
    return end[-4] | (unsigned long)end[-3] << 8 | (unsigned long)end[-2] << 16 |
           (unsigned long)end[-1] << 24;
}

/* A size that /proc/self/status gives under that name, in bytes; -1: none. */
static long long memory_of(const char *name)
{
    char line[256];
    long long kib = -1;
    FILE *file = fopen("/proc/self/status", "re");

    while (file && kib < 0 && fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtoll(line + strlen(name), NULL, 10);
    if (file)
        (void)fclose(file);
    return kib < 0 ? -1 : kib * 1024;
}

/* Makes the most memory that was resident start anew. */
static void forget_peak(void)
{
    FILE *file;

    (void)malloc_trim(0);
    file = fopen("/proc/self/clear_refs", "we");
    if (file) {
        (void)fputs("5", file);
        (void)fclose(file);
    }
}

static bool run_round(const struct bench *bench, const char *path)
{
    struct buf out;
    long long before;
    int64_t started;
    FILE *file;
    bool good;

    buf_init(&out, PROFILE_MAX);
    forget_peak();
    before = memory_of("VmRSS:");
    started = now_ns();
    good = encode(bench, &out);
    started = now_ns() - started;
    (void)printf("{\"ns\": %lld, \"peak_bytes\": %lld, \"bytes\": %zu, \"plain_bytes\": %lu}\n",
                 (long long)started, memory_of("VmHWM:") - before, out.size, plain_size(&out));
    file = good && path ? fopen(path, "we") : NULL;
    if (file) {
        good = fwrite(out.data, 1, out.size, file) == out.size;
        good = fclose(file) == 0 && good;
    }
    buf_finish(&out);
    return good;
}

/* Makes what the rounds need. */
static bool prepare(struct bench *bench, const char *form, size_t stacks, size_t depth)
{
    static const struct otlp_limits unlimited;

    if (strcmp(form, "otlp") == 0 &&
        otlp_new("pystrobe", "0", &unlimited, &bench->otlp) != PPROF_OK)
        return false;
    bench->profile = depth > 0 && depth <= DEPTH_MAX ? make_profile(stacks, depth) : NULL;
    return bench->profile != NULL;
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, NULL};
    unsigned long rounds;
    bool good;

    if (argc != 6)
        return fail("usage: encode_bench pprof|otlp STACKS DEPTH ROUNDS FILE");
    rounds = strtoul(argv[4], NULL, 10);
    good = prepare(&bench, argv[1], strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    for (unsigned long i = 0; i < rounds && good; i++)
        good = run_round(&bench, i + 1 == rounds ? argv[5] : NULL);
    otlp_free(bench.otlp);
    pprof_free(bench.profile);
    return good ? 0 : fail("there can be no such profile, or it was not encoded");
}
