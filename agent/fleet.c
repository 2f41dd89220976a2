/* SPDX-License-Identifier: Apache-2.0 */
/* fleet.c - see fleet.h: when samplers are started, watched and given up, and intervals end. */
#include "agent/fleet.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/captured.h"
#include "agent/charges.h"
#include "agent/clock.h"
#include "agent/finder.h"
#include "agent/heed.h"
#include "agent/log.h"

/* How often samplers are looked at: one that is blocked is known after a quarter of a second. */
#define LOOK_NS (60 * NS_PER_MS)
/* A sampler that takes longer to end an interval is not waited for. */
#define LATE_NS (2 * NS_PER_S)
#define LAST_NS NS_PER_S
/* A suspect that is sampled so long without blocking is one of all again. */
#define TRIAL_NS (10 * NS_PER_S)

enum { APART = FLEET_SAMPLERS_MAX, SLOTS, EVENTS_MAX = 1 + 2 * SLOTS };

struct fleet {
    struct engine_settings settings;
    struct engine_stats stats;
    struct fleet_stats counts;
    struct report_counts ended; /* of samplers that have ended */
    struct finder *finder;      /* owned */
    struct services services;
    struct charges charges;
    struct bursts bursts;
    struct hang_talk hangs;
    struct budget budget;
    uint64_t budget_ns;       /* when it is looked at next */
    struct utc utc;           /* when it was last looked whether the clock was set */
    struct slot slots[SLOTS]; /* the last one for suspects */
    size_t slot_count;        /* of those for the others, in use */
    struct slot *heard;       /* borrowed: who reports now */
    int signal_fd;
    struct engine_apart apart;
    uint64_t settling;        /* the number of the last order to settle */
    uint64_t interval;        /* its number, from 1 */
    uint64_t interval_end_ns; /* when it is to end */
    uint64_t late_ns;         /* it is ending: samplers are waited for until then; 0: it is not */
    uint64_t look_ns;
};

static bool runs(const struct slot *slot)
{
    return slot->helper.pid != 0;
}

/* A sampler is lost or killed: what it sampled is to be given to the next. Gives the process
 * that it read. */
static void lose(struct fleet *f, struct slot *slot, bool failed, bool blame)
{
    uint64_t now_ns = clock_mono_ns();
    pid_t pid = helper_reads(&slot->helper);
    struct charge *charge = pid ? charges_reading(&f->charges, slot, pid) : NULL;
    const struct suspect *suspect = NULL;

    slot_stop(slot, failed, now_ns, &f->ended);
    charges_unsend(&f->charges, slot);
    if (charge && blame)
        suspect = charges_suspect(&f->charges, charge, &f->slots[APART], now_ns);
    if (suspect && suspect->count == 1)
        log_line(LOG_LEVEL_WARNING,
                 "process %d %s the sampler that read it; it is sampled apart from all others from "
                 "now on, and tried ever more rarely",
                 (int)pid, failed ? "crashed" : "blocked");
}

/* A sampler has ended by itself. */
static void lose_ended(struct fleet *f, struct slot *slot)
{
    int status = helper_status(&slot->helper);
    bool crashed = status == 128 + SIGSEGV || status == 128 + SIGBUS || status == 128 + SIGABRT ||
                   status == 128 + SIGILL || status == 128 + SIGFPE;

    f->counts.crashed++;
    log_line(LOG_LEVEL_WARNING, "a sampler has ended (%s %d) and is started again%s",
             status > 128 ? "signal" : "status", status > 128 ? status - 128 : status,
             status == 128 + SIGSYS ? ": a seccomp filter kills it, which must allow "
                                      "process_vm_readv; pystrobe doctor says more"
                                    : "");
    lose(f, slot, true, crashed);
}

/* Sends an order to a sampler that runs; it is lost if that fails. */
static void order(struct fleet *f, struct slot *slot, enum order kind, const void *message,
                  size_t size)
{
    if (runs(slot) && !slot_order(slot, kind, message, size))
        lose_ended(f, slot);
}

static void order_end(struct fleet *f, struct slot *slot, bool last)
{
    struct order_end message;

    memset(&message, 0, sizeof(message));
    message.number = f->interval;
    message.last = last;
    order(f, slot, ORDER_END, &message, sizeof(message));
}

static void order_burst(struct fleet *f, struct slot *slot, const struct burst *burst,
                        uint64_t now_ns)
{
    struct order_burst message;

    if (burst->until_ns <= now_ns)
        return;
    memset(&message, 0, sizeof(message));
    message.burst = *burst;
    message.duration_ns = burst->until_ns - now_ns;
    order(f, slot, ORDER_BURST, &message, sizeof(message));
}

size_t fleet_burst(struct fleet *f, const struct burst *burst, uint64_t duration_ns)
{
    uint64_t now_ns = clock_mono_ns();
    struct burst mine = *burst;
    const struct charge *charge;
    size_t i, count = 0;

    mine.until_ns = duration_ns < UINT64_MAX - now_ns ? now_ns + duration_ns : UINT64_MAX;
    if (!bursts_add(&f->bursts, &mine, now_ns))
        return SIZE_MAX;
    for (i = 0; i < SLOTS; i++)
        order_burst(f, &f->slots[i], &mine, now_ns);
    for (i = 0; i < f->charges.count; i++) {
        charge = &f->charges.items[i];
        count += charge->sampling && burst_fits(&mine, charge->id.pid, charge->choice.service);
    }
    return count;
}

const struct burst *fleet_burst_of(const struct fleet *f, const struct burst *whom)
{
    return bursts_like(&f->bursts, whom, clock_mono_ns());
}

static void order_settle(struct fleet *f, struct slot *slot)
{
    struct order_settle message;

    memset(&message, 0, sizeof(message));
    message.number = f->settling;
    message.apart = f->apart;
    order(f, slot, ORDER_SETTLE, &message, sizeof(message));
}

uint64_t fleet_settle(struct fleet *f, const struct engine_apart *apart)
{
    size_t i;

    f->apart = *apart;
    f->settling++;
    for (i = 0; i < SLOTS; i++)
        order_settle(f, &f->slots[i]);
    return f->settling;
}

bool fleet_settled(const struct fleet *f, uint64_t number)
{
    size_t i;

    for (i = 0; i < SLOTS; i++)
        if (runs(&f->slots[i]) && f->slots[i].settled < number)
            return false;
    return true;
}

const struct service *fleet_services(const struct fleet *f)
{
    return f->services.first;
}

static void order_stretch(struct fleet *f, struct slot *slot)
{
    const double factor = f->budget.state.factor;

    order(f, slot, ORDER_STRETCH, &factor, sizeof(factor));
}

static void start(struct fleet *f, struct slot *slot, uint64_t now_ns)
{
    struct err err = {""};
    size_t i;

    if (!slot_start(slot, now_ns, &err)) {
        log_line(LOG_LEVEL_ERROR, "%s", err.text);
        return;
    }
    f->counts.started++;
    for (i = 0; i < f->bursts.count; i++)
        order_burst(f, slot, &f->bursts.all[i], now_ns);
    order_stretch(f, slot);
    if (f->settling > 0)
        order_settle(f, slot);
    if (f->late_ns != 0) /* what it sees belongs to the next interval */
        order_end(f, slot, false);
}

/* Looks whether a sampler still does its work, or may be started. */
static void look_at(struct fleet *f, struct slot *slot, uint64_t now_ns)
{
    enum helper_look look;

    if (!runs(slot)) {
        if (slot->processes > 0 && now_ns >= slot->next_start_ns)
            start(f, slot, now_ns);
        return;
    }
    look = helper_look(&slot->helper, now_ns);
    if (look == HELPER_WELL)
        return;
    f->counts.blocked += look == HELPER_BLOCKED;
    f->counts.silent += look == HELPER_SILENT;
    if (look == HELPER_SILENT)
        log_line(LOG_LEVEL_WARNING, "a sampler did nothing for seconds and is started again");
    lose(f, slot, false, look == HELPER_BLOCKED);
}

/* The sampler that has the least to do; one that does not run counts as half busy. */
static struct slot *least_busy(struct fleet *f)
{
    enum { BUSY = 64 };
    struct slot *best = &f->slots[0];
    size_t i, load, least = SIZE_MAX;

    for (i = 0; i < f->slot_count; i++) {
        load = f->slots[i].processes + (f->slots[i].processes == 0 && i > 0 ? BUSY : 0);
        if (load < least) {
            least = load;
            best = &f->slots[i];
        }
    }
    return best;
}

static void send_take(struct fleet *f, struct charge *charge)
{
    struct order_take message;

    memset(&message, 0, sizeof(message));
    message.id = charge->id;
    message.choice = charge->choice;
    charge->sent = true;
    order(f, charge->slot, ORDER_TAKE, &message, sizeof(message));
}

/* A suspect has behaved well for a while. */
static void end_trial(struct fleet *f, struct charge *charge)
{
    order(f, charge->slot, ORDER_DROP, &charge->id, sizeof(charge->id));
    charges_move(charge, least_busy(f));
}

/* Gives a process to its sampler if it has not got it, and its time has come. */
static void look_after(struct fleet *f, struct charge *charge, uint64_t now_ns)
{
    bool apart = charge->slot == &f->slots[APART];

    if (apart && charge->sampling && now_ns > charge->began_ns + TRIAL_NS)
        end_trial(f, charge);
    if (!charge->sent && runs(charge->slot) &&
        (!apart || now_ns >= charges_try_ns(&f->charges, charge)))
        send_take(f, charge);
}

/* Looks at all samplers and at what they are to sample. */
static void look(struct fleet *f, uint64_t now_ns)
{
    size_t i;

    for (i = 0; i < SLOTS; i++)
        look_at(f, &f->slots[i], now_ns);
    for (i = 0; i < f->charges.count; i++)
        look_after(f, &f->charges.items[i], now_ns);
    f->look_ns = now_ns + LOOK_NS;
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

static void refuse(struct fleet *f, struct proc_id id, const char *why, uint64_t now_ns)
{
    struct err err;

    err_set(&err, "process %d: %s", (int)id.pid, why);
    finder_put_off(f->finder, id, CPY_NOMEM, &err, now_ns);
}

/* The finder has a process for us. */
static void take(void *ctx, struct proc_id id, const struct choice *choice)
{
    struct fleet *f = ctx;
    uint64_t now_ns = clock_mono_ns();
    struct charge *charge;

    if (f->charges.count >= f->budget.state.targets_max) {
        refuse(f, id, "no room in what pystrobe may use (max_cpu, max_memory)", now_ns);
        return;
    }
    charge = charges_add(&f->charges, id, choice, least_busy(f), &f->slots[APART]);
    if (!charge) {
        refuse(f, id, "out of memory", now_ns);
        return;
    }
    if (!runs(charge->slot) && now_ns >= charge->slot->next_start_ns)
        start(f, charge->slot, now_ns);
    look_after(f, charge, now_ns);
}

/* The finder has lost a process. */
static void drop(void *ctx, struct proc_id id)
{
    struct fleet *f = ctx;
    struct charge *charge = charges_find(&f->charges, id);

    if (!charge)
        return;
    if (charge->sent)
        order(f, charge->slot, ORDER_DROP, &id, sizeof(id));
    charges_remove(&f->charges, charges_find(&f->charges, id));
}

/* Gives up the process that has been sampled for the shortest time; false: there is none. */
static bool shed_one(struct fleet *f, uint64_t now_ns)
{
    struct charge *last = NULL;
    struct proc_id id;
    size_t i;

    for (i = 0; i < f->charges.count; i++)
        if (!last || f->charges.items[i].began_ns > last->began_ns)
            last = &f->charges.items[i];
    if (!last)
        return false;
    id = last->id;
    drop(f, id);
    refuse(f, id, "left out: pystrobe may use no more (max_cpu, max_memory)", now_ns);
    f->budget.state.shed++;
    return true;
}

static struct budget_use use_of(const struct fleet *f)
{
    struct budget_use use = {.targets = f->charges.count, .memory_bytes = budget_memory_of(0)};
    struct timespec own = {0};
    size_t i;

    for (i = 0; i < SLOTS; i++)
        if (runs(&f->slots[i]))
            use.memory_bytes += budget_memory_of(f->slots[i].helper.pid);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    use.asked_cpu_ns = captured_cpu_ns();
    use.cpu_ns = (uint64_t)own.tv_sec * NS_PER_S + (uint64_t)own.tv_nsec + fleet_cpu_ns(f) +
                 use.asked_cpu_ns;
    return use;
}

static void log_less_often(const struct budget_state *state)
{
    const struct budget_limits *promised = &state->promised;

    if (promised->memory_bytes > 0 && state->used_memory_bytes > promised->memory_bytes)
        log_line(LOG_LEVEL_WARNING,
                 "sampling less often: pystrobe uses %.1f MiB and may use %.1f MiB (max_memory)",
                 (double)state->used_memory_bytes / (1 << 20),
                 (double)promised->memory_bytes / (1 << 20));
    else
        log_line(
            LOG_LEVEL_WARNING,
            "sampling less often: pystrobe used %.2f %% of a core and may use %.2f %% (max_cpu)",
            state->used_cpu * 100, promised->cpu * 100);
}

static void log_budget(const struct budget_state *state, double before, size_t targets)
{
    if (state->factor > 1 && before <= 1)
        log_less_often(state);
    else if (state->factor <= 1 && before > 1)
        log_line(LOG_LEVEL_INFO, "sampling as often as asked again");
    if (targets > state->targets_max)
        log_line(LOG_LEVEL_WARNING, "sampling %zu of %zu processes: more would take too much %s",
                 state->targets_max, targets,
                 state->factor >= BUDGET_FACTOR_MAX ? "CPU time (max_cpu)" : "memory (max_memory)");
}

/* Keeps to what may be used. */
static void keep_budget(struct fleet *f, uint64_t now_ns)
{
    struct budget_state *state = &f->budget.state;
    const struct budget_use use = use_of(f);
    const double before = state->factor;
    size_t i;

    budget_step(&f->budget, &use, now_ns);
    log_budget(state, before, use.targets);
    if (state->factor != before) {
        finder_stretch(f->finder, state->factor);
        for (i = 0; i < SLOTS; i++)
            order_stretch(f, &f->slots[i]);
    }
    while (f->charges.count > state->targets_max && shed_one(f, now_ns)) {
    }
    f->budget_ns = now_ns + BUDGET_STEP_NS;
}

const struct budget_state *fleet_budget(const struct fleet *f)
{
    return &f->budget.state;
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

void fleet_change(struct fleet *f, const struct engine_settings *settings)
{
    uint64_t end_ns = clock_mono_ns() + settings->interval_ns;

    f->settings.interval_ns = settings->interval_ns;
    f->settings.scan_ns = settings->scan_ns;
    f->services.max = settings->max_services;
    budget_set_limits(&f->budget, &settings->budget);
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

struct fleet *fleet_new(const struct engine_settings *settings)
{
    struct fleet *f = calloc(1, sizeof(*f));
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (!f)
        return NULL;
    f->settings = *settings;
    f->services.max = settings->max_services;
    f->services.begin_ns = clock_mono_ns();
    f->slot_count = cpus < 1 ? 1 : cpus > FLEET_SAMPLERS_MAX ? FLEET_SAMPLERS_MAX : (size_t)cpus;
    f->utc = utc_now();
    budget_init(&f->budget, &settings->budget);
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
        order_end(f, &f->slots[i], last);
    f->late_ns = deadline_ns;
}

/* How many samplers still have to end the interval. */
static size_t waiting(const struct fleet *f)
{
    size_t i, count = 0;

    for (i = 0; i < SLOTS; i++)
        count += runs(&f->slots[i]) && f->slots[i].done != f->interval;
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
    if (runs(slot) && (link_flush(&slot->helper.link) != LINK_OK ||
                       !slot_receive(slot, &f->services, f->interval, &news, f)))
        lose_ended(f, slot);
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
        fds[1 + 2 * i] = (struct pollfd){.fd = runs(slot) ? slot->helper.link.fd : -1};
        if (slot->done != f->interval) /* else it is not to be heard before the others are ready */
            fds[1 + 2 * i].events = POLLIN;
        if (runs(slot) && link_waits(&slot->helper.link))
            fds[1 + 2 * i].events |= POLLOUT;
        fds[2 + 2 * i] =
            (struct pollfd){.fd = runs(slot) ? slot->helper.pidfd : -1, .events = POLLIN};
    }
    if (ppoll(fds, EVENTS_MAX, &timeout, NULL) <= 0)
        return false;
    for (i = 0; i < SLOTS; i++) {
        if (fds[1 + 2 * i].revents)
            hear(f, &f->slots[i]);
        if (fds[2 + 2 * i].revents && runs(&f->slots[i]))
            lose_ended(f, &f->slots[i]);
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
            look(f, now_ns);
        if (now_ns >= f->budget_ns)
            keep_budget(f, now_ns);
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
        look(f, clock_mono_ns());
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
        f->counts.samplers += runs(&f->slots[i]);
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
