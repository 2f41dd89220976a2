/* SPDX-License-Identifier: Apache-2.0 */
/* export_queue.c - see export_queue.h. */
#include "agent/delivery/export_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/time_units.h"

enum {
    DOUBLINGS_MAX = 20,
    PROBE_AFTER = 3,       /* failures of one batch; then every second one is followed by a probe */
    ASIDE_TRIES = 5,       /* that a profile fails beside others before it is given up */
    ASIDE_MAX = 1024,      /* entries; one more, and the oldest is given up */
    PACE = 5,              /* a backlog is sent so many times as fast as batches come */
    RETRY_AFTER_SHARE = 10 /* a tenth is added at random to what the server asked for */
};

#define AGE_MAX_NS (UINT64_C(1) << 62) /* which is older than all limits */
#define BACKLOG_NS (30 * NS_PER_S)     /* what has waited for longer is part of a backlog */
#define RETRY_AFTER_NS \
    (900 * NS_PER_S) /* a server that asks for more is asked again all the same */

static const struct export_limits defaults = {
    .queue_bytes = 8 << 20,
    .in_flight = 4,
    .retry_ns = 300 * NS_PER_S,
    .backoff_min_ns = 500 * NS_PER_MS,
    .backoff_max_ns = 30 * NS_PER_S,
    .denied_max_ns = 300 * NS_PER_S,
    .interval_ns = 15 * NS_PER_S,
    .patience_ns = 5 * NS_PER_S,
};

/* xorshift64*, Vigna 2016: pauses need to differ, not to be secret. */
static uint64_t random_below(struct export_queue *queue, uint64_t bound)
{
    queue->random ^= queue->random >> 12;
    queue->random ^= queue->random << 25;
    queue->random ^= queue->random >> 27;
    return bound == 0 ? 0 : queue->random * UINT64_C(2685821657736338717) % bound;
}

int64_t export_born_ns(uint64_t now_ns, int64_t from_ns, int64_t to_ns)
{
    uint64_t age = to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : 0;

    return (int64_t)now_ns - (int64_t)(age < AGE_MAX_NS ? age : AGE_MAX_NS);
}

static uint64_t or_default(uint64_t value, uint64_t usual)
{
    return value > 0 ? value : usual;
}

void export_queue_init(struct export_queue *queue, const struct export_limits *limits,
                       uint64_t random, uint64_t now_ns)
{
    *queue = (struct export_queue){.limits = *limits, .random = random | 1 /* it never leaves 0 */};
    queue->limits.queue_bytes = or_default(limits->queue_bytes, defaults.queue_bytes);
    queue->limits.in_flight = or_default(limits->in_flight, defaults.in_flight);
    queue->limits.retry_ns = or_default(limits->retry_ns, defaults.retry_ns);
    queue->limits.backoff_min_ns = or_default(limits->backoff_min_ns, defaults.backoff_min_ns);
    queue->limits.backoff_max_ns = or_default(limits->backoff_max_ns, defaults.backoff_max_ns);
    queue->limits.denied_max_ns = or_default(limits->denied_max_ns, defaults.denied_max_ns);
    queue->limits.interval_ns = or_default(limits->interval_ns, defaults.interval_ns);
    queue->limits.patience_ns = or_default(limits->patience_ns, defaults.patience_ns);
    queue->phase_ns = random_below(queue, limits->jitter_ns);
    queue->backlog_ns = now_ns + queue->phase_ns;
}

void export_entry_free(struct export_entry *entry)
{
    if (!entry)
        return;
    batch_unref(entry->batch);
    free(entry);
}

void export_queue_finish(struct export_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        export_entry_free(queue->entries[i]);
    free(queue->entries);
    queue->entries = NULL;
    queue->count = queue->capacity = 0;
}

static bool is_before(const struct export_entry *a, const struct export_entry *b)
{
    return a->interval != b->interval ? a->interval < b->interval : a->order < b->order;
}

/* Where an entry is, or belongs. */
static size_t place_of_entry(const struct export_queue *queue, const struct export_entry *entry)
{
    size_t low = 0, high = queue->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (is_before(queue->entries[middle], entry))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void export_queue_remove(struct export_queue *queue, struct export_entry *entry)
{
    size_t i = place_of_entry(queue, entry);

    queue->count--;
    memmove(&queue->entries[i], &queue->entries[i + 1],
            (queue->count - i) * sizeof(queue->entries[0]));
    queue->in_flight -= entry->in_flight ? 1 : 0;
    entry->in_flight = false;
}

static void lose_entry(struct export_queue *queue, struct export_entry *entry, enum export_loss why)
{
    export_queue_remove(queue, entry);
    queue->lose(queue->ctx, entry, why);
}

static bool insert_entry(struct export_queue *queue, struct export_entry *entry)
{
    size_t i;

    if (!ARRAY_RESERVE(queue->entries, queue->capacity, queue->count + 1))
        return false;
    i = place_of_entry(queue, entry);
    memmove(&queue->entries[i + 1], &queue->entries[i],
            (queue->count - i) * sizeof(queue->entries[0]));
    queue->entries[i] = entry;
    queue->count++;
    return true;
}

/* What an entry takes of the bound: what is on disk too can leave memory, what goes out will. */
static size_t bytes_bound(const struct export_entry *entry)
{
    return entry->batch && !entry->in_flight && (!entry->file || entry->unwritten) ? entry->size
                                                                                   : 0;
}

/* Loses the oldest entries that are only in memory, as long as there is too much. Those of the
 * newest interval stay, and so does `kept`, which the caller goes on to use; NULL: none. */
static void keep_within_bytes(struct export_queue *queue, const struct export_entry *kept)
{
    uint64_t newest = queue->count > 0 ? queue->entries[queue->count - 1]->interval : 0;
    size_t bytes = 0, i = 0;

    for (size_t n = 0; n < queue->count; n++)
        bytes += bytes_bound(queue->entries[n]);
    while (bytes > queue->limits.queue_bytes && i < queue->count &&
           queue->entries[i]->interval < newest) {
        struct export_entry *entry = queue->entries[i];
        size_t size = bytes_bound(entry);

        /* A part of a batch that is on disk is not lost. */
        if (size == 0 || entry->file || entry == kept) {
            i++;
            continue;
        }
        bytes -= size;
        lose_entry(queue, entry, EXPORT_LOST_FULL);
    }
}

void export_queue_add(struct export_queue *queue, struct export_entry *entry)
{
    if (insert_entry(queue, entry))
        keep_within_bytes(queue, NULL);
    else
        queue->lose(queue->ctx, entry, EXPORT_LOST_FULL);
}

static bool is_in_memory_only(const struct export_entry *entry)
{
    return !entry->file && !entry->unwritten;
}

static bool is_expired(const struct export_queue *queue, const struct export_entry *entry,
                       uint64_t now_ns)
{
    const struct export_limits *limits = &queue->limits;
    bool tried_long = entry->first_ns > 0 && now_ns - entry->first_ns >= limits->retry_ns;

    if (limits->max_age_ns > 0 && (int64_t)now_ns - entry->born_ns > (int64_t)limits->max_age_ns)
        return true;
    if (entry->aside)
        return tried_long && entry->tries >= ASIDE_TRIES && entry->count == 1;
    return tried_long && is_in_memory_only(entry);
}

static void lose_expired(struct export_queue *queue, uint64_t now_ns)
{
    for (size_t i = 0; i < queue->count;) {
        struct export_entry *entry = queue->entries[i];

        if (!entry->in_flight && is_expired(queue, entry, now_ns))
            lose_entry(queue, entry, EXPORT_LOST_OLD);
        else
            i++;
    }
}

bool export_queue_is_failing(const struct export_queue *queue)
{
    return queue->failures > 0 || queue->denials > 0;
}

static bool is_backlog(const struct export_entry *entry, uint64_t now_ns)
{
    return entry->put_ns == 0 || now_ns - entry->put_ns > BACKLOG_NS;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When an entry may go: it is on disk by then, and many agents share the server. */
static uint64_t due_of_entry(const struct export_queue *queue, const struct export_entry *entry,
                             uint64_t now_ns)
{
    uint64_t due_ns =
        entry->unwritten && !entry->file ? entry->put_ns + queue->limits.patience_ns : 0;

    if (queue->hurried || entry->first_ns > 0)
        return due_ns;
    return later(due_ns,
                 is_backlog(entry, now_ns) ? queue->backlog_ns : entry->put_ns + queue->phase_ns);
}

/* What one look at the queue has found. */
struct export_choice {
    struct export_entry *entry;
    uint64_t due_ns;
};

/* Takes a candidate into account, that may go at `due_ns`. */
static void consider(struct export_choice *choice, struct export_entry *entry, uint64_t due_ns,
                     uint64_t now_ns)
{
    if (entry->in_flight || choice->entry)
        return;
    if (due_ns <= now_ns)
        choice->entry = entry;
    else if (due_ns < choice->due_ns)
        choice->due_ns = due_ns;
}

/* The first that is not aside, of a later interval than `after`; NULL: none. */
static struct export_entry *find_regular(const struct export_queue *queue, uint64_t after)
{
    for (size_t i = 0; i < queue->count; i++) {
        if (!queue->entries[i]->aside && queue->entries[i]->interval > after)
            return queue->entries[i];
    }
    return NULL;
}

/* One batch at a time: the oldest, or a probe. */
static void choose_while_failing(struct export_queue *queue, uint64_t now_ns,
                                 struct export_choice *choice)
{
    struct export_entry *oldest = find_regular(queue, 0);
    struct export_entry *probe =
        oldest && queue->probing ? find_regular(queue, oldest->interval) : NULL;

    if (queue->in_flight > 0 || !oldest)
        return;
    queue->probing = probe != NULL;
    consider(choice, probe ? probe : oldest, due_of_entry(queue, probe ? probe : oldest, now_ns),
             now_ns);
}

/* All batches of the oldest interval, and beside them those that are aside. */
static void choose_side_by_side(const struct export_queue *queue, uint64_t now_ns,
                                struct export_choice *choice)
{
    const struct export_entry *oldest = find_regular(queue, 0);

    if (queue->in_flight >= queue->limits.in_flight)
        return;
    for (size_t i = 0; i < queue->count; i++) {
        struct export_entry *entry = queue->entries[i];

        if (entry->aside)
            consider(choice, entry, entry->not_before_ns, now_ns);
        else if (entry->interval == oldest->interval)
            consider(choice, entry, due_of_entry(queue, entry, now_ns), now_ns);
    }
}

struct export_entry *export_queue_next(struct export_queue *queue, uint64_t now_ns,
                                       uint64_t *due_ns)
{
    struct export_choice choice = {.due_ns = UINT64_MAX};

    lose_expired(queue, now_ns);
    *due_ns = queue->count > 0 ? queue->not_before_ns : UINT64_MAX;
    if (queue->count == 0 || now_ns < queue->not_before_ns)
        return NULL;
    if (export_queue_is_failing(queue))
        choose_while_failing(queue, now_ns, &choice);
    else
        choose_side_by_side(queue, now_ns, &choice);
    *due_ns = choice.due_ns;
    if (!choice.entry)
        return NULL;
    choice.entry->in_flight = true;
    queue->in_flight++;
    if (!queue->hurried && is_backlog(choice.entry, now_ns))
        queue->backlog_ns = now_ns + random_below(queue, 2 * queue->limits.interval_ns / PACE + 1);
    return choice.entry;
}

/* From `least`, doubled each time up to `most`. */
static uint64_t doubled_ns(uint64_t least, uint64_t most, unsigned times)
{
    for (; times > 0 && least < most; times--)
        least *= 2;
    return least < most ? least : most;
}

/* Full jitter: anything from nothing to the doubled pause, so that agents do not come in step. */
static uint64_t backoff_ns(struct export_queue *queue, unsigned failures)
{
    const struct export_limits *limits = &queue->limits;
    unsigned times = failures - 1 < DOUBLINGS_MAX ? failures - 1 : DOUBLINGS_MAX;

    return random_below(queue,
                        doubled_ns(limits->backoff_min_ns, limits->backoff_max_ns, times) + 1);
}

/* A new secret is some person's work: up to minutes, and never at once. */
static uint64_t denied_ns(struct export_queue *queue)
{
    const struct export_limits *limits = &queue->limits;
    unsigned times = queue->denials < DOUBLINGS_MAX ? queue->denials : DOUBLINGS_MAX;
    uint64_t most = doubled_ns(limits->backoff_min_ns, limits->denied_max_ns, times);

    return most / 2 + random_below(queue, most / 2 + 1);
}

/* What the server asked for, within bounds, and a little more. */
static uint64_t asked_ns(struct export_queue *queue, const struct exporter_answer *answer)
{
    uint64_t asked =
        answer->retry_after_ns < RETRY_AFTER_NS ? answer->retry_after_ns : RETRY_AFTER_NS;

    return asked + random_below(queue, asked / RETRY_AFTER_SHARE + 1);
}

/* Gives up the oldest of too many that are aside. */
static void bound_aside(struct export_queue *queue)
{
    struct export_entry *oldest = NULL;
    size_t count = 0;

    for (size_t i = queue->count; i > 0; i--) {
        if (!queue->entries[i - 1]->aside)
            continue;
        count++;
        if (!queue->entries[i - 1]->in_flight)
            oldest = queue->entries[i - 1];
    }
    if (count > ASIDE_MAX && oldest)
        lose_entry(queue, oldest, EXPORT_LOST_OLD);
}

static void set_entry_aside(struct export_queue *queue, struct export_entry *entry, uint64_t now_ns)
{
    entry->aside = true;
    entry->tries = 1;
    entry->halve = entry->count > 1;
    entry->seen = queue->successes;
    entry->not_before_ns = now_ns + (entry->halve ? 0 : backoff_ns(queue, 1));
    bound_aside(queue);
}

/* Something got through: who failed before it is at fault alone. */
static void note_success(struct export_queue *queue, uint64_t order, uint64_t now_ns)
{
    struct export_entry *oldest = find_regular(queue, 0);

    queue->successes++;
    if (queue->failing > 0 && queue->failing != order && oldest &&
        oldest->order == queue->failing && !oldest->in_flight)
        set_entry_aside(queue, oldest, now_ns);
    queue->failures = queue->denials = 0;
    queue->failing = 0;
    queue->probing = false;
    queue->not_before_ns = 0;
}

static void fail_aside(struct export_queue *queue, struct export_entry *entry, uint64_t now_ns)
{
    if (queue->successes > entry->seen) {
        entry->tries++;
        entry->halve = entry->count > 1;
    }
    entry->seen = queue->successes;
    entry->not_before_ns = now_ns + (entry->halve ? 0 : backoff_ns(queue, entry->tries));
}

/* One of those that should get through: either nothing does, or this one alone does not. */
static void fail_regular(struct export_queue *queue, const struct export_entry *entry,
                         const struct exporter_answer *answer, uint64_t asked, uint64_t now_ns)
{
    bool was_probe = queue->probing;

    queue->failures++;
    queue->probing = false;
    queue->not_before_ns = now_ns + later(asked, backoff_ns(queue, queue->failures));
    if (was_probe || answer->unsent) /* where no server was reached, no batch is to blame */
        return;
    queue->failing_tries = queue->failing == entry->order ? queue->failing_tries + 1 : 1;
    queue->failing = entry->order;
    if (queue->failing_tries < PROBE_AFTER || (queue->failing_tries - PROBE_AFTER) % 2 != 0 ||
        !find_regular(queue, entry->interval))
        return;
    queue->probing = true;
    queue->not_before_ns = now_ns + asked; /* at once, so that one answer bears on the other */
}

static void note_failure(struct export_queue *queue, struct export_entry *entry,
                         const struct exporter_answer *answer, uint64_t now_ns)
{
    uint64_t asked = asked_ns(queue, answer);

    if (answer->denied) {
        queue->denials++;
        queue->probing = false;
        queue->not_before_ns = now_ns + later(asked, denied_ns(queue));
        entry->first_ns = 0; /* it has not been judged */
        return;
    }
    if (entry->first_ns == 0)
        entry->first_ns = now_ns;
    if (entry->aside)
        fail_aside(queue, entry, now_ns);
    else
        fail_regular(queue, entry, answer, asked, now_ns);
    if (asked > 0)
        queue->not_before_ns = later(queue->not_before_ns, now_ns + asked);
}

static void land(struct export_queue *queue, struct export_entry *entry)
{
    entry->in_flight = false;
    queue->in_flight--;
}

enum export_fate export_queue_complete(struct export_queue *queue, struct export_entry *entry,
                                       enum exporter_rc rc, const struct exporter_answer *answer,
                                       uint64_t now_ns)
{
    if (rc == EXPORTER_OK || rc == EXPORTER_REFUSED) {
        export_queue_remove(queue, entry);
        note_success(queue, entry->order, now_ns);
        return EXPORT_ENDED;
    }
    land(queue, entry);
    note_failure(queue, entry, answer, now_ns);
    if (is_expired(queue, entry, now_ns)) {
        export_queue_remove(queue, entry);
        return EXPORT_GIVEN_UP;
    }
    keep_within_bytes(queue, entry);
    return EXPORT_WAITS;
}

void export_queue_replace(struct export_queue *queue, struct export_entry *entry,
                          struct export_entry *const *parts, size_t count, bool answered,
                          uint64_t now_ns)
{
    export_queue_remove(queue, entry);
    if (answered)
        note_success(queue, entry->order, now_ns);
    for (size_t i = 0; i < count; i++) {
        parts[i]->interval = entry->interval;
        parts[i]->put_ns = entry->put_ns;
        parts[i]->born_ns = entry->born_ns;
        parts[i]->first_ns = entry->first_ns;
        set_entry_aside(queue, parts[i], now_ns);
        parts[i]->halve = false; /* it has not been tried yet */
        export_queue_add(queue, parts[i]);
    }
}

void export_queue_put_back(struct export_queue *queue, struct export_entry *entry, uint64_t now_ns,
                           uint64_t pause_ns)
{
    land(queue, entry);
    queue->probing = false;
    if (entry->aside)
        entry->not_before_ns = now_ns + pause_ns;
    else
        queue->not_before_ns = later(queue->not_before_ns, now_ns + pause_ns);
}

void export_queue_hurry(struct export_queue *queue)
{
    queue->hurried = true;
    queue->not_before_ns = 0;
    for (size_t i = 0; i < queue->count; i++)
        queue->entries[i]->not_before_ns = 0;
}

void export_queue_backlog(const struct export_queue *queue, struct export_backlog *out)
{
    *out = (struct export_backlog){.batches = queue->count};
    for (size_t i = 0; i < queue->count; i++) {
        const struct export_entry *entry = queue->entries[i];

        out->profiles += entry->count;
        out->bytes += entry->size;
        out->memory_bytes += entry->batch ? entry->size : 0;
        out->disk_profiles += entry->file ? entry->count : 0;
        if (!entry->aside && entry->put_ns > 0 &&
            (out->oldest_put_ns == 0 || entry->put_ns < out->oldest_put_ns))
            out->oldest_put_ns = entry->put_ns;
    }
}
