/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - see engine.h. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/host/file_limit.h"
#include "agent/host/log.h"
#include "agent/sampling/clock_step.h"
#include "agent/sampling/engine_internal.h"
#include "agent/sampling/fair_share.h"
#include "agent/sampling/stats.h"
#include "base/text.h"

enum {
    RACED_MAX = 50,
    EVENTS = 32,
    CROWDED_MAX = 8 /* wake-ups, at most, until it is asked again whether we are alone */
};

/* Descriptors of one process, and of those the ones that only samples open; what is left for the
 * threads of all processes, as they come. */
enum { FILES_OF_PROCESS = 4, FILES_LATER = 2, FILES_SPARE = 8, SAMPLES_FEW = 20 };

#define PIN_NS (5 * NS_PER_MS)

const struct engine_stats *engine_stats(const struct engine *e)
{
    return &e->stats;
}

static void lost(void *ctx, struct proc_id id)
{
    engine_drop(ctx, id);
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    e->settings.callbacks = NULL; /* nobody is told any more */
    while (e->stats.sampling > 0)
        engine_stop(e, e->sampling[e->stats.sampling - 1]);
    finder_free(e->finder);
    services_finish(&e->services);
    children_finish(&e->started);
    ticks_finish(&e->ticks);
    alarm_finish(&e->alarm);
    free(e->sampling);
    buf_finish(&e->warnings);
    cpy_scratch_free(e->scratch);
    if (e->running_fd >= 0)
        (void)close(e->running_fd);
    if (e->signal_fd >= 0)
        (void)close(e->signal_fd);
    if (e->epoll_fd >= 0)
        (void)close(e->epoll_fd);
    free(e);
}

/* Before anything but the sample that it was taken for: that may take long, and we go before all
 * others there. */
static void unpin_cpu(struct engine *e)
{
    if (e->pinned)
        cpy_unpin_cpu(e->pinned->process.target);
    e->pinned = NULL;
}

/* Tells of a process that hangs, once, and of its end. */
static void report_target_hang(struct engine *e, struct target *t, uint64_t now_ns)
{
    struct hang *hang = &t->process.hang;
    const struct engine_hang event = {.id = t->id,
                                      .kind = hang->kind,
                                      .tid = hang->tid,
                                      .lasted_ns = now_ns - hang->since_ns,
                                      .mark = t->exec_mark};

    hang->unreported = false;
    if (!e->settings.hangs)
        return;
    unpin_cpu(e);
    engine_begin_reading(e, t->id, now_ns);
    e->settings.hangs(e->settings.ctx, &event);
    engine_end_reading(e);
}

/* Tells once of a process of which most stacks are refused. */
static void report_refusals(struct engine *e, struct target *t)
{
    const char *why = stats_refused(&t->refusals, cpy_stats(t->process.target));
    struct err text;

    if (!why)
        return;
    err_set(&text, "most of its stacks cannot be read, because %s: its profile lacks their time",
            why);
    engine_warn(e, t->id, &text);
}

/* True if a process whose interpreter seems to shut down is in truth another program by now, whose
 * memory says so by chance. It is asked once in RACED_MAX samples. */
static bool runs_another_program(struct target *t)
{
    uint64_t mark;

    return ++t->raced % RACED_MAX == 0 && proc_exec_mark(t->id.pid, &mark) == PROC_OK &&
           mark != t->exec_mark;
}

/* Asks a process again what may have changed since it began. */
static void look_again(struct engine *e, struct target *t, uint64_t now_ns)
{
    unpin_cpu(e);
    if (now_ns >= t->name_ns)
        engine_ask_name(e, t, now_ns);
    if (now_ns >= t->another_ns)
        engine_look_for_another(e, t, now_ns);
}

/* Adapts the period of a target to its cost. */
static void slow_target(struct engine *e, struct target *t)
{
    const double wanted_hz = (double)NS_PER_S / (double)ticks_wanted_period(&t->tick);
    const double hz = fair_share_hz(t->share_ns, sampling_cost_tick_ns(&t->cost), wanted_hz);

    ticks_slow(&e->ticks, &t->tick, hz < wanted_hz ? (uint64_t)((double)NS_PER_S / hz) : 0);
}

void engine_share(struct engine *e, uint64_t owner, double share_ns)
{
    for (size_t i = 0; i < e->stats.sampling; i++) {
        struct target *t = e->sampling[i];

        if (t->profile.owner != owner)
            continue;
        t->share_ns = share_ns > 0 ? share_ns : 0;
        slow_target(e, t);
    }
}

/* Charges a sample that began at `began_ns`. The first one counts as part of opening. */
static void charge_sample(struct engine *e, struct target *t, uint64_t began_ns, uint64_t bytes)
{
    const uint64_t took_ns = clock_mono_ns() - began_ns;

    if (!t->tick.began) {
        service_set_owner(t->process.service, t->profile.owner, (double)bytes);
        e->stats.opening_ns += took_ns;
        return;
    }
    sampling_cost_add(&t->cost, took_ns, bytes, process_ticks(&t->process),
                      ticks_wanted_period(&t->tick));
    service_set_owner(t->process.service, t->profile.owner, t->cost.bytes);
    e->stats.sampling_ns += took_ns + bytes * SAMPLING_COST_BYTE_NS;
    slow_target(e, t);
}

/* Takes a sample of one process; `alone`: see process_sample. False: it is sampled no more. */
static bool tick(struct engine *e, struct target *t, uint64_t now_ns, bool alone)
{
    const uint64_t ticks = process_ticks(&t->process);
    const struct pprof *profile = t->process.service->profile;
    const size_t bytes = pprof_interned_bytes(profile);
    bool read = true;
    struct proc_id id = t->id;
    struct err err;
    enum cpy_rc rc;

    engine_begin_reading(e, id, now_ns);
    if (e->pinned == t)
        cpy_woke(t->process.target, now_ns);
    rc = process_sample(&t->process, now_ns, alone, &read);
    engine_end_reading(e);
    if (read)
        stats_took(&e->stats.times, clock_mono_ns() - now_ns);
    charge_sample(e, t, now_ns, pprof_interned_bytes(profile) - bytes);
    e->stats.samples += ticks;
    t->samples += ticks;
    e->stats.idle += read ? ticks - 1 : ticks;
    if (rc == CPY_OK) {
        t->raced = 0;
        report_refusals(e, t);
        if (t->process.hang.unreported) {
            report_target_hang(e, t, now_ns);
            hang_profile_note(&t->hanging, &e->services, &t->process, now_ns);
        }
        return true;
    }
    e->stats.failed[rc]++;
    t->failed[rc]++;
    if (rc == CPY_STARTING && t->process.shuts_down) {
        if (!runs_another_program(t))
            return true; /* until the process ends: its CPU time goes on */
    } else if ((rc == CPY_RACED || rc == CPY_STARTING) && ++t->raced < RACED_MAX) {
        return true;
    }
    /* Gone, or something else runs there now: look at it anew. */
    err_set(&err, "process %d: %s", (int)id.pid, cpy_rc_text(rc));
    engine_stop(e, t);
    engine_put_off(e, id, rc, &err);
    return false;
}

/* True if no thread but this one runs on the host, or could; where others did it is asked ever more
 * rarely. */
static bool is_alone(struct engine *e)
{
    unsigned long running;

    if (e->alone_backoff_left > 0) {
        e->alone_backoff_left--;
        return false;
    }
    if (proc_running(e->running_fd, &running) && running == 1) {
        e->alone_backoff = 0;
        return true;
    }
    e->alone_backoff =
        e->alone_backoff < CROWDED_MAX / 2 ? 2 * e->alone_backoff + 1 : CROWDED_MAX - 1;
    e->alone_backoff_left = e->alone_backoff;
    return false;
}

/* Takes all samples that are due now; gives when to wake up for the next. */
static uint64_t tick_all(struct engine *e, uint64_t now_ns)
{
    const uint64_t due_ns = now_ns;
    bool asked = false, alone = false, first;
    struct target *t;
    struct tick *due;

    /* Who comes due meanwhile has to wait: signals and the interval's end have their turn. */
    for (; (due = ticks_due(&e->ticks, due_ns)); now_ns = clock_mono_ns()) {
        t = due->of;
        if (e->pinned && e->pinned != t)
            unpin_cpu(e);
        if (!asked && process_may_be_idle(&t->process)) {
            alone = is_alone(e);
            asked = true;
        }
        if (now_ns >= t->name_ns || now_ns >= t->another_ns) {
            look_again(e, t, now_ns);
            now_ns = clock_mono_ns();
        }
        t->process.service->period_ns = ticks_period(due); /* what a profile says */
        first = !due->began;
        if (!tick(e, t, now_ns, alone))
            continue;
        if (first) /* that took longer: nothing was known of the process before */
            now_ns = clock_mono_ns();
        e->stats.missed += ticks_done(&e->ticks, due, process_ticks(&t->process), now_ns);
    }
    return ticks_wake_ns(&e->ticks, now_ns);
}

/*
 * CPY_NOMEM if there are too few descriptors for one more process. Those that are sampled must not
 * run short of them, or they would be given up for each other in turn: one that has just begun has
 * not yet opened all that it will need: a pidfd, and what cpy_open says. Nor have all together.
 */
static enum cpy_rc check_descriptors(const struct engine *e, struct err *err)
{
    const size_t used = file_limit_used(e->epoll_fd), limit = file_limit();
    size_t needed = used + FILES_SPARE + FILES_OF_PROCESS + cpy_scratch_files_left(e->scratch);

    for (size_t i = 0; i < e->stats.sampling; i++)
        if (e->sampling[i]->samples < SAMPLES_FEW)
            needed += FILES_LATER;
    if (needed <= limit)
        return CPY_OK;
    err_set(err, "no file descriptors left: %zu of %zu are in use, with %zu %s sampled", used,
            limit, e->stats.sampling, text_plural(e->stats.sampling, "process", "processes"));
    return CPY_NOMEM;
}

void engine_take(struct engine *e, struct proc_id id, const struct target_profile *profile)
{
    struct cpy_target *opened = NULL;
    struct err err = {""};
    uint64_t cpu_ns;
    enum cpy_rc rc;

    /* Many may be taken at once, and to open one takes some milliseconds. */
    (void)tick_all(e, clock_mono_ns());
    unpin_cpu(e);
    cpu_ns = engine_thread_cpu_ns();
    engine_begin_reading(e, id, clock_mono_ns());
    rc = check_descriptors(e, &err);
    if (rc == CPY_OK)
        rc = cpy_open_forked(id.pid, engine_forked_from(e, id.pid), &opened, &err);
    else
        err_within(&err, "process %d", (int)id.pid);
    engine_end_reading(e);
    trim_soon(&e->trim, clock_mono_ns());
    if (rc == CPY_OK) {
        rc = engine_start(e, id, profile, opened);
        err_set(&err, "process %d: %s", (int)id.pid, cpy_rc_text(rc));
    }
    e->stats.opening_ns += engine_thread_cpu_ns() - cpu_ns;
    if (rc != CPY_OK)
        engine_put_off(e, id, rc, &err);
}

static void take_found_process(void *ctx, struct proc_id id, const struct target_profile *profile)
{
    engine_take(ctx, id, profile);
}

static struct finder *open_engine_finder(struct engine *e)
{
    const struct finder_settings settings = {
        .choose = e->settings.choose,
        .choose_ctx = e->settings.ctx,
        .take = take_found_process,
        .lost = lost,
        .ctx = e,
        .scan_ns = e->settings.scan_ns,
        .only = e->settings.only,
        .eager = e->settings.eager,
    };

    return finder_new(&settings);
}

static bool await_births(struct engine *e)
{
    const int fd = e->finder ? finder_births_fd(e->finder, 0) : -1;

    return fd < 0 || engine_epoll_add(e, fd, e->finder);
}

struct engine *engine_new(const struct engine_settings *settings)
{
    struct engine *e = calloc(1, sizeof(*e));
    uint64_t seed;
    bool alarmed;

    if (!e) {
        cpy_scratch_free(settings->scratch);
        return NULL;
    }
    e->settings = *settings;
    e->services.max = settings->max_services;
    e->services.values = settings->exception ? VALUES : VALUES_USUAL;
    e->services.timeline_value = settings->timeline;
    e->signal_fd = -1;
    buf_init(&e->warnings, ENGINE_WARNINGS_MAX);
    alarmed = alarm_init(&e->alarm);
    e->running_fd = proc_open_loadavg();
    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->signal_fd = signalfd(-1, &settings->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    e->finder = settings->choose ? open_engine_finder(e) : NULL;
    e->scratch = settings->scratch ? settings->scratch : cpy_scratch_new();
    if (!e->scratch || !alarmed || (settings->choose && !e->finder) || e->epoll_fd < 0 ||
        e->signal_fd < 0 || !engine_epoll_add(e, e->signal_fd, NULL) ||
        (settings->messages_fd && !engine_epoll_add(e, settings->messages_fd, e)) ||
        !await_births(e)) {
        engine_free(e);
        return NULL;
    }
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
        seed = clock_mono_ns();
    if (settings->parent)
        children_begin(&e->started, settings->parent, false);
    ticks_init(&e->ticks, seed);
    e->utc = utc_now();
    e->interval_end_ns =
        settings->interval_ns ? clock_mono_ns() + settings->interval_ns : UINT64_MAX;
    return e;
}

const struct service *engine_services(const struct engine *e)
{
    return e->services.first;
}

static void commit_all(struct engine *e, uint64_t now_ns)
{
    for (size_t i = 0; i < e->stats.sampling; i++) {
        engine_begin_reading(e, e->sampling[i]->id, now_ns);
        process_commit(&e->sampling[i]->process, now_ns);
        engine_end_reading(e);
    }
}

void engine_commit(struct engine *e, const struct split_pids *split_pids)
{
    uint64_t now_ns = clock_mono_ns();

    e->split_pids = *split_pids;
    commit_all(e, now_ns);
    engine_split_all(e, now_ns);
}

static void end_engine_interval(struct engine *e, bool last)
{
    /* A supervisor holds by itself what it is handed. */
    const bool may_defer = e->settings.interval_ns != 0 && !last;
    struct service *service;
    uint64_t now_ns = clock_mono_ns();

    apply_clock_step(&e->services, &e->utc);
    commit_all(e, now_ns);
    engine_look_at_started(e);
    for (size_t i = 0; i < e->stats.sampling; i++)
        hang_profile_end_interval(&e->sampling[i]->hanging, &e->sampling[i]->process, now_ns);
    for (service = e->services.first; service; service = service->next) {
        if (may_defer && service_defer(service))
            continue;
        e->stats.overflow += service->overflow;
        e->settings.deliver(e->settings.ctx, service, now_ns);
        if (!service_begin(service, clock_utc_ns(), now_ns))
            log_line(LOG_LEVEL_ERROR, "service %s: out of memory", service->name);
    }
    if (e->settings.interval_ended)
        e->settings.interval_ended(e->settings.ctx);
    services_trim(&e->services);
    if (e->settings.interval_ns == 0)
        return;
    e->interval_end_ns += e->settings.interval_ns;
    if (e->interval_end_ns <= now_ns)
        e->interval_end_ns = now_ns + e->settings.interval_ns;
}

void engine_end_interval(struct engine *e)
{
    end_engine_interval(e, false);
}

void engine_flush(struct engine *e)
{
    size_t i = e->stats.sampling;
    uint64_t now_ns;

    while (i-- > 0) { /* from the end: what is gone takes itself out */
        now_ns = clock_mono_ns();
        process_leave_idle(&e->sampling[i]->process, now_ns);
        (void)tick(e, e->sampling[i], now_ns, false);
    }
    end_engine_interval(e, true);
}

/* A process has ended. */
static void end_target(struct engine *e, struct target *t)
{
    if (e->finder)
        finder_ended(e->finder, t->id);
    else
        e->settings.callbacks->ended(e->settings.ctx, t->id);
    engine_stop(e, t);
}

/* Handles the end of processes; true if the caller is to know of something: *out. */
static bool handle_engine_events(struct engine *e, const struct epoll_event *events, int count,
                                 struct signalfd_siginfo *out_signal, enum engine_event *out)
{
    bool signalled = false, ordered = false;

    for (int i = 0; i < count; i++) {
        if (!events[i].data.ptr)
            signalled = true;
        else if (events[i].data.ptr == e)
            ordered = true;
        else if (events[i].data.ptr == e->finder)
            finder_hear_births(e->finder, clock_mono_ns());
        else
            end_target(e, events[i].data.ptr);
    }
    signalled = signalled &&
                read(e->signal_fd, out_signal, sizeof(*out_signal)) == (ssize_t)sizeof(*out_signal);
    *out = signalled ? ENGINE_SIGNAL : ENGINE_MESSAGES;
    return signalled || ordered;
}

/* ppoll on the epoll set: epoll_wait itself counts in milliseconds, too coarse for 1000 Hz. */
static int poll_until(const struct engine *e, uint64_t until_ns)
{
    uint64_t now_ns = clock_mono_ns(), left = until_ns > now_ns ? until_ns - now_ns : 0;

    struct timespec timeout = {(time_t)(left / NS_PER_S), (long)(left % NS_PER_S)};
    struct pollfd set = {.fd = e->epoll_fd, .events = POLLIN};

    return ppoll(&set, 1, &timeout, NULL);
}

/* Waits until `until_ns` or something happens. */
static int wait_for_engine_events(struct engine *e, uint64_t until_ns, struct epoll_event *events)
{
    const struct tick *tick = e->pinned && e->stats.sampling == 1 ? &e->pinned->tick : NULL;
    uint64_t after_ns = 0;
    int count;

    if (tick && tick->next_ns == until_ns)
        after_ns = ticks_after_ns(tick);
    if (after_ns > 0 && after_ns < until_ns + ALARM_SOON_NS)
        count = alarm_wait(&e->alarm, e->epoll_fd, until_ns, after_ns);
    else
        count = poll_until(e, until_ns);
    return count > 0 ? epoll_wait(e->epoll_fd, events, EVENTS, 0) : count;
}

/*
 * Sleeps where the next sample is best taken: see cpy_pin_cpu. To get there can take some
 * milliseconds; with other targets to look after it is done only if there is time for that. Not for
 * a process that rests: its CPU clock says so from everywhere.
 */
static void pin_cpu(struct engine *e, struct target *next)
{
    if (e->pinned != next)
        unpin_cpu(e);
    if (!next || process_ticks(&next->process) > 1 ||
        (e->stats.sampling > 1 && next->tick.next_ns < clock_mono_ns() + PIN_NS))
        return;
    e->pinned = cpy_pin_cpu(next->process.target) ? next : NULL;
}

static uint64_t next_scan_ns(const struct engine *e)
{
    return e->finder ? finder_next_ns(e->finder) : UINT64_MAX;
}

/* What engine_run does, but it may return while pinned to a CPU. */
static enum engine_event run_engine_loop(struct engine *e, uint64_t deadline_ns,
                                         struct signalfd_siginfo *out_signal)
{
    struct epoll_event events[EVENTS];
    const struct tick *first;
    enum engine_event event;
    uint64_t now_ns, until;
    int count;

    for (;;) {
        now_ns = clock_mono_ns();
        if (e->pinned && e->pinned->tick.next_ns > now_ns)
            unpin_cpu(e); /* something else has come */
        if (now_ns >= deadline_ns)
            return ENGINE_DEADLINE;
        if (now_ns >= next_scan_ns(e)) {
            unpin_cpu(e);
            if (finder_run(e->finder, clock_mono_ns()))
                engine_look_at_started(e);
            now_ns = clock_mono_ns();
        }
        until = tick_all(e, now_ns);
        if (trim_is_due(&e->trim, now_ns)) {
            unpin_cpu(e);
            (void)trim_now(&e->trim, now_ns);
        }
        if (now_ns >= e->interval_end_ns) { /* if it was over only since, we wake up at once */
            unpin_cpu(e);
            engine_end_interval(e);
        }
        until = until < next_scan_ns(e) ? until : next_scan_ns(e);
        until = until < e->interval_end_ns ? until : e->interval_end_ns;
        until = until < deadline_ns ? until : deadline_ns;
        first = ticks_first(&e->ticks);
        pin_cpu(e, first ? first->of : NULL);
        count = wait_for_engine_events(e, until, events);
        if (count != 0 && e->pinned && e->pinned->tick.next_ns > clock_mono_ns())
            unpin_cpu(e); /* before it is handled */
        if (count < 0 && errno != EINTR) {
            log_line(LOG_LEVEL_ERROR, "waiting: %s", strerror(errno));
            return ENGINE_FAILED;
        }
        if (count > 0 && handle_engine_events(e, events, count, out_signal, &event))
            return event;
    }
}

enum engine_event engine_run(struct engine *e, uint64_t deadline_ns,
                             struct signalfd_siginfo *out_signal)
{
    enum engine_event event = run_engine_loop(e, deadline_ns, out_signal);

    unpin_cpu(e);
    return event;
}
