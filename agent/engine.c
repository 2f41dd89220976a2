/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - see engine.h. */
#include "agent/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/finder.h"
#include "agent/heed.h"
#include "agent/log.h"
#include "agent/naming.h"
#include "agent/stats.h"
#include "agent/target.h"
#include "agent/trim.h"

enum {
    RACED_MAX = 50,
    EVENTS = 32,
    CROWDED_EACH = 8 /* wake-ups: whether we are alone is asked so rarely where we are not */
};

#define SEAT_NS (5 * NS_PER_MS)

/* An SDK starts after Python has; it may also never come, and to ask costs some 0.1 ms. */
#define ASK_FIRST_NS (2 * NS_PER_S)
#define ASK_MAX_NS   (600 * NS_PER_S)

struct engine {
    struct engine_settings settings;
    struct engine_stats stats;
    struct cpy_stats ended; /* the unwinder's counters of processes that are not sampled any more */
    struct finder *finder;  /* owned */
    struct cpy_scratch *scratch; /* owned: of all that are sampled */
    struct target **sampling;    /* owned, and so is each */
    size_t sampling_capacity;
    struct target *seated; /* borrowed: on whose CPU we are; NULL: nobody's */
    struct services services;
    int epoll_fd, signal_fd;
    int running_fd;   /* owned: for proc_running */
    unsigned crowded; /* wake-ups in which we need not ask whether we are alone */
    uint64_t interval_end_ns;
    struct ticks ticks; /* of those that are sampled */
    struct bursts bursts;
    struct trim trim;
    struct engine_apart apart;
    struct utc utc; /* when it was last looked whether the clock was set */
};

static bool watch(struct engine *e, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = what}};

    return epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

const struct engine_stats *engine_stats(const struct engine *e)
{
    return &e->stats;
}

void engine_unwinder(const struct engine *e, struct cpy_stats *out)
{
    size_t i;

    *out = e->ended;
    for (i = 0; i < e->stats.sampling; i++)
        stats_add(out, cpy_stats(e->sampling[i]->process.target));
}

void engine_each(const struct engine *e,
                 void (*each)(void *ctx, struct proc_id id, const struct engine_counts *counts),
                 void *ctx)
{
    size_t i;

    for (i = 0; i < e->stats.sampling; i++) {
        const struct target *t = e->sampling[i];
        const struct cpy_stats *stats = cpy_stats(t->process.target);
        struct engine_counts counts = {.samples = t->samples,
                                       .missed = t->tick.missed,
                                       .torn = stats->torn,
                                       .torn_moved = stats->torn_moved,
                                       .torn_chain = stats->torn_chain,
                                       .torn_code = stats->torn_code,
                                       .torn_unmapped = stats->torn_unmapped};

        memcpy(counts.failed, t->failed, sizeof(counts.failed));
        each(ctx, t->id, &counts);
    }
}

/* Stops sampling a target, and ends it; the time it took so far is given out. */
static void stop_sampling(struct engine *e, struct target *t)
{
    size_t i;

    for (i = 0; i < e->stats.sampling; i++)
        if (e->sampling[i] == t) {
            e->sampling[i] = e->sampling[--e->stats.sampling];
            break;
        }
    ticks_remove(&e->ticks, &t->tick);
    stats_add(&e->ended, cpy_stats(t->process.target));
    if (e->seated == t)
        e->seated = NULL;
    log_line(LOG_LEVEL_DEBUG, "process %d: no longer sampled", (int)t->id.pid);
    t->process.service->users--;
    process_finish(&t->process);
    if (t->pidfd >= 0)
        (void)close(t->pidfd); /* which takes it out of the epoll set, too */
    free(t);
    trim_soon(&e->trim, clock_mono_ns());
}

void engine_drop(struct engine *e, struct proc_id id)
{
    size_t i;

    for (i = 0; i < e->stats.sampling; i++)
        if (e->sampling[i]->id.pid == id.pid && e->sampling[i]->id.start == id.start) {
            stop_sampling(e, e->sampling[i]);
            return;
        }
}

static void lost(void *ctx, struct proc_id id)
{
    engine_drop(ctx, id);
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    while (e->stats.sampling > 0)
        stop_sampling(e, e->sampling[e->stats.sampling - 1]);
    finder_free(e->finder);
    services_finish(&e->services);
    ticks_finish(&e->ticks);
    free(e->sampling);
    cpy_scratch_free(e->scratch);
    if (e->running_fd >= 0)
        (void)close(e->running_fd);
    if (e->signal_fd >= 0)
        (void)close(e->signal_fd);
    if (e->epoll_fd >= 0)
        (void)close(e->epoll_fd);
    free(e);
}

static bool make_room(struct engine *e)
{
    size_t capacity = e->sampling_capacity ? e->sampling_capacity * 2 : 16;
    struct target **wider;

    if (e->stats.sampling < e->sampling_capacity)
        return true;
    wider = realloc(e->sampling, capacity * sizeof(*wider));
    if (!wider)
        return false;
    e->sampling = wider;
    e->sampling_capacity = capacity;
    return true;
}

void engine_note_failure(struct engine_stats *stats, pid_t pid, enum cpy_rc rc,
                         const struct err *err)
{
    enum obstacle found = rc == CPY_DENIED ? obstacle_find(pid) : OBSTACLE_NONE;

    if (stats->last_rc == CPY_DENIED && (rc == CPY_GONE || found == OBSTACLE_GONE))
        return; /* it has ended since: why it could not be read says more */
    stats->last_rc = rc;
    stats->last_error = *err;
    stats->last_obstacle = found;
}

/* A process cannot be sampled now. */
static void put_off(struct engine *e, struct proc_id id, enum cpy_rc rc, const struct err *err)
{
    engine_note_failure(&e->stats, id.pid, rc, err);
    if (e->finder)
        finder_put_off(e->finder, id, rc, err, clock_mono_ns());
    else
        e->settings.news->put_off(e->settings.ctx, id, rc, err);
}

/* True if the pid still belongs to the process that is meant. */
static bool is_same(struct proc_id id)
{
    struct proc_stat stat;

    return proc_read_stat(id.pid, &stat) && stat.start == id.start && stat.state != 'Z';
}

static uint64_t period_of(double rate_hz)
{
    return (uint64_t)((double)NS_PER_S / rate_hz);
}

/* Gives a process its part in a burst that runs. */
static void join_burst(struct engine *e, struct target *t, uint64_t now_ns)
{
    const struct burst *burst = bursts_of(&e->bursts, t->id.pid, t->choice.service, now_ns);

    if (burst)
        ticks_burst(&e->ticks, &t->tick, period_of(burst->rate_hz), burst->until_ns, now_ns);
}

size_t engine_burst(struct engine *e, const struct burst *burst, uint64_t duration_ns)
{
    uint64_t now_ns = clock_mono_ns();
    struct burst mine = *burst;
    size_t i, count = 0;

    mine.until_ns = duration_ns < UINT64_MAX - now_ns ? now_ns + duration_ns : UINT64_MAX;
    if (!bursts_add(&e->bursts, &mine, now_ns))
        return SIZE_MAX;
    for (i = 0; i < e->stats.sampling; i++)
        if (burst_fits(&mine, e->sampling[i]->id.pid, e->sampling[i]->choice.service)) {
            join_burst(e, e->sampling[i], now_ns);
            process_rouse(&e->sampling[i]->process, now_ns);
            count++;
        }
    return count;
}

/* Makes a target, held by a pidfd; NULL: out of memory, or it is gone. */
static struct target *hold_target(struct engine *e, struct proc_id id, const struct choice *choice,
                                  uint64_t now_ns)
{
    struct target *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->id = id;
    t->choice = *choice;
    t->pidfd = (int)syscall(SYS_pidfd_open, id.pid, 0);
    /* The identity is checked once the pidfd holds it. */
    if (make_room(e) && is_same(id) && (t->pidfd < 0 || watch(e, t->pidfd, t)) &&
        ticks_add(&e->ticks, &t->tick, t, period_of(choice->rate_hz), now_ns))
        return t;
    if (t->pidfd >= 0)
        (void)close(t->pidfd);
    free(t);
    return NULL;
}

/* How a process is told apart. */
static enum service_split split_of(const struct engine *e, const struct target *t)
{
    size_t i;

    for (i = 0; i < e->apart.count && i < ENGINE_APART_MAX; i++)
        if (e->apart.pids[i] == t->id.pid && t->choice.split == SPLIT_NONE)
            return SPLIT_PROCESS;
    return t->choice.split;
}

/* Begins to sample a process that has been opened; takes over `opened`. */
static bool start_sampling(struct engine *e, struct proc_id id, const struct choice *choice,
                           struct cpy_target *opened)
{
    uint64_t now_ns = clock_mono_ns();
    struct choice named = *choice;
    bool known = naming_complete(&named, id.pid, cpy_info(opened)->version);
    struct service *service;
    struct target *t;

    heed_clock(&e->services, &e->utc);
    service =
        services_get_labelled(&e->services, named.service, &named.labels, clock_utc_ns(), now_ns);
    t = service ? hold_target(e, id, &named, now_ns) : NULL;
    if (!t) {
        cpy_close(opened);
        return false;
    }
    cpy_use_scratch(opened, e->scratch);
    t->ask_wait_ns = ASK_FIRST_NS;
    t->ask_ns = known ? UINT64_MAX : now_ns + ASK_FIRST_NS;
    service->period_ns = t->tick.period_ns;
    service->users++;
    service->split.max = choice->max_split;
    join_burst(e, t, now_ns);
    e->sampling[e->stats.sampling++] = t;
    e->stats.attached++;
    log_line(LOG_LEVEL_INFO, "process %d: sampling Python %s as service %s", (int)id.pid,
             cpy_info(opened)->version, service->name);
    process_init(&t->process, id, opened, service, split_of(e, t), now_ns);
    if (!process_set_wants(&t->process, &choice->wants))
        log_line(LOG_LEVEL_ERROR, "process %d: out of memory for its tasks", (int)id.pid);
    if (e->finder)
        finder_began(e->finder, id);
    else
        e->settings.news->began(e->settings.ctx, id, cpy_info(opened)->version);
    return true;
}

/* From now on a process is read, which a watcher is to see. */
static void begin_reading(struct engine *e, struct proc_id id, uint64_t now_ns)
{
    if (e->settings.beat)
        beat_read(e->settings.beat, id.pid, now_ns);
}

static void end_reading(struct engine *e)
{
    if (e->settings.beat)
        beat_rest(e->settings.beat);
}

void engine_scan(struct engine *e)
{
    finder_scan(e->finder, clock_mono_ns());
}

/* Tells of a process that hangs, once, and of its end. */
static void tell_hang(struct engine *e, struct target *t, uint64_t now_ns)
{
    struct hang *hang = &t->process.hang;
    const struct engine_hang news = {
        .id = t->id, .kind = hang->kind, .tid = hang->tid, .lasted_ns = now_ns - hang->since_ns};

    hang->news = false;
    if (!e->settings.hangs)
        return;
    begin_reading(e, t->id, now_ns);
    e->settings.hangs(e->settings.ctx, &news);
    end_reading(e);
}

/* Takes a sample of one process; `alone`: see process_sample. False: it is sampled no more. */
static bool tick(struct engine *e, struct target *t, uint64_t now_ns, bool alone)
{
    const uint64_t ticks = process_ticks(&t->process);
    bool read = true;
    struct proc_id id = t->id;
    struct err err;
    enum cpy_rc rc;

    begin_reading(e, id, now_ns);
    rc = process_sample(&t->process, now_ns, alone, &read);
    end_reading(e);
    e->stats.samples += ticks;
    t->samples += ticks;
    e->stats.rested += read ? ticks - 1 : ticks;
    if (rc == CPY_OK) {
        t->raced = 0;
        if (t->process.hang.news)
            tell_hang(e, t, now_ns);
        return true;
    }
    e->stats.failed[rc]++;
    t->failed[rc]++;
    if ((rc == CPY_RACED || rc == CPY_STARTING) && ++t->raced < RACED_MAX)
        return true;
    /* Gone, or something else runs there now: look at it anew. */
    err_set(&err, "process %d: %s", (int)id.pid, cpy_rc_text(rc));
    stop_sampling(e, t);
    put_off(e, id, rc, &err);
    return false;
}

/* A process may publish late who it is: then it goes on as that service. */
static void ask_again(struct engine *e, struct target *t, uint64_t now_ns)
{
    struct service *before = t->process.service, *service;
    struct choice named = t->choice;

    t->ask_wait_ns = t->ask_wait_ns < ASK_MAX_NS / 2 ? t->ask_wait_ns * 2 : ASK_MAX_NS;
    t->ask_ns = now_ns + t->ask_wait_ns;
    begin_reading(e, t->id, now_ns);
    if (naming_complete(&named, t->id.pid, cpy_info(t->process.target)->version)) {
        service = services_get_labelled(&e->services, named.service, &named.labels, clock_utc_ns(),
                                        now_ns);
        if (service && service != before) {
            process_move(&t->process, service, now_ns);
            before->users--;
            service->users++;
            service->split.max = named.max_split;
            log_line(LOG_LEVEL_DEBUG, "process %d: is service %s", (int)t->id.pid, service->name);
        }
        t->ask_ns = service ? UINT64_MAX : t->ask_ns;
        t->choice = named;
    }
    end_reading(e);
}

/* True if no thread but this one runs on the host, or could; where others did lately it is not
 * asked each time. */
static bool is_alone(struct engine *e)
{
    unsigned long running;
    bool alone;

    if (e->crowded > 0) {
        e->crowded--;
        return false;
    }
    alone = proc_running(e->running_fd, &running) && running == 1;
    e->crowded = alone ? 0 : CROWDED_EACH - 1;
    return alone;
}

void engine_stretch(struct engine *e, double factor)
{
    ticks_stretch(&e->ticks, factor);
}

/* Takes all samples that are due; gives when to wake up for the next. */
static uint64_t tick_all(struct engine *e)
{
    uint64_t due_ns = clock_mono_ns(), now_ns = due_ns;
    bool asked = false, alone = false;
    struct target *t;
    struct tick *due;

    /* Who comes due meanwhile has to wait: signals and the interval's end have their turn. */
    while ((due = ticks_due(&e->ticks, due_ns))) {
        t = due->of;
        if (!asked && process_may_rest(&t->process)) {
            alone = is_alone(e);
            asked = true;
        }
        now_ns = clock_mono_ns();
        if (now_ns >= t->ask_ns)
            ask_again(e, t, now_ns);
        t->process.service->period_ns = ticks_period(&e->ticks, due); /* what a profile says */
        if (tick(e, t, now_ns, alone))
            e->stats.missed += ticks_done(&e->ticks, due, process_ticks(&t->process), now_ns);
    }
    return ticks_wake_ns(&e->ticks, now_ns);
}

/* Before anything but the sample that it was taken for: that may take long. */
static void leave_seat(struct engine *e)
{
    if (e->seated)
        cpy_unseat(e->seated->process.target);
    e->seated = NULL;
}

void engine_take(struct engine *e, struct proc_id id, const struct choice *choice)
{
    struct cpy_target *opened = NULL;
    struct err err = {""};
    enum cpy_rc rc;

    (void)tick_all(e); /* many may be taken at once, and to open one takes some milliseconds */
    leave_seat(e);
    begin_reading(e, id, clock_mono_ns());
    rc = cpy_open(id.pid, &opened, &err);
    end_reading(e);
    trim_soon(&e->trim, clock_mono_ns());
    if (rc == CPY_OK && start_sampling(e, id, choice, opened))
        return;
    put_off(e, id, rc == CPY_OK ? CPY_GONE : rc, &err);
}

static void take(void *ctx, struct proc_id id, const struct choice *choice)
{
    engine_take(ctx, id, choice);
}

static struct finder *open_finder(struct engine *e)
{
    const struct finder_settings settings = {
        .choose = e->settings.choose,
        .choose_ctx = e->settings.ctx,
        .take = take,
        .lost = lost,
        .ctx = e,
        .scan_ns = e->settings.scan_ns,
        .only = e->settings.only,
        .eager = e->settings.eager,
    };

    return finder_new(&settings);
}

struct engine *engine_new(const struct engine_settings *settings)
{
    struct engine *e = calloc(1, sizeof(*e));
    uint64_t seed;

    if (!e)
        return NULL;
    e->settings = *settings;
    e->services.max = settings->max_services;
    e->services.values = settings->exception ? VALUES : VALUES_USUAL;
    e->signal_fd = -1;
    e->running_fd = proc_open_running();
    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->signal_fd = signalfd(-1, &settings->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    e->finder = settings->choose ? open_finder(e) : NULL;
    e->scratch = cpy_scratch_new();
    if (!e->scratch || (settings->choose && !e->finder) || e->epoll_fd < 0 || e->signal_fd < 0 ||
        !watch(e, e->signal_fd, NULL) ||
        (settings->orders_fd && !watch(e, settings->orders_fd, e))) {
        engine_free(e);
        return NULL;
    }
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
        seed = clock_mono_ns();
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

static void settle_all(struct engine *e, uint64_t now_ns)
{
    size_t i;

    for (i = 0; i < e->stats.sampling; i++) {
        begin_reading(e, e->sampling[i]->id, now_ns);
        process_settle(&e->sampling[i]->process, now_ns);
        end_reading(e);
    }
}

void engine_settle(struct engine *e, const struct engine_apart *apart)
{
    uint64_t now_ns = clock_mono_ns();
    size_t i;

    e->apart = *apart;
    settle_all(e, now_ns);
    for (i = 0; i < e->stats.sampling; i++)
        process_set_split(&e->sampling[i]->process, split_of(e, e->sampling[i]), now_ns);
}

void engine_end_interval(struct engine *e)
{
    struct service *service;
    uint64_t now_ns = clock_mono_ns();

    heed_clock(&e->services, &e->utc);
    settle_all(e, now_ns);
    for (service = e->services.first; service; service = service->next) {
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

void engine_flush(struct engine *e)
{
    size_t i = e->stats.sampling;
    uint64_t now_ns;

    while (i-- > 0) { /* from the end: what is gone takes itself out */
        now_ns = clock_mono_ns();
        process_rouse(&e->sampling[i]->process, now_ns);
        (void)tick(e, e->sampling[i], now_ns, false);
    }
    engine_end_interval(e);
}

/* A process has ended. */
static void end_target(struct engine *e, struct target *t)
{
    if (e->finder)
        finder_ended(e->finder, t->id);
    else
        e->settings.news->ended(e->settings.ctx, t->id);
    stop_sampling(e, t);
}

/* Handles the end of processes; true if the caller is to know of something: *out. */
static bool handle(struct engine *e, const struct epoll_event *events, int count,
                   struct signalfd_siginfo *out_signal, enum engine_event *out)
{
    bool signalled = false, ordered = false;
    int i;

    for (i = 0; i < count; i++) {
        if (!events[i].data.ptr)
            signalled = true;
        else if (events[i].data.ptr == e)
            ordered = true;
        else
            end_target(e, events[i].data.ptr);
    }
    signalled = signalled &&
                read(e->signal_fd, out_signal, sizeof(*out_signal)) == (ssize_t)sizeof(*out_signal);
    *out = signalled ? ENGINE_SIGNAL : ENGINE_ORDERS;
    return signalled || ordered;
}

/* Waits until `until_ns` or something happens. ppoll on the epoll set: epoll_wait itself counts in
 * milliseconds, too coarse for 1000 Hz. */
static int wait_until(struct engine *e, uint64_t until_ns, struct epoll_event *events)
{
    uint64_t now_ns = clock_mono_ns(), left = until_ns > now_ns ? until_ns - now_ns : 0;

    struct timespec timeout = {(time_t)(left / NS_PER_S), (long)(left % NS_PER_S)};
    struct pollfd set = {.fd = e->epoll_fd, .events = POLLIN};
    int count = ppoll(&set, 1, &timeout, NULL);

    return count > 0 ? epoll_wait(e->epoll_fd, events, EVENTS, 0) : count;
}

/*
 * Sleeps where the next sample is best taken: see cpy_seat. To get there can take some
 * milliseconds; with other targets to look after it is done only if there is time for that.
 */
static void take_seat(struct engine *e, struct target *next)
{
    if (e->seated != next)
        leave_seat(e);
    if (!next || (e->stats.sampling > 1 && next->tick.next_ns < clock_mono_ns() + SEAT_NS))
        return;
    e->seated = cpy_seat(next->process.target) ? next : NULL;
}

static uint64_t next_scan_ns(const struct engine *e)
{
    return e->finder ? finder_next_ns(e->finder) : UINT64_MAX;
}

enum engine_event engine_run(struct engine *e, uint64_t deadline_ns,
                             struct signalfd_siginfo *out_signal)
{
    struct epoll_event events[EVENTS];
    const struct tick *first;
    enum engine_event event;
    uint64_t now_ns, until;
    int count;

    for (;;) {
        now_ns = clock_mono_ns();
        if (now_ns >= deadline_ns)
            return ENGINE_DEADLINE;
        if (now_ns >= next_scan_ns(e)) {
            leave_seat(e);
            engine_scan(e);
        }
        until = tick_all(e);
        (void)trim_now(&e->trim, now_ns);
        if (clock_mono_ns() >= e->interval_end_ns)
            engine_end_interval(e);
        until = until < next_scan_ns(e) ? until : next_scan_ns(e);
        until = until < e->interval_end_ns ? until : e->interval_end_ns;
        until = until < deadline_ns ? until : deadline_ns;
        first = ticks_first(&e->ticks);
        take_seat(e, first ? first->of : NULL);
        count = wait_until(e, until, events);
        if (e->seated && e->seated->tick.next_ns > clock_mono_ns())
            leave_seat(e); /* something else has come */
        if (count < 0 && errno != EINTR) {
            log_line(LOG_LEVEL_ERROR, "waiting: %s", strerror(errno));
            return ENGINE_FAILED;
        }
        if (count > 0 && handle(e, events, count, out_signal, &event))
            return event;
    }
}
