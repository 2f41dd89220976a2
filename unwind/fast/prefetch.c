/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.c - see prefetch.h. */
#include "unwind/fast/prefetch.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
    RANGES_MAX = 1 << 16, /* of a set */
    RANGE_MAX = 4 << 20,  /* bytes of a range */
    BYTES_MAX = 16 << 20, /* of all copies for a target */
    PAGE = 4096,          /* or a part of one */
    GAP_MAX = 3072,       /* between two ranges that become one */
    LARGE = 1024,         /* bytes of a range whose copy is aligned: see align */
    LINE = 64,            /* bytes of a cache line */
    STEP = 512,           /* what may grow is read in such steps */
    BLOCK_SHIFT = 9,      /* of the least blocks of which it is known whether they are used */
    WINDOW_FIRST = 8, /* fetches of the first window, after which unused parts are dropped; twice */
    WINDOW_MAX = 64   /* as many each time, up to this */
};

static size_t round_up(size_t size)
{
    return (size + STEP - 1) / STEP * STEP;
}

/* Index of the first sorted range behind (when, from). */
static uint32_t index_after(const struct prefetch_set *set, enum mem_when when, cpy_addr from)
{
    uint32_t low = 0, high = set->sorted, middle;
    const struct prefetch_range *range;

    while (low < high) {
        middle = (low + high) / 2;
        range = &set->ranges[middle];
        if (range->when < when || (range->when == when && range->from <= from))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool covers(const struct prefetch_range *range, cpy_addr from, size_t size,
                   enum mem_when when)
{
    /* The state may have frames in it, too. */
    return (range->when == when || (when == MEM_FIRST && range->when == MEM_STATE)) &&
           from >= range->from && from - range->from <= range->have &&
           range->have - (from - range->from) >= size;
}

static struct prefetch_range *find_sorted(struct prefetch_set *set, cpy_addr from, size_t size,
                                          enum mem_when when)
{
    uint32_t i = set->hints[when];

    if (i < set->sorted && covers(&set->ranges[i], from, size, when))
        return &set->ranges[i];
    i = index_after(set, when, from);
    if (i == 0 || !covers(&set->ranges[i - 1], from, size, when))
        i = when == MEM_FIRST ? index_after(set, MEM_STATE, from) : 0;
    if (i == 0 || !covers(&set->ranges[i - 1], from, size, when))
        return NULL;
    set->hints[when] = i - 1;
    return &set->ranges[i - 1];
}

/* The range of which these bytes were fetched; NULL: none. */
static struct prefetch_range *find_fetched_range(struct prefetch_set *set, cpy_addr from,
                                                 size_t size, enum mem_when when)
{
    uint32_t i, tried;

    if (set->by_address)
        return find_sorted(set, from, size, when);
    for (tried = 0, i = set->hints[0]; tried < set->count; tried++, i++) {
        i = i < set->count ? i : 0;
        if (covers(&set->ranges[i], from, size, when)) {
            set->hints[0] = i;
            return &set->ranges[i];
        }
    }
    return NULL;
}

/* 64 blocks, or less, but none so small that leaving it out would save nothing. */
static uint8_t shift_of(uint32_t size)
{
    uint8_t shift = BLOCK_SHIFT;

    while (size >> shift >= 64)
        shift++;
    return shift;
}

static void use(struct prefetch_range *range, uint64_t at, uint64_t size)
{
    const uint64_t end = at + size, first = at >> range->shift;
    const uint64_t last = size > 0 ? (end - 1) >> range->shift : first;

    if (end > range->used)
        range->used = (uint32_t)end;
    range->blocks |=
        UINT64_MAX << (first < 63 ? first : 63) & UINT64_MAX >> (last < 63 ? 63 - last : 0);
}

/* True if between the end of one range and another there is little, and no page of neither. */
static bool is_near_range(cpy_addr end, cpy_addr from)
{
    return from <= end || (from - end <= GAP_MAX && from / PAGE - (end - 1) / PAGE <= 1);
}

/* Makes the range have these bytes, too. False: it is not near, or too large. */
static bool widen(struct prefetch_range *range, cpy_addr from, size_t size)
{
    uint64_t below = range->from > from ? range->from - from : 0, wanted;

    if (below > 0 ? below > RANGE_MAX || !is_near_range(from + size, range->from)
                  : !is_near_range(range->from + range->size, from))
        return false;
    wanted = below > 0 ? below + range->size : from - range->from + size;
    if (wanted > RANGE_MAX || (below > 0 && size > wanted))
        return false;
    if (below > 0) { /* what was fetched of it is not served any more */
        range->from = from;
        range->used += (uint32_t)below;
        range->have = 0;
        range->blocks = UINT64_MAX;
    }
    use(range, below > 0 ? 0 : from - range->from, size);
    range->size = wanted > range->size ? (uint32_t)wanted : range->size;
    return true;
}

static void append_range(struct prefetch_set *set, cpy_addr from, size_t size, enum mem_when when)
{
    if (set->count == RANGES_MAX || !ARRAY_RESERVE(set->ranges, set->capacity, set->count + 1))
        return; /* then it is not fetched, and read each time */
    set->ranges[set->count++] = (struct prefetch_range){.from = from,
                                                        .size = (uint32_t)size,
                                                        .used = (uint32_t)size,
                                                        .blocks = UINT64_MAX,
                                                        .shift = shift_of((uint32_t)size),
                                                        .when = when};
}

/* Adds these bytes to what is fetched the next time. */
static void note_range(struct prefetch_set *set, cpy_addr from, size_t size, enum mem_when when)
{
    uint32_t i = 0, last = set->count;

    if (size == 0 || size > RANGE_MAX)
        return;
    set->changed = true;
    if (set->by_address) { /* of those that are not sorted yet the last one is tried, too */
        i = index_after(set, when, from);
        if (i > 0 && set->ranges[i - 1].when == when && widen(&set->ranges[i - 1], from, size))
            return;
        i = set->count > set->sorted ? set->count - 1 : set->count;
    }
    for (; i < last; i++) {
        const struct prefetch_range *range = &set->ranges[i];

        if (when == MEM_FIRST && range->when == MEM_STATE && from >= range->from &&
            from - range->from + size <= range->size)
            return;
        if (range->when == when && widen(&set->ranges[i], from, size))
            return;
    }
    append_range(set, from, size, when);
}

/* Bytes that the BPF program added when it fetched the set; NULL: none. */
static const unsigned char *find_by_bpf(const struct prefetch *prefetch, cpy_addr from, size_t size)
{
    return prefetch->now->bpf_count != 0 &&
                   prefetch->now->bpf_count == bpf_reader_count(prefetch->bpf_reader)
               ? bpf_reader_find(prefetch->bpf_reader, from, size)
               : NULL;
}

/*
 * Bytes that were fetched; NULL: they must be read. A second read must be later than all others:
 * once something was missing, the copies are too old for that. If all copies are of one moment, any
 * copy of these bytes will do.
 */
static const unsigned char *get_fetched_bytes(const struct prefetch *prefetch,
                                              struct prefetch_set *set, cpy_addr from, size_t size,
                                              enum mem_when when, size_t next_time)
{
    const unsigned char *found = set->followed ? find_by_bpf(prefetch, from, size) : NULL;
    struct prefetch_range *range = found ? NULL : find_fetched_range(set, from, size, when);

    if (!range && !found && set->bpf_count != 0 && when != MEM_FIRST)
        range = find_fetched_range(set, from, size, MEM_FIRST);
    if (!range && !found) {
        found = find_by_bpf(prefetch, from, size);
        set->missed |= !found && when == MEM_FIRST;
        note_range(set, from, next_time, when);
    }
    if (when == MEM_STATE)
        set->has_state = range || found;
    if (range)
        use(range, from - range->from, size);
    if (when == MEM_AGAIN && set->missed)
        return NULL;
    return range ? set->bytes + range->at + (from - range->from) : found;
}

static enum cpy_rc prefetch_read(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    struct prefetch *prefetch = (struct prefetch *)mem;
    struct mem *inner = *prefetch->inner;
    const unsigned char *bytes;
    struct prefetch_set *now = mem->once ? NULL : prefetch->now;
    bool served = now != NULL;
    enum cpy_rc rc = CPY_OK;

    for (size_t i = 0; i < count && now; i++) {
        bytes = get_fetched_bytes(prefetch, now, ranges[i].from, ranges[i].size, mem->when,
                                  ranges[i].size);
        if (bytes)
            memcpy(ranges[i].into, bytes, ranges[i].size);
        served &= bytes != NULL;
    }
    if (!served)
        rc = mem_read_ranges(inner, ranges, count);
    prefetch->misses += now && !served;
    mem->reads = inner->reads;
    return rc;
}

static const unsigned char *prefetch_look(struct mem *mem, cpy_addr from, size_t size, size_t most)
{
    struct prefetch *prefetch = (struct prefetch *)mem;
    size_t next_time = round_up(size) < most ? round_up(size) : most;
    const unsigned char *bytes;

    if (!prefetch->now)
        return NULL;
    bytes = get_fetched_bytes(prefetch, mem->shared ? prefetch->shared : prefetch->now, from, size,
                              mem->when, next_time);
    prefetch->misses += !bytes;
    return bytes;
}

static bool prefetch_is_late(const struct mem *mem)
{
    const struct prefetch_set *now = ((const struct prefetch *)mem)->now;

    return now && now->has_state && !now->missed;
}

static void prefetch_close(struct mem *mem)
{
    (void)mem; /* it is part of something else */
}

void prefetch_init(struct prefetch *prefetch, struct mem *const *inner)
{
    *prefetch = (struct prefetch){.inner = inner};
    prefetch->mem.read = prefetch_read;
    prefetch->mem.look = prefetch_look;
    prefetch->mem.is_late = prefetch_is_late;
    prefetch->mem.close = prefetch_close;
}

void prefetch_finish(struct prefetch *prefetch)
{
    free(prefetch->batch);
    prefetch->batch = NULL;
}

void prefetch_set_init(struct prefetch_set *set, bool by_address)
{
    *set = (struct prefetch_set){.by_address = by_address, .window = WINDOW_FIRST};
}

void prefetch_set_finish(struct prefetch *prefetch, struct prefetch_set *set)
{
    prefetch->bytes -= set->room;
    free(set->ranges);
    free(set->bytes);
    prefetch_set_init(set, set->by_address);
}

static uint32_t lowest_bit(uint64_t bits)
{
    uint32_t i = 0;

    while (i < 63 && !(bits >> i & 1))
        i++;
    return i;
}

/* Drops the unused beginning of a range; what was used behind a gap becomes another range. */
static void split_unused_gap(struct prefetch_set *set, uint32_t i)
{
    struct prefetch_range *range = &set->ranges[i];
    const uint32_t before = lowest_bit(range->blocks) << range->shift;
    uint32_t end, next;

    if (before < range->size) {
        range->from += before;
        range->size -= before;
        range->blocks >>= before >> range->shift;
    }
    end = lowest_bit(~range->blocks);
    next = range->blocks >> end == 0 ? 0 : end + lowest_bit(range->blocks >> end);
    while (next != 0 && is_near_range(range->from + ((uint64_t)end << range->shift),
                                      range->from + ((uint64_t)next << range->shift))) {
        end = next + lowest_bit(~(range->blocks >> next));
        next = end > 63 || range->blocks >> end == 0 ? 0 : end + lowest_bit(range->blocks >> end);
    }
    if (next == 0 || next << range->shift >= range->size)
        return;
    append_range(set, range->from + ((uint64_t)next << range->shift),
                 range->size - (next << range->shift), range->when);
    range = &set->ranges[i]; /* they may have moved */
    set->ranges[set->count - 1].shift = range->shift;
    set->ranges[set->count - 1].blocks = range->blocks >> next;
    range->size = end << range->shift;
}

/* Drops ranges that were not used in this window, and shrinks the others to their used parts. */
static void drop_unused_ranges(struct prefetch_set *set)
{
    uint32_t i, remaining = 0, sorted = 0;

    set->fetches = 0;
    set->changed = true;
    set->window = set->window * 2 < WINDOW_MAX ? set->window * 2 : WINDOW_MAX;
    for (i = 0; i < set->count; i++) {
        struct prefetch_range *range = &set->ranges[i];

        if (range->used == 0)
            continue;
        if (round_up(range->used) < range->size)
            range->size = (uint32_t)round_up(range->used);
        sorted += i < set->sorted;
        set->ranges[remaining++] = *range;
    }
    set->count = remaining;
    set->sorted = sorted;
    for (i = 0; i < set->count; i++) {
        if (set->by_address)
            split_unused_gap(set, i);
        set->ranges[i].used = 0;
        set->ranges[i].blocks = 0;
        set->ranges[i].shift = shift_of(set->ranges[i].size);
    }
}

static int by_when_and_address(const void *a, const void *b)
{
    const struct prefetch_range *left = a, *right = b;

    if (left->when != right->when)
        return left->when > right->when ? 1 : -1;
    return (left->from > right->from) - (left->from < right->from);
}

/* True if a range is part of one that is fetched for the state: served from there. */
static bool is_in_state(const struct prefetch_set *set, const struct prefetch_range *range)
{
    uint32_t i = range->when == MEM_FIRST ? index_after(set, MEM_STATE, range->from) : 0;
    const struct prefetch_range *state = i > 0 ? &set->ranges[i - 1] : NULL;

    return state && state->when == MEM_STATE && range->from - state->from <= state->size &&
           state->size - (range->from - state->from) >= range->size;
}

/* Sorts the ranges and joins those that lie near each other. */
static void sort_and_merge_ranges(struct prefetch_set *set)
{
    uint32_t i, remaining = 0;

    qsort(set->ranges, set->count, sizeof(*set->ranges), by_when_and_address);
    set->sorted = set->count;
    for (i = 0; i < set->count; i++) {
        const struct prefetch_range range = set->ranges[i];

        if (is_in_state(set, &range))
            continue;
        if (remaining > 0 && set->ranges[remaining - 1].when == range.when &&
            widen(&set->ranges[remaining - 1], range.from, range.size))
            continue;
        set->ranges[remaining++] = range;
    }
    set->count = set->sorted = remaining;
}

/*
 * Offset for the copy of a range, at or behind `at`. A large copy has the same offset in its cache
 * lines as the original, because some CPUs (AMD Zen) copy three to six times slower if it is some
 * bytes higher, as in memory that malloc maps for a large set.
 */
static size_t align(const struct prefetch_range *range, size_t at)
{
    return range->size < LARGE ? at : at + ((range->from - at) & (LINE - 1));
}

/* Makes room for the copies; those that there were are gone. False: there is none. */
static bool alloc_prefetch_bytes(struct prefetch *prefetch, struct prefetch_set *set, size_t room)
{
    void *bytes;

    if (posix_memalign(&bytes, LINE, room) != 0)
        return false;
    free(set->bytes);
    prefetch->bytes += room - set->room;
    set->bytes = bytes;
    set->room = room;
    return true;
}

/* Gives each range its offset in the copies. False: there is no room. */
static bool assign_range_offsets(struct prefetch *prefetch, struct prefetch_set *set)
{
    size_t total = 0, room, left;
    enum mem_when when;

    for (when = MEM_FIRST; when <= MEM_AGAIN; when++) {
        for (uint32_t i = 0; i < set->count; i++) {
            if (set->ranges[i].when != when)
                continue;
            total = align(&set->ranges[i], total);
            set->ranges[i].at = (uint32_t)total;
            total += set->ranges[i].size;
        }
    }
    if (total <= set->room)
        return true;
    left = BYTES_MAX - prefetch->bytes + set->room;
    room = total + total / 2 < left ? total + total / 2 : left;
    return room >= total && alloc_prefetch_bytes(prefetch, set, room);
}

static void prepare_set_for_fetch(struct prefetch *prefetch, struct prefetch_set *set)
{
    if (!set->state_only && ++set->fetches > set->window)
        drop_unused_ranges(set);
    if (set->by_address && set->count != set->sorted)
        sort_and_merge_ranges(set);
    if (set->changed && !assign_range_offsets(prefetch, set))
        set->count = set->sorted = 0;
    set->layout_count += set->changed;
    set->changed = false;
    memset(set->hints, 0, sizeof(set->hints));
    set->missed = set->count == 0;
    set->has_state = false;
}

/* Reads the batch if there is no room for more of them, or if it is the end. */
static enum cpy_rc flush(struct prefetch *prefetch, size_t *batch_count, bool end)
{
    enum cpy_rc rc = CPY_OK;

    if (*batch_count == MEM_RANGES_MAX || (end && *batch_count > 0)) {
        rc = mem_read_ranges(*prefetch->inner, prefetch->batch, *batch_count);
        *batch_count = 0;
    }
    return rc;
}

/* Adds a range to the batch unless it is not to be fetched now. */
static void add_to_batch(struct prefetch *prefetch, struct prefetch_set *set,
                         struct prefetch_range *range, size_t *batch_count)
{
    range->have = set->state_only && range->when != MEM_STATE ? 0 : range->size;
    if (range->have > 0)
        prefetch->batch[(*batch_count)++] =
            (struct mem_range){range->from, set->bytes + range->at, range->size};
}

/* Reads what comes at one time of a set. */
static enum cpy_rc fetch_when(struct prefetch *prefetch, struct prefetch_set *set,
                              enum mem_when when, size_t *batch_count)
{
    enum cpy_rc rc = CPY_OK;

    for (uint32_t i = 0; i < set->count && rc == CPY_OK; i++) {
        if (set->ranges[i].when != when)
            continue;
        add_to_batch(prefetch, set, &set->ranges[i], batch_count);
        rc = flush(prefetch, batch_count, false);
    }
    return rc;
}

/* Makes one batch of all ranges. False: too many for one run of the BPF program, which may find
 * others. */
static bool batch_for_bpf(struct prefetch *prefetch, struct prefetch_set *const *sets, size_t count,
                          size_t *batch_count)
{
    size_t i, bytes = 0;

    *batch_count = 0;
    for (i = 0; i < count; i++)
        for (uint32_t j = 0; j < sets[i]->count; j++) {
            sets[i]->ranges[j].have = 0;
            if (sets[i]->not_by_bpf)
                continue;
            if (*batch_count == BPF_READER_RANGES)
                return false;
            add_to_batch(prefetch, sets[i], &sets[i]->ranges[j], batch_count);
            bytes += sets[i]->ranges[j].have;
        }
    return bytes <= BPF_READER_BYTES / 2;
}

/* Drops all ranges but MEM_STATE ones. */
static void drop_stack(struct prefetch_set *set)
{
    uint32_t i, remaining = 0;

    for (i = 0; i < set->count; i++)
        if (set->ranges[i].when == MEM_STATE)
            set->ranges[remaining++] = set->ranges[i];
    set->count = remaining;
    set->sorted = remaining < set->sorted ? remaining : set->sorted;
    set->changed = true;
}

/* Drops frames of followed stacks, which reads without BPF have added. False: there are none. */
static bool drop_followed(struct prefetch_set *const *sets, size_t count)
{
    bool any = false;

    for (size_t i = 0; i < count; i++)
        if (sets[i]->followed) {
            drop_stack(sets[i]);
            any = true;
        }
    return any;
}

/* Reads all ranges by the BPF program. False: the thread is elsewhere, or too many ranges. */
static bool fetch_sets_by_bpf(struct prefetch *prefetch, struct prefetch_set *const *sets,
                              size_t count)
{
    size_t batch_count;

    if (!batch_for_bpf(prefetch, sets, count, &batch_count) &&
        (!drop_followed(sets, count) || !batch_for_bpf(prefetch, sets, count, &batch_count)))
        return false;
    return batch_count > 0 && bpf_reader_read(prefetch->bpf_reader, &prefetch->bpf_thread,
                                              *prefetch->inner, prefetch->batch, batch_count);
}

static enum cpy_rc fetch_sets(struct prefetch *prefetch, struct prefetch_set *const *sets,
                              size_t count)
{
    size_t i, batch_count = 0;
    enum mem_when when;
    enum cpy_rc rc = CPY_OK;

    prefetch->by_bpf =
        prefetch->bpf_reader && prefetch->uses_bpf && fetch_sets_by_bpf(prefetch, sets, count);
    prefetch->bpf_fetches += prefetch->by_bpf;
    for (i = 0; i < count; i++)
        sets[i]->bpf_count = prefetch->by_bpf ? bpf_reader_count(prefetch->bpf_reader) : 0;
    if (prefetch->by_bpf)
        return CPY_OK;
    for (i = 0; i < count; i++)
        for (when = MEM_FIRST; when <= MEM_AGAIN && rc == CPY_OK; when++)
            rc = fetch_when(prefetch, sets[i], when, &batch_count);
    return rc == CPY_OK ? flush(prefetch, &batch_count, true) : rc;
}

/* Fetches sets of which one has a range that is not there any more, and empties that one: by
 * halves, so that it costs few calls however many the others are. */
static void fetch_others(struct prefetch *prefetch, struct prefetch_set *const *sets, size_t count)
{
    const size_t half = count / 2;

    if (count == 1) {
        prefetch_forget(sets[0]);
        return;
    }
    if (fetch_sets(prefetch, sets, half) != CPY_OK)
        fetch_others(prefetch, sets, half);
    if (fetch_sets(prefetch, sets + half, count - half) != CPY_OK)
        fetch_others(prefetch, sets + half, count - half);
}

void prefetch_fetch(struct prefetch *prefetch, struct prefetch_set *const *sets, size_t count)
{
    if (!prefetch->batch && !prefetch->off)
        prefetch->batch = malloc(MEM_RANGES_MAX * sizeof(*prefetch->batch));
    for (size_t i = 0; i < count; i++) {
        if (prefetch->batch && !prefetch->off)
            prepare_set_for_fetch(prefetch, sets[i]);
        else
            prefetch_forget(sets[i]);
    }
    if (fetch_sets(prefetch, sets, count) == CPY_OK)
        return;
    prefetch->uses_bpf = false;
    fetch_others(prefetch, sets, count);
}

void prefetch_release(struct prefetch *prefetch, struct prefetch_set *set)
{
    prefetch->bytes -= set->room;
    free(set->bytes);
    set->bytes = NULL;
    set->room = 0;
    set->changed = true;
    set->layout_count++;
    for (uint32_t i = 0; i < set->count; i++)
        set->ranges[i].have = 0;
}

void prefetch_follow(struct prefetch_set *set)
{
    if (!set->followed)
        drop_stack(set);
    set->followed = true;
}

void prefetch_forget(struct prefetch_set *set)
{
    set->count = set->sorted = 0;
    set->missed = set->changed = true;
    set->layout_count++;
}
