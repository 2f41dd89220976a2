/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_sampler.c - samples a process at a rate, as the agent does, and prints what it saw.
 *
 *     truth_sampler --pid PID [--rate HZ] [--seconds S] [--cpu N | --pin N] [--seed N]
 *                   [--ask-cpu 1] [--onsite 1] [--plain 1]
 *
 * --cpu starts each tick on that CPU and lets the unwinder move away from it; --pin keeps it
 * there; --ask-cpu finds out of each thread whether it is on a CPU; --onsite reads it in an
 * interrupt on its CPU, where that is possible; --plain leaves out the layers that save time.
 * Prints one JSON object: `functions` [name, file,
 * first line], `nodes` of the tree of calls [parent or -1, function, line], `stacks` [tid,
 * innermost node or -1, times, weight, first seen, last seen], how many were `cut` (too deep) and
 * `torn`, samples for which we `held` the target's CPU or that `failed` by reason, and the
 * unwinder's `stats`. A sample weighs the time for
 * which the target ran since the one before, `effective` is how many samples of equal weight are as
 * good. While we have its CPU, or it is read in an interrupt, the target stands still, and what it
 * measures of itself has that time, too: it goes to the stack that it stands in, as a deep one
 * takes longer. Times are CLOCK_MONOTONIC in nanoseconds.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_units.h"
#include "unwind/cpy.h"

enum { REFUSED = 3 }; /* exit status: --onsite is not possible here */
enum { KEY_WORDS = 2, RC_COUNT = CPY_NOMEM + 1, HELD_MAX = 64 };

/* Different keys in the order in which they came, found again by hash. */
struct table {
    uint64_t (*keys)[KEY_WORDS]; /* owned */
    uint32_t *slots;             /* owned: number of the key + 1; 0: free */
    size_t count, slot_count;    /* slot_count is a power of two, or 0 */
};

struct function {
    char *name, *file; /* owned */
    int32_t first_line;
};

struct seen {
    uint64_t times, weight_ns, first_ns, last_ns;
};

struct options {
    pid_t pid;
    double rate_hz, seconds;
    int cpu, pin; /* -1: not given */
    uint64_t seed;
    bool ask_cpu, bpf_reader, plain;
};

struct sampler {
    struct options options;
    struct cpy_target *target;   /* owned */
    struct cpy_scratch *scratch; /* owned: with --onsite */
    cpu_set_t allowed;
    uint64_t random, now_ns, weight_ns;
    uint64_t held_ns;       /* for which the target stood still in this sample */
    uint64_t since_ns;      /* from when on the next sample's weight counts */
    uint64_t since_cpu_ns;  /* our CPU time then */
    int64_t held[HELD_MAX]; /* the stacks of this sample */
    size_t held_count;
    double weight, weight_squares; /* sums over the samples */
    struct table codes;            /* code id -> function */
    struct table nodes;            /* parent and function, line */
    struct table stacks;           /* tid, node */
    struct function *functions;    /* owned: of codes */
    struct seen *seen;             /* owned: of stacks */
    uint64_t ticks, late, held_samples, threads, torn, cut, failed[RC_COUNT];
    uint64_t delay_ns, took_ns; /* sums: from the time of a tick to its sample, and of samples */
    uint64_t begin_ns, end_ns;
    bool no_memory;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return timespec_to_ns(now);
}

static size_t slot_of(const struct table *table, const uint64_t *key)
{
    uint64_t hash = (key[0] ^ key[1] * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    size_t slot = (size_t)(hash ^ hash >> 29) & (table->slot_count - 1);

    while (table->slots[slot] != 0 &&
           memcmp(table->keys[table->slots[slot] - 1], key, sizeof(table->keys[0])) != 0)
        slot = (slot + 1) & (table->slot_count - 1);
    return slot;
}

/* Twice the room. False: out of memory. */
static bool grow(struct table *table)
{
    struct table wider = *table;
    size_t i;

    wider.slot_count = table->slot_count ? table->slot_count * 2 : 1024;
    wider.slots = calloc(wider.slot_count, sizeof(*wider.slots));
    wider.keys = realloc(table->keys, wider.slot_count / 2 * sizeof(*wider.keys));
    if (wider.keys)
        table->keys = wider.keys;
    if (!wider.slots || !wider.keys) {
        free(wider.slots);
        return false;
    }
    for (i = 0; i < wider.count; i++)
        wider.slots[slot_of(&wider, wider.keys[i])] = (uint32_t)i + 1;
    free(table->slots);
    *table = wider;
    return true;
}

/* The number of a key; a new one gets the next number. -1: out of memory. */
static int64_t number_of(struct table *table, uint64_t high, uint64_t low)
{
    const uint64_t key[KEY_WORDS] = {high, low};
    size_t slot;

    if (table->count == table->slot_count / 2 && !grow(table))
        return -1;
    slot = slot_of(table, key);
    if (table->slots[slot] == 0) {
        memcpy(table->keys[table->count], key, sizeof(key));
        table->slots[slot] = (uint32_t)++table->count;
    }
    return (int64_t)table->slots[slot] - 1;
}

/* `array` with room for one more item after `count`, in steps of powers of two. */
static void *with_room(void *array, size_t count, size_t item_bytes)
{
    if (count & (count - 1))
        return array; /* there is room up to the next power of two */
    return realloc(array, (count ? count * 2 : 1) * item_bytes);
}

static int64_t function_of(struct sampler *s, const struct cpy_code *code)
{
    size_t count = s->codes.count;
    int64_t number = number_of(&s->codes, code->id, 0);
    struct function *wider;

    if (number < 0 || s->codes.count == count)
        return number;
    wider = with_room(s->functions, count, sizeof(*wider));
    if (!wider) {
        s->codes.count = count;
        return -1;
    }
    s->functions = wider;
    wider[count] = (struct function){strdup(code->func), strdup(code->file), code->first_line};
    return wider[count].name && wider[count].file ? number : -1;
}

static bool count_stack(struct sampler *s, pid_t tid, int64_t node)
{
    size_t count = s->stacks.count;
    int64_t number = number_of(&s->stacks, (uint64_t)tid, (uint64_t)node);
    struct seen *wider;

    if (number < 0)
        return false;
    if (s->stacks.count != count) {
        wider = with_room(s->seen, count, sizeof(*wider));
        if (!wider) {
            s->stacks.count = count;
            return false;
        }
        s->seen = wider;
        s->seen[count] = (struct seen){.first_ns = s->now_ns};
    }
    if (s->held_count < HELD_MAX)
        s->held[s->held_count++] = number;
    s->seen[number].times++;
    s->seen[number].weight_ns += s->weight_ns;
    s->seen[number].last_ns = s->now_ns;
    return true;
}

static void add_thread(void *ctx, const struct cpy_thread *thread)
{
    struct sampler *s = ctx;
    int64_t function, node = -1;
    uint32_t i;

    s->threads++;
    s->cut += thread->cut;
    s->torn += thread->torn;
    if (thread->torn)
        return;
    for (i = thread->depth; i > 0 && !s->no_memory; i--) {
        function = function_of(s, thread->frames[i - 1].code);
        if (function >= 0)
            node = number_of(&s->nodes, (uint64_t)(node + 1) << 32 | (uint64_t)function,
                             (uint64_t)(uint32_t)thread->frames[i - 1].line);
        s->no_memory = function < 0 || node < 0;
    }
    if (!s->no_memory)
        s->no_memory = !count_stack(s, thread->tid, node);
}

/* As the agent's ticks: from half to one and a half periods, so that nothing is in step. */
static uint64_t step_ns(struct sampler *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (uint64_t)((0.5 + (double)(s->random >> 11) / 9007199254740992.0) * 1e9 /
                      s->options.rate_hz);
}

static bool run_only_on(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    return sched_setaffinity(0, sizeof(one), &one) == 0;
}

/* Back to the CPU where ticks are to begin, with leave to move away. */
static bool go_home(const struct sampler *s)
{
    if (s->options.cpu < 0 || sched_getcpu() == s->options.cpu)
        return true;
    return run_only_on(s->options.cpu) &&
           sched_setaffinity(0, sizeof(s->allowed), &s->allowed) == 0;
}

static void sleep_until(uint64_t until_ns)
{
    const struct timespec until = timespec_of_ns(until_ns);

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
}

/* What a sample at `now_ns` stands for: the time since the one before but for what we had of it. */
static void weigh(struct sampler *s, uint64_t now_ns, bool held)
{
    const uint64_t own_ns = held ? clock_ns(CLOCK_THREAD_CPUTIME_ID) - s->since_cpu_ns : 0;

    s->held_count = 0;
    s->weight_ns = now_ns - s->since_ns > own_ns ? now_ns - s->since_ns - own_ns : 0;
    s->held_ns = own_ns;
    s->weight += (double)s->weight_ns;
    s->weight_squares += (double)s->weight_ns * (double)s->weight_ns;
    s->now_ns = now_ns;
}

/* A sample is done; the target was `held` meanwhile, or stood still for `bpf_ns` of it. */
static void end_sample(struct sampler *s, bool held, uint64_t bpf_ns)
{
    const uint64_t done_ns = clock_ns(CLOCK_MONOTONIC), took_ns = done_ns - s->now_ns;
    size_t i;

    s->took_ns += took_ns;
    s->held_samples += held;
    s->held_ns += held ? took_ns : bpf_ns;
    for (i = 0; i < s->held_count; i++)
        s->seen[s->held[i]].weight_ns += s->held_ns;
    s->since_ns = held ? done_ns : s->now_ns + bpf_ns;
    s->since_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static bool run(struct sampler *s)
{
    uint64_t step, next_ns = clock_ns(CLOCK_MONOTONIC);
    enum cpy_rc rc = CPY_OK;
    uint64_t bpf_ns;
    bool held;

    s->begin_ns = s->since_ns = next_ns;
    s->since_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    s->end_ns = next_ns + (uint64_t)(s->options.seconds * 1e9);
    while (next_ns < s->end_ns && rc != CPY_GONE && !s->no_memory) {
        held = cpy_pin_cpu(s->target);
        if (!held && !go_home(s))
            return false;
        sleep_until(next_ns);
        weigh(s, clock_ns(CLOCK_MONOTONIC), held);
        s->delay_ns += s->now_ns - next_ns;
        cpy_woke(s->target, s->now_ns);
        bpf_ns = cpy_stats(s->target)->bpf_ns;
        rc = cpy_sample(s->target, add_thread, s);
        bpf_ns = cpy_stats(s->target)->bpf_ns - bpf_ns;
        end_sample(s, held && bpf_ns == 0, bpf_ns);
        s->ticks++;
        s->failed[rc]++;
        step = step_ns(s);
        next_ns += step;
        if (next_ns <= clock_ns(CLOCK_MONOTONIC)) {
            s->late++;
            next_ns = clock_ns(CLOCK_MONOTONIC) + step;
        }
    }
    s->end_ns = clock_ns(CLOCK_MONOTONIC);
    return !s->no_memory;
}

static void print_text(const char *text)
{
    (void)putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            (void)printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            (void)printf("\\u%04x", (unsigned)*text);
        else
            (void)putchar(*text);
    }
    (void)putchar('"');
}

static const char *comma(size_t i)
{
    return i ? "," : "";
}

static void print_counts(const struct sampler *s)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"ticks", s->ticks},
        {"late", s->late},
        {"held", s->held_samples},
        {"threads", s->threads},
        {"torn", s->torn},
        {"cut", s->cut},
        {"delay_ns", s->delay_ns},
        {"took_ns", s->took_ns},
        {"begin_ns", s->begin_ns},
        {"end_ns", s->end_ns},
        {"cpu_ns", clock_ns(CLOCK_PROCESS_CPUTIME_ID)},
    };
    const struct cpy_stats *stats = cpy_stats(s->target);
    size_t i;

    (void)printf("{\"version\":\"%s\",\"effective\":%.1f", cpy_info(s->target)->version,
                 s->weight_squares > 0 ? s->weight * s->weight / s->weight_squares : 0);
    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        (void)printf(",\"%s\":%" PRIu64, counts[i].name, counts[i].value);
    (void)printf(",\"failed\":{");
    for (i = CPY_OK + 1; i < RC_COUNT; i++)
        (void)printf("%s\"%s\":%" PRIu64, comma(i - 1), cpy_rc_label((enum cpy_rc)i), s->failed[i]);
    (void)printf("},\"stats\":{");
    i = 0;
#define PRINT_STAT(field, label, text) \
    (void)printf("%s\"%s\":%" PRIu64, comma(i++), label, stats->field);
    CPY_STATS(PRINT_STAT)
#undef PRINT_STAT
    (void)printf("}");
}

static void print_stacks(const struct sampler *s)
{
    const uint64_t *key;
    size_t i;

    (void)printf(",\"functions\":[");
    for (i = 0; i < s->codes.count; i++) {
        (void)printf("%s[", comma(i));
        print_text(s->functions[i].name);
        (void)printf(",");
        print_text(s->functions[i].file);
        (void)printf(",%" PRId32 "]", s->functions[i].first_line);
    }
    (void)printf("],\"nodes\":[");
    for (i = 0; i < s->nodes.count; i++) {
        key = s->nodes.keys[i];
        (void)printf("%s[%" PRId64 ",%" PRIu32 ",%" PRId32 "]", comma(i),
                     (int64_t)(key[0] >> 32) - 1, (uint32_t)key[0], (int32_t)(uint32_t)key[1]);
    }
    (void)printf("],\"stacks\":[");
    for (i = 0; i < s->stacks.count; i++) {
        key = s->stacks.keys[i];
        (void)printf("%s[%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
                     comma(i), (int64_t)key[0], (int64_t)key[1], s->seen[i].times,
                     s->seen[i].weight_ns, s->seen[i].first_ns, s->seen[i].last_ns);
    }
    (void)printf("]}\n");
}

static bool parse(int argc, char **argv, struct options *out)
{
    enum { PID, RATE, SECONDS, CPU, PIN, SEED, ASK_CPU, ONSITE, PLAIN, COUNT };
    static const struct option names[] = {{"pid", required_argument, NULL, PID},
                                          {"rate", required_argument, NULL, RATE},
                                          {"cpu", required_argument, NULL, CPU},
                                          {"seconds", required_argument, NULL, SECONDS},
                                          {"pin", required_argument, NULL, PIN},
                                          {"seed", required_argument, NULL, SEED},
                                          {"ask-cpu", required_argument, NULL, ASK_CPU},
                                          {"onsite", required_argument, NULL, ONSITE},
                                          {"plain", required_argument, NULL, PLAIN},
                                          {NULL, 0, NULL, 0}};
    double values[COUNT] = {[RATE] = 1000, [SECONDS] = 1, [CPU] = -1, [PIN] = -1};
    int option;

    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (option < 0 || option >= COUNT)
            return false;
        values[option] = strtod(optarg, NULL);
    }
    *out = (struct options){(pid_t)values[PID],   values[RATE],        values[SECONDS],
                            (int)values[CPU],     (int)values[PIN],    (uint64_t)values[SEED],
                            values[ASK_CPU] != 0, values[ONSITE] != 0, values[PLAIN] != 0};
    return out->pid > 0 && out->rate_hz > 0 && out->seconds > 0 && optind == argc &&
           out->cpu < CPU_SETSIZE && out->pin < CPU_SETSIZE;
}

int main(int argc, char **argv)
{
    static struct sampler s;
    struct err err = {""};
    bool ok;

    if (!parse(argc, argv, &s.options)) {
        (void)fprintf(stderr,
                      "usage: truth_sampler --pid PID [--rate HZ] [--seconds S]"
                      " [--cpu N | --pin N] [--seed N] [--ask-cpu 1] [--onsite 1] [--plain 1]\n");
        return 2;
    }
    s.scratch = s.options.bpf_reader ? cpy_scratch_new() : NULL;
    if (s.options.bpf_reader && !cpy_scratch_use_bpf(s.scratch)) {
        (void)fprintf(stderr, "truth_sampler: the kernel will not read for us: %s\n",
                      strerror(errno));
        return REFUSED;
    }
    s.random = (s.options.seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    if (s.options.pin >= 0 && !run_only_on(s.options.pin)) {
        (void)fprintf(stderr, "truth_sampler: CPU %d: %s\n", s.options.pin, strerror(errno));
        return 1;
    }
    if (sched_getaffinity(0, sizeof(s.allowed), &s.allowed) != 0 ||
        cpy_open(s.options.pid, &s.target, &err) != CPY_OK) {
        (void)fprintf(stderr, "truth_sampler: %s\n", err.text);
        return 1;
    }
    if (s.scratch)
        cpy_use_scratch(s.target, s.scratch);
    cpy_set_options(s.target,
                    &(struct cpy_options){.status = s.options.ask_cpu ? CPY_STATUS_CPU : 0,
                                          .plain = s.options.plain ? CPY_LAYER_ALL : 0});
    ok = run(&s);
    print_counts(&s);
    print_stacks(&s);
    cpy_close(s.target);
    cpy_scratch_free(s.scratch);
    return ok && fflush(stdout) == 0 ? 0 : 1;
}
