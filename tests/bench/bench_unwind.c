/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_unwind.c - our side of the benchmark: PID OPERATION MODE, then commands on standard input.
 *
 *     stack | async | all-tasks                 what a call does, see operations.h
 *     wall | cpu | gil | all | exception        which threads it is about, as CPython's reader has
 * it
 *
 *     round MS     calls for that long, each timed; how many, what they gave, a histogram of ns,
 * the unwinder's counters and the allocations meanwhile changed MS   the same calls, not timed: the
 * bytes that changed from one to the next floor BYTES  what the cheapest reads of so many bytes
 * cost count N      N calls between two getsid(0), for strace
 *
 * Each answer is a line of JSON; so is the first line, when the target has been opened.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/changed.h"
#include "tests/bench/counters.h"
#include "tests/bench/floor.h"
#include "tests/bench/operations.h"
#include "tests/unit/alloc_fail.h"

enum { CALLS_MAX = 1 << 22 }; /* of one round */

struct bench {
    pid_t pid;
    struct cpy_target *target;
    struct operation op;
    uint32_t *took; /* ns of each call of the round */
};

/* How the calls of a round ended. */
struct tally {
    size_t calls, whole, torn, failed, empty;
    struct operation_got sum;
};

static const struct word {
    const char *name;
    uint32_t status, only;
} modes[] = {
    {"wall", 0, 0},
    {"cpu", CPY_STATUS_CPU, CPY_STATUS_CPU},
    {"gil", 0, CPY_STATUS_GIL},
    {"all", CPY_STATUS_CPU, 0},
    {"exception", CPY_STATUS_EXCEPTION, CPY_STATUS_EXCEPTION},
};

static const struct layer {
    const char *name;
    uint32_t bits; /* enum cpy_layer */
} layers[] = {
    {"none", 0},
    {"prediction", CPY_LAYER_PREDICTION},
    {"gil-skip", CPY_LAYER_GIL_SKIP},
    {"sleepers", CPY_LAYER_SLEEPERS},
    {"memo", CPY_LAYER_MEMO},
    {"pinning", CPY_LAYER_PINNING},
    {"bpf", CPY_LAYER_BPF},
    {"all", CPY_LAYER_ALL},
};

static const char *const kinds[] = {
    [OPERATION_STACK] = "stack", [OPERATION_ASYNC] = "async", [OPERATION_TASKS] = "all-tasks"};

static void count_call(struct tally *tally, enum cpy_rc rc, enum operation_kind kind,
                       const struct operation_got *got)
{
    tally->calls++;
    tally->sum.threads += got->threads;
    tally->sum.frames += got->frames;
    tally->sum.tasks += got->tasks;
    tally->sum.sink += got->sink;
    if (rc != CPY_OK)
        tally->failed++;
    else if (got->torn > 0)
        tally->torn++;
    else if (kind == OPERATION_STACK ? got->frames == 0 : got->tasks == 0)
        tally->empty++;
    else
        tally->whole++;
}

static void take_round(struct bench *bench, uint64_t for_ns, struct tally *tally)
{
    uint64_t before, after = floor_now_ns(), end = after + for_ns;
    enum cpy_rc rc;

    while (after < end && tally->calls < CALLS_MAX) {
        before = floor_now_ns();
        rc = operation_run(&bench->op);
        after = floor_now_ns();
        bench->took[tally->calls] =
            after - before < UINT32_MAX ? (uint32_t)(after - before) : UINT32_MAX;
        count_call(tally, rc, bench->op.kind, &bench->op.got);
    }
}

static int compare(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* Prints [[ns, times], ...]. */
static void print_histogram(uint32_t *took, size_t count)
{
    size_t i, start = 0;

    qsort(took, count, sizeof(*took), compare);
    (void)printf("[");
    for (i = 1; i <= count; i++)
        if (i == count || took[i] != took[start]) {
            (void)printf("%s[%" PRIu32 ", %zu]", start ? ", " : "", took[start], i - start);
            start = i;
        }
    (void)printf("]");
}

static void do_round(struct bench *bench, uint64_t for_ns)
{
    const struct cpy_stats before = *cpy_stats(bench->target);
    unsigned long allocations = alloc_fail_stop();
    struct tally tally = {0};

    take_round(bench, for_ns, &tally);
    allocations = alloc_fail_stop() - allocations;
    (void)printf("{\"calls\": %zu, \"whole\": %zu, \"torn\": %zu, \"failed\": %zu, \"empty\": %zu",
                 tally.calls, tally.whole, tally.torn, tally.failed, tally.empty);
    (void)printf(", \"looked_at\": %zu, \"sizes\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
                 tally.calls, tally.sum.threads, tally.sum.frames, tally.sum.tasks);
    (void)printf(", \"sink\": %" PRIu64 ", \"allocations\": %lu, \"stats\": ", tally.sum.sink,
                 allocations);
    counters_print(&before, cpy_stats(bench->target));
    (void)printf(", \"ns\": ");
    print_histogram(bench->took, tally.calls);
    (void)printf("}\n");
}

static void add_thread(void *ctx, const struct cpy_thread *thread)
{
    changed_add(ctx, thread->state, thread->frames, thread->depth);
}

static void add_task(void *ctx, const struct cpy_task *task)
{
    changed_add(ctx, task->id, task->frames, task->depth);
}

/* What async reads beside the threads' stacks stands still while the task on top runs. */
static void do_changed(struct bench *bench, uint64_t for_ns)
{
    const bool tasks = bench->op.kind == OPERATION_TASKS;
    struct changed changed;
    uint64_t torn, end = floor_now_ns() + for_ns;
    enum cpy_rc rc;

    if (!changed_init(&changed)) {
        (void)printf("{\"bytes\": null}\n");
        return;
    }
    while (floor_now_ns() < end && !changed.nomem) {
        torn = counters_torn(cpy_stats(bench->target));
        rc = tasks ? cpy_tasks(bench->target, add_task, &changed)
                   : cpy_sample(bench->target, add_thread, &changed);
        changed_next(&changed, rc == CPY_OK && counters_torn(cpy_stats(bench->target)) == torn);
    }
    if (changed.pairs > 0 && !changed.nomem)
        (void)printf("{\"bytes\": %.1f}\n", (double)changed.bytes / (double)changed.pairs);
    else
        (void)printf("{\"bytes\": null}\n");
    changed_finish(&changed);
}

static void do_floor(const struct bench *bench, uint64_t bytes)
{
    struct floor_cost cost;

    if (!floor_measure(bench->pid, bytes, &cost)) {
        (void)printf("{\"bytes\": null}\n");
        return;
    }
    (void)printf("{\"bytes\": %" PRIu64 ", \"readv_ns\": %" PRIu64 ", \"pread_ns\": %" PRIu64,
                 cost.bytes, cost.readv_ns, cost.pread_ns);
    (void)printf(", \"word_readv_ns\": %" PRIu64 ", \"word_pread_ns\": %" PRIu64
                 ", \"clock_ns\": %" PRIu64 "}\n",
                 cost.word_readv_ns, cost.word_pread_ns, cost.clock_ns);
}

/* getsid is a call that nothing else here makes. */
static void do_count(struct bench *bench, uint64_t times)
{
    struct tally tally = {0};

    (void)getsid(0);
    while (tally.calls < times)
        count_call(&tally, operation_run(&bench->op), bench->op.kind, &bench->op.got);
    (void)getsid(0);
    (void)printf("{\"calls\": %zu, \"whole\": %zu}\n", tally.calls, tally.whole);
}

/* False: there is no such command. */
static bool obey(struct bench *bench, const char *command, uint64_t number)
{
    if (strcmp(command, "round") == 0)
        do_round(bench, number * 1000000);
    else if (strcmp(command, "changed") == 0)
        do_changed(bench, number * 1000000);
    else if (strcmp(command, "floor") == 0)
        do_floor(bench, number);
    else if (strcmp(command, "count") == 0)
        do_count(bench, number);
    else
        return false;
    return fflush(stdout) == 0;
}

static bool serve(struct bench *bench)
{
    char line[64], *number;
    bool good = true;

    (void)printf("{\"version\": \"%s\"}\n", cpy_info(bench->target)->version);
    (void)fflush(stdout);
    while (good && fgets(line, sizeof(line), stdin)) {
        number = strchr(line, ' ');
        good = number != NULL;
        if (good) {
            *number = '\0';
            good = obey(bench, line, strtoull(number + 1, NULL, 10));
        }
    }
    return good;
}

/* Fills kind and options from their words. */
static bool read_words(const char *operation, const char *mode, enum operation_kind *kind,
                       struct cpy_options *options)
{
    size_t i, k;

    for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kinds[k], operation) != 0;)
        k++;
    for (i = 0; i < sizeof(modes) / sizeof(modes[0]) && strcmp(modes[i].name, mode) != 0;)
        i++;
    if (k == sizeof(kinds) / sizeof(kinds[0]) || i == sizeof(modes) / sizeof(modes[0]))
        return false;
    *kind = (enum operation_kind)k;
    *options = (struct cpy_options){
        .status = modes[i].status, .only = modes[i].only, .tasks = *kind == OPERATION_ASYNC};
    return true;
}

/* The layers that samples are taken without. False: there is no such word. */
static bool read_layer(const char *name, uint32_t *out)
{
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
        if (strcmp(layers[i].name, name) == 0) {
            *out = layers[i].bits;
            return true;
        }
    return false;
}

/* Begun apart from the target, the unwinder may move to it, as anywhere else. */
static void may_run_anywhere(void)
{
    cpu_set_t all;
    size_t cpu;

    CPU_ZERO(&all);
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
        CPU_SET(cpu, &all);
    (void)sched_setaffinity(0, sizeof(all), &all);
}

int main(int argc, char **argv)
{
    struct cpy_options options;
    struct err err = {""};
    struct bench bench = {0};
    enum operation_kind kind;
    bool good;

    if (argc < 4 || argc > 5 || !read_words(argv[2], argv[3], &kind, &options) ||
        (argc == 5 && !read_layer(argv[4], &options.plain))) {
        (void)fprintf(stderr,
                      "usage: bench_unwind PID stack|async|all-tasks wall|cpu|gil|all|exception "
                      "[none|prediction|gil-skip|sleepers|memo|pinning|bpf|all]\n"
                      "the last: a layer that is left out\n");
        return 2;
    }
    bench.pid = (pid_t)strtol(argv[1], NULL, 10);
    if (cpy_open(bench.pid, &bench.target, &err) != CPY_OK) {
        (void)fprintf(stderr, "bench_unwind: %s\n", err.text);
        return 1;
    }
    may_run_anywhere();
    cpy_set_options(bench.target, &options);
    operation_init(&bench.op, bench.target, kind);
    if (options.status & CPY_STATUS_CPU)
        (void)clock_getcpuclockid(bench.pid, &bench.op.cpu_clock);
    bench.took = malloc(CALLS_MAX * sizeof(*bench.took));
    good = bench.took && serve(&bench);
    free(bench.took);
    cpy_close(bench.target);
    return good ? 0 : 1;
}
