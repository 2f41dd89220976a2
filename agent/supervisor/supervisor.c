/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.c - see supervisor.h: what is found, heard and delivered. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/sampling/clock_step.h"
#include "agent/supervisor/supervisor_internal.h"

/* A sampler that takes longer to end an interval is not waited for. */
#define LATE_NS (2 * NS_PER_S)
#define LAST_NS NS_PER_S
/* Of a core: what one sampler may take before there is another. */
#define SAMPLER_CPU 0.5
enum { EVENTS_MAX = 1 + 2 * SLOTS };

const struct service *fleet_services(const struct fleet *f)
{
    return f->services.first;
}

static bool is_sampler(const struct fleet *f, pid_t pid)
{
    size_t i;

    for (i = 0; i < SLOTS; i++)
        if (f->slots[i].helper.pid == pid)
            return true;
    return false;
}

static bool choose(void *ctx, pid_t pid, const struct proc_stat *stat, struct choice *out)
{
    const struct fleet *f = ctx;

    return !is_sampler(f, pid) && f->settings.choose(f->settings.ctx, pid, stat, out);
}

void fleet_refuse(struct fleet *f, struct proc_id id, const char *why, uint64_t now_ns)
{
    struct err err;

    err_set(&err, "process %d: %s", (int)id.pid, why);
    finder_put_off(f->finder, id, CPY_NOMEM, &err, now_ns);
}

void fleet_drop(struct fleet *f, struct proc_id id)
{
    struct charge *charge = charges_find(&f->charges, id);

    if (!charge)
        return;
    if (charge->sent)
        fleet_order(f, charge->slot, ORDER_DROP, &id, sizeof(id));
    charges_remove(&f->charges, charges_find(&f->charges, id));
}

/* The finder has lost a process. */
static void drop(void *ctx, struct proc_id id)
{
    fleet_drop(ctx, id);
}

/* The finder has a process for us. */
static void take(void *ctx, struct proc_id id, const struct choice *choice)
{
    struct fleet *f = ctx;
    uint64_t now_ns = clock_mono_ns();
    struct charge *charge;

    if (f->charges.count >= f->budget.state.targets_max) {
        fleet_refuse(f, id, "no room in what pystrobe may use (max_cpu, max_memory)", now_ns);
        return;
    }
    charge = charges_add(&f->charges, id, choice, fleet_least_busy(f), &f->slots[APART]);
    if (!charge) {
        fleet_refuse(f, id, "out of memory", now_ns);
        return;
    }
    fleet_give(f, charge, now_ns);
}

/* The process that a report is about; NULL: it is another's by now. */
static struct charge *reported(const struct fleet *f, struct proc_id id)
{
    struct charge *charge = charges_find(&f->charges, id);

    return charge && charge->sent && charge->slot == f->heard ? charge : NULL;
}

/* True if a process is sampled just so already. */
static bool holds(void *ctx, struct proc_id id, const struct choice *choice)
{
    const struct fleet *f = ctx;
    const struct charge *charge = charges_find(&f->charges, id);

    return charge && strcmp(charge->choice.service, choice->service) == 0 &&
           charge->choice.rate_hz == choice->rate_hz && charge->choice.split == choice->split &&
           charge->choice.auto_labels == choice->auto_labels &&
           charge->choice.otel_name == choice->otel_name &&
           charge->choice.max_split == choice->max_split &&
           labels_equal(&charge->choice.labels, &choice->labels);
}

/*
 * How many samplers are to share the work: as many as may take SAMPLER_CPU of a core each. Fewer
 * wake up less often, which is a sixth of what it takes to sample 1,000 processes that mostly
 * sleep.
 */
static size_t count_slots(double max_cpu)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    double count = max_cpu > 0 ? max_cpu / SAMPLER_CPU : FLEET_SAMPLERS_MAX;

    count = cpus >= 1 && count > (double)cpus ? (double)cpus : count;
    return count <= 1 ? 1 : count >= FLEET_SAMPLERS_MAX ? FLEET_SAMPLERS_MAX : (size_t)count;
}

void fleet_change(struct fleet *f, const struct engine_settings *settings,
                  const struct budget_limits *budget)
{
    uint64_t end_ns = clock_mono_ns() + settings->interval_ns;

    f->settings.interval_ns = settings->interval_ns;
    f->settings.scan_ns = settings->scan_ns;
    f->services.max = settings->max_services;
    budget_set_limits(&f->budget, budget);
    f->slot_count = count_slots(budget->cpu);
    if (f->late_ns == 0 && end_ns < f->interval_end_ns)
        f->interval_end_ns = end_ns;
    finder_reconsider(f->finder, settings->scan_ns, holds);
}

static void hear_began(void *ctx, struct proc_id id, const char *version)
{
    struct fleet *f = ctx;
    struct charge *charge = reported(f, id);

    if (!charge)
        return;
    if (!charge->known)
        log_line(LOG_LEVEL_INFO, "process %d: sampling Python %s as service %s", (int)id.pid,
                 version, charge->choice.service);
    f->stats.attached += !charge->known;
    (void)snprintf(charge->python, sizeof(charge->python), "%s", version);
    charge->known = true;
    charge->sampling = true;
    charge->began_ns = clock_mono_ns();
    finder_began(f->finder, id);
}

static void hear_put_off(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err)
{
    struct fleet *f = ctx;
    struct charge *charge = reported(f, id);

    if (!charge)
        return;
    engine_note_failure(&f->stats, id.pid, rc, err);
    charges_remove(&f->charges, charge);
    finder_put_off(f->finder, id, rc, err, clock_mono_ns());
}

static void hear_ended(void *ctx, struct proc_id id)
{
    struct fleet *f = ctx;
    struct charge *charge = reported(f, id);

    if (!charge)
        return;
    charges_remove(&f->charges, charge);
    finder_ended(f->finder, id);
}

static void hear_counted(void *ctx, struct proc_id id, const struct engine_counts *counts)
{
    struct fleet *f = ctx;

    charges_count(&f->charges, f->heard, id, counts);
}

static void hear_hang(void *ctx, const struct engine_hang *hang, const char *dump, size_t size)
{
    struct fleet *f = ctx;
    struct charge *charge = reported(f, hang->id);

    if (charge)
        hang_tell(&f->hangs, &charge->hang, hang, charge->choice.service, dump, size);
}

static struct finder *open_finder(struct fleet *f)
{
    const struct finder_settings settings = {
        .choose = choose,
        .choose_ctx = f,
        .take = take,
        .lost = drop,
        .ctx = f,
        .scan_ns = f->settings.scan_ns,
        .only = f->settings.only,
        .eager = f->settings.eager,
    };

    return finder_new(&settings);
}

struct fleet *fleet_new(const struct engine_settings *settings, const struct budget_limits *budget)
{
    struct fleet *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->settings = *settings;
    f->services.max = settings->max_services;
    f->services.begin_ns = clock_mono_ns();
    f->slot_count = count_slots(budget->cpu);
    f->utc = utc_now();
    budget_init(&f->budget, budget);
    f->interval = 1;
    f->interval_end_ns =
        settings->interval_ns ? clock_mono_ns() + settings->interval_ns : UINT64_MAX;
    f->signal_fd = signalfd(-1, &settings->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    f->finder = open_finder(f);
    if (f->signal_fd >= 0 && f->finder)
        return f;
    fleet_free(f);
    return NULL;
}

void fleet_free(struct fleet *f)
{
    size_t i;

    if (!f)
        return;
    for (i = 0; i < SLOTS; i++)
        slot_finish(&f->slots[i]);
    finder_free(f->finder);
    charges_finish(&f->charges);
    services_finish(&f->services);
    if (f->signal_fd >= 0)
        (void)close(f->signal_fd);
    free(f);
}

/* Has all samplers end the interval. */
static void begin_end(struct fleet *f, bool last, uint64_t deadline_ns)
{
    size_t i;

    for (i = 0; i < SLOTS; i++)
        fleet_order_end(f, &f->slots[i], last);
    f->late_ns = deadline_ns;
}

/* How many samplers still have to end the interval. */
static size_t waiting(const struct fleet *f)
{
    size_t i, count = 0;

    for (i = 0; i < SLOTS; i++)
        count += slot_runs(&f->slots[i]) && f->slots[i].done != f->interval;
    return count;
}

/* All samplers have ended the interval, or are late: it is delivered. */
static void end_interval(struct fleet *f, bool last, uint64_t now_ns)
{
    struct service *service;
    size_t i;

    heed_clock(&f->services, &f->utc);
    f->counts.late += waiting(f);
    for (service = f->services.first; service; service = service->next) {
        if (!last && service_hold(service))
            continue;
        f->stats.overflow += service->overflow;
        f->settings.deliver(f->settings.ctx, service, now_ns);
        if (!service_begin(service, clock_utc_ns(), now_ns))
            log_line(LOG_LEVEL_ERROR, "service %s: out of memory", service->name);
    }
    if (f->settings.interval_ended)
        f->settings.interval_ended(f->settings.ctx);
    services_trim(&f->services);
    trim_soon(&f->trim, now_ns); /* the last profile was another shape, and is gone */
    for (service = f->services.first; service; service = service->next)
        service->users = 0; /* until pieces come for it */
    f->services.begin_ns = now_ns;
    for (i = 0; i < SLOTS; i++)
        slot_renew(&f->slots[i]);
    charges_sweep(&f->charges);
    f->interval++;
    f->late_ns = 0;
    if (f->settings.interval_ns == 0)
        return;
    f->interval_end_ns += f->settings.interval_ns;
    if (f->interval_end_ns <= now_ns)
        f->interval_end_ns = now_ns + f->settings.interval_ns;
}

/* Reads what one sampler reports, and notices its end. */
static void hear(struct fleet *f, struct slot *slot)
{
    static const struct slot_news news = {hear_began, hear_put_off, hear_ended, hear_counted,
                                          hear_hang};

    f->heard = slot;
    if (slot_runs(slot) && (link_flush(&slot->helper.link) != LINK_OK ||
                            !slot_receive(slot, &f->services, f->interval, &news, f)))
        fleet_lose_ended(f, slot);
}

/* Waits until `until_ns`, a signal (not if there is no `out_signal`), or news of a sampler, and
 * reads the latter. True: a signal. */
static bool wait_until(struct fleet *f, uint64_t until_ns, struct signalfd_siginfo *out_signal)
{
    uint64_t now_ns = clock_mono_ns(), left = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(left / NS_PER_S), (long)(left % NS_PER_S)};
    struct pollfd fds[EVENTS_MAX] = {{.fd = out_signal ? f->signal_fd : -1, .events = POLLIN}};
    struct slot *slot;
    size_t i;

    for (i = 0; i < SLOTS; i++) {
        slot = &f->slots[i];
        fds[1 + 2 * i] = (struct pollfd){.fd = slot_runs(slot) ? slot->helper.link.fd : -1};
        if (slot->done != f->interval) /* else it is not to be heard before the others are ready */
            fds[1 + 2 * i].events = POLLIN;
        if (slot_runs(slot) && link_waits(&slot->helper.link))
            fds[1 + 2 * i].events |= POLLOUT;
        fds[2 + 2 * i] =
            (struct pollfd){.fd = slot_runs(slot) ? slot->helper.pidfd : -1, .events = POLLIN};
    }
    if (ppoll(fds, EVENTS_MAX, &timeout, NULL) <= 0)
        return false;
    for (i = 0; i < SLOTS; i++) {
        if (fds[1 + 2 * i].revents)
            hear(f, &f->slots[i]);
        if (fds[2 + 2 * i].revents && slot_runs(&f->slots[i]))
            fleet_lose_ended(f, &f->slots[i]);
    }
    return fds[0].revents &&
           read(f->signal_fd, out_signal, sizeof(*out_signal)) == (ssize_t)sizeof(*out_signal);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

enum engine_event fleet_run(struct fleet *f, uint64_t deadline_ns,
                            struct signalfd_siginfo *out_signal)
{
    uint64_t now_ns, until;

    for (;;) {
        now_ns = clock_mono_ns();
        if (now_ns >= deadline_ns)
            return ENGINE_DEADLINE;
        if (now_ns >= finder_next_ns(f->finder))
            finder_scan(f->finder, now_ns);
        if (now_ns >= f->look_ns)
            fleet_look(f, now_ns);
        if (now_ns >= f->budget_ns)
            fleet_keep_budget(f, now_ns);
        (void)trim_now(&f->trim, now_ns);
        if (f->late_ns == 0 && now_ns >= f->interval_end_ns)
            begin_end(f, false, now_ns + LATE_NS);
        if (f->late_ns != 0 && (waiting(f) == 0 || now_ns >= f->late_ns))
            end_interval(f, false, now_ns);
        until = earlier(finder_next_ns(f->finder), f->look_ns);
        until = earlier(until, f->late_ns ? f->late_ns : f->interval_end_ns);
        if (wait_until(f, earlier(until, deadline_ns), out_signal))
            return ENGINE_SIGNAL;
    }
}

/* Waits for the samplers that have to end the interval, and ends it. */
static void finish_interval(struct fleet *f, bool last, uint64_t end_ns)
{
    while (waiting(f) > 0 && clock_mono_ns() < end_ns) {
        fleet_look(f, clock_mono_ns());
        (void)wait_until(f, earlier(end_ns, f->look_ns), NULL);
    }
    end_interval(f, last, clock_mono_ns());
}

void fleet_flush(struct fleet *f)
{
    uint64_t end_ns = clock_mono_ns() + LAST_NS;

    if (f->late_ns != 0) /* one was ending just now: what came since belongs to the last one */
        finish_interval(f, false, end_ns);
    begin_end(f, true, end_ns);
    finish_interval(f, true, end_ns);
}

const struct engine_stats *fleet_engine_stats(struct fleet *f)
{
    struct report_counts sum = f->ended;
    size_t i;

    for (i = 0; i < SLOTS; i++)
        slot_add_counts(&sum, &f->slots[i].now);
    f->stats.samples = sum.stats.samples;
    f->stats.missed = sum.stats.missed;
    f->stats.rested = sum.stats.rested;
    f->stats.times = sum.stats.times;
    memcpy(f->stats.failed, sum.stats.failed, sizeof(f->stats.failed));
    f->stats.sampling = charges_sampling(&f->charges);
    return &f->stats;
}

void fleet_unwinder(const struct fleet *f, struct cpy_stats *out)
{
    struct report_counts sum = f->ended;
    size_t i;

    for (i = 0; i < SLOTS; i++)
        slot_add_counts(&sum, &f->slots[i].now);
    *out = sum.unwinder;
}

void fleet_each(struct fleet *f, void (*each)(void *ctx, const struct fleet_process *), void *ctx)
{
    uint64_t now_ns = clock_mono_ns();
    size_t i;

    for (i = 0; i < f->charges.count; i++) {
        const struct charge *charge = &f->charges.items[i];
        const struct burst *burst =
            bursts_of(&f->bursts, charge->id.pid, charge->choice.service, now_ns);
        const struct fleet_process process = {
            .pid = charge->id.pid,
            .service = charge->choice.service,
            .python = charge->python,
            .rate_hz = burst ? burst->rate_hz : charge->choice.rate_hz,
            .burst = burst != NULL,
            .sampling = charge->sampling,
            .apart = charge->slot == &f->slots[APART],
            .counts = &charge->counts,
            .hang = &charge->hang,
        };

        each(ctx, &process);
    }
}

const struct fleet_stats *fleet_stats(struct fleet *f)
{
    size_t i;

    f->counts.suspects = f->charges.suspects.count;
    f->counts.samplers = 0;
    for (i = 0; i < SLOTS; i++)
        f->counts.samplers += slot_runs(&f->slots[i]);
    memcpy(f->counts.hangs, f->hangs.counts, sizeof(f->counts.hangs));
    return &f->counts;
}

uint64_t fleet_cpu_ns(const struct fleet *f)
{
    uint64_t sum = 0;
    size_t i;

    for (i = 0; i < SLOTS; i++)
        sum += slot_cpu_ns(&f->slots[i]);
    return sum;
}
