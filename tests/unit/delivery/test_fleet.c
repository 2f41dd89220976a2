/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fleet.c - what a server sees of many hosts: no waves, and after an outage no flood.
 *
 * Time is simulated: each host has a real queue with one batch an interval, and a server that
 * answers in half a second, or not at all.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/delivery/export_queue.h"
#include "base/time_units.h"
#include "tests/unit/unit_test.h"

enum {
    HOSTS = 2000,
    INTERVAL_S = 15,
    STEPS = 10, /* a second */
    MINUTES = 30,
    SECONDS = MINUTES * 60
};

struct host {
    struct export_queue queue;
    struct export_entry *under_way;
    uint64_t answer_ns, due_ns;
    uint64_t interval;
};

struct fleet {
    struct host hosts[HOSTS];
    unsigned requests[SECONDS]; /* that the server got in each second */
    size_t delivered, lost;
    uint64_t order;
};

static void lose(void *ctx, struct export_entry *entry, enum export_loss why)
{
    struct fleet *fleet = ctx;

    (void)why;
    fleet->lost++;
    export_entry_free(entry);
}

/* A batch on disk. */
static void put(struct fleet *fleet, struct host *host, uint64_t now_ns)
{
    struct export_entry *entry = calloc(1, sizeof(*entry));

    assert_non_null(entry);
    *entry = (struct export_entry){.interval = ++host->interval, .order = ++fleet->order};
    entry->count = 100;
    entry->put_ns = now_ns;
    entry->born_ns = (int64_t)now_ns;
    entry->file = (struct spool_file *)(void *)fleet; /* which nobody looks into */
    export_queue_add(&host->queue, entry);
    host->due_ns = 0;
}

static void answer(struct fleet *fleet, struct host *host, bool up, uint64_t now_ns)
{
    const struct exporter_answer said = {.unsent = !up};

    if (export_queue_complete(&host->queue, host->under_way, up ? EXPORTER_OK : EXPORTER_RETRY,
                              &said, now_ns) != EXPORT_WAITS) {
        fleet->delivered++;
        export_entry_free(host->under_way);
    }
    host->under_way = NULL;
    host->due_ns = 0;
}

/* All hosts began within one second, as after a restart of all. */
static void begin(struct fleet *fleet, uint64_t now_ns)
{
    const struct export_limits limits = {
        .in_flight = 4, .jitter_ns = INTERVAL_S * NS_PER_S, .interval_ns = INTERVAL_S * NS_PER_S};

    for (size_t i = 0; i < HOSTS; i++) {
        export_queue_init(&fleet->hosts[i].queue, &limits, (i + 1) * UINT64_C(0x9e3779b97f4a7c15),
                          now_ns);
        fleet->hosts[i].queue.lose = lose;
        fleet->hosts[i].queue.ctx = fleet;
    }
}

static void step(struct fleet *fleet, struct host *host, size_t second, bool up, uint64_t now_ns)
{
    if (host->under_way && now_ns >= host->answer_ns)
        answer(fleet, host, up, now_ns);
    if (host->under_way || now_ns < host->due_ns)
        return;
    host->under_way = export_queue_next(&host->queue, now_ns, &host->due_ns);
    if (!host->under_way)
        return;
    fleet->requests[second]++;
    host->answer_ns = now_ns + NS_PER_S / 2;
}

/* Runs the fleet; the server is away between two seconds. */
static struct fleet *run(size_t away_from, size_t away_to)
{
    struct fleet *fleet = calloc(1, sizeof(*fleet));
    uint64_t now_ns = 1000 * NS_PER_S;

    assert_non_null(fleet);
    begin(fleet, now_ns);
    for (size_t n = 0; n < SECONDS * STEPS; n++, now_ns += NS_PER_S / STEPS) {
        size_t second = n / STEPS;
        bool up = second < away_from || second >= away_to;

        for (size_t i = 0; i < HOSTS; i++) {
            if (n % (INTERVAL_S * STEPS) == 0)
                put(fleet, &fleet->hosts[i], now_ns);
            step(fleet, &fleet->hosts[i], second, up, now_ns);
        }
    }
    return fleet;
}

static unsigned most(const struct fleet *fleet, size_t from, size_t to)
{
    unsigned result = 0;

    for (size_t i = from; i < to; i++)
        result = fleet->requests[i] > result ? fleet->requests[i] : result;
    return result;
}

static size_t waiting(const struct fleet *fleet)
{
    size_t count = 0;

    for (size_t i = 0; i < HOSTS; i++)
        count += fleet->hosts[i].queue.count;
    return count;
}

static void end(struct fleet *fleet)
{
    for (size_t i = 0; i < HOSTS; i++)
        export_queue_finish(&fleet->hosts[i].queue);
    free(fleet);
}

static void hosts_that_start_together_send_at_different_times(void **state)
{
    struct fleet *fleet = run(0, 0);
    unsigned mean = HOSTS / INTERVAL_S;

    (void)state;
    assert_int_equal(fleet->lost, 0);
    assert_true(most(fleet, 0, SECONDS) < 2 * mean);
    assert_true(fleet->delivered >= (size_t)HOSTS * (SECONDS / INTERVAL_S - 1));
    end(fleet);
}

static void after_an_outage_all_arrives_in_minutes_and_without_a_flood(void **state)
{
    const size_t away_from = 300, away_to = 900; /* ten minutes */
    struct fleet *fleet = run(away_from, away_to);
    unsigned mean = HOSTS / INTERVAL_S;

    (void)state;
    assert_int_equal(fleet->lost, 0);
    /* Hosts that wait for up to half a minute ask now and then. */
    assert_true(most(fleet, away_from + 120, away_to) < 2 * mean);
    /* Five times as fast as batches come, and those that come. */
    assert_true(most(fleet, away_to, SECONDS) < 8 * mean);
    assert_true(waiting(fleet) <= 2 * HOSTS);
    end(fleet);
}

/* Within five minutes after the outage. */
static void the_backlog_is_gone_five_minutes_later(void **state)
{
    struct fleet *fleet = run(SECONDS - 900, SECONDS - 300);

    (void)state;
    assert_int_equal(fleet->lost, 0);
    assert_true(waiting(fleet) <= 2 * HOSTS);
    end(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_that_start_together_send_at_different_times),
        cmocka_unit_test(after_an_outage_all_arrives_in_minutes_and_without_a_flood),
        cmocka_unit_test(the_backlog_is_gone_five_minutes_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
