/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - see engine.h. */
#include "agent/engine.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/candidates.h"
#include "agent/clock.h"
#include "agent/log.h"
#include "agent/stats.h"
#include "agent/utc.h"

enum { RACED_MAX = 50, EVENTS = 32 };

#define WAIT_FIRST_NS (10 * NS_PER_MS)
#define WAIT_MAX_NS   (60 * NS_PER_S)
#define EAGER_SCAN_NS (20 * NS_PER_MS)
#define SEAT_NS       (5 * NS_PER_MS)

struct engine {
    struct engine_settings settings;
    struct engine_stats stats;
    struct cpy_stats ended; /* the unwinder's counters of processes that are not sampled any more */
    struct candidates candidates;
    struct candidate **sampling; /* owned: borrowed candidates that are being sampled */
    size_t sampling_capacity;
    struct candidate *seated; /* borrowed: on whose CPU we are; NULL: nobody's */
    struct services services;
    int epoll_fd, signal_fd;
    uint64_t scan; /* counts scans */
    uint64_t next_scan_ns, interval_end_ns;
    struct ticks ticks; /* of those that are sampled */
    struct bursts bursts;
    struct utc utc; /* when it was last looked whether the clock was set */
    pid_t self;
};

static bool watch(struct engine *e, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = what}};

    return epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

struct engine *engine_new(const struct engine_settings *settings)
{
    struct engine *e = calloc(1, sizeof(*e));
    uint64_t seed;

    if (!e)
        return NULL;
    e->settings = *settings;
    e->self = getpid();
    e->signal_fd = -1;
    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->signal_fd = signalfd(-1, &settings->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (e->epoll_fd < 0 || e->signal_fd < 0 || !watch(e, e->signal_fd, NULL)) {
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

/* Stops sampling a candidate; the time it took so far is given out. */
static void stop_sampling(struct engine *e, struct candidate *c)
{
    size_t i;

    if (c->state != CANDIDATE_SAMPLING)
        return;
    for (i = 0; i < e->stats.sampling; i++)
        if (e->sampling[i] == c) {
            e->sampling[i] = e->sampling[--e->stats.sampling];
            break;
        }
    ticks_remove(&e->ticks, &c->tick);
    stats_add(&e->ended, cpy_stats(c->process.target));
    if (e->seated == c)
        e->seated = NULL;
    log_line(LOG_LEVEL_DEBUG, "process %d: no longer sampled", (int)c->id.pid);
    process_finish(&c->process);
    if (c->pidfd >= 0)
        (void)close(c->pidfd); /* which takes it out of the epoll set, too */
    c->pidfd = -1;
    c->state = CANDIDATE_UNWANTED;
}

static void end_candidate(void *ctx, struct candidate *c)
{
    stop_sampling(ctx, c);
}

static bool always(void *ctx, const struct candidate *c)
{
    (void)ctx;
    (void)c;
    return true;
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    candidates_sweep(&e->candidates, always, end_candidate, e);
    services_finish(&e->services);
    ticks_finish(&e->ticks);
    free(e->sampling);
    if (e->signal_fd >= 0)
        (void)close(e->signal_fd);
    if (e->epoll_fd >= 0)
        (void)close(e->epoll_fd);
    free(e);
}

static bool make_room(struct engine *e)
{
    size_t capacity = e->sampling_capacity ? e->sampling_capacity * 2 : 16;
    struct candidate **wider;

    if (e->stats.sampling < e->sampling_capacity)
        return true;
    wider = realloc(e->sampling, capacity * sizeof(*wider));
    if (!wider)
        return false;
    e->sampling = wider;
    e->sampling_capacity = capacity;
    return true;
}

/* The process cannot be sampled now: later, and ever more rarely. */
static void put_off(struct engine *e, struct candidate *c, enum cpy_rc rc, const struct err *err,
                    uint64_t now_ns)
{
    char cure[256] = "";

    e->stats.last_rc = rc;
    e->stats.last_error = *err;
    e->stats.last_pid = c->id.pid;
    c->state = CANDIDATE_WAITING;
    c->wait_ns = c->wait_ns ? c->wait_ns * 2 : WAIT_FIRST_NS;
    if (c->wait_ns > WAIT_MAX_NS)
        c->wait_ns = WAIT_MAX_NS;
    c->next_try_ns = now_ns + c->wait_ns;
    /* A process that has just begun may become Python yet. */
    if (c->told || rc == CPY_GONE || c->wait_ns < NS_PER_S)
        return;
    c->told = true;
    if (rc == CPY_DENIED)
        proc_explain_denied(c->id.pid, cure, sizeof(cure));
    log_line(rc == CPY_DENIED ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "not sampled for now: %s%s%s",
             err->text, cure[0] ? "; " : "", cure);
}

/* True if the pid still belongs to the process that the candidate stands for. */
static bool is_same(const struct candidate *c)
{
    struct proc_stat stat;

    return proc_read_stat(c->id.pid, &stat) && stat.start == c->id.start && stat.state != 'Z';
}

static uint64_t period_of(double rate_hz)
{
    return (uint64_t)((double)NS_PER_S / rate_hz);
}

/* Gives a process its part in a burst that runs. */
static void join_burst(struct engine *e, struct candidate *c, uint64_t now_ns)
{
    const struct burst *burst = bursts_of(&e->bursts, c->id.pid, c->choice.service, now_ns);

    if (burst)
        ticks_burst(&e->ticks, &c->tick, period_of(burst->rate_hz), burst->until_ns, now_ns);
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
            count++;
        }
    return count;
}

/* The intervals that run are moved to where they were by the clock as it was set since. */
static void heed_clock(struct engine *e)
{
    struct utc now = utc_now();
    int64_t step = utc_step(&e->utc, &now), suspended = utc_suspended(&e->utc, &now);
    struct service *service;

    for (service = e->services.first; service; service = service->next)
        service->start_utc_ns += step;
    if (step != 0)
        log_line(LOG_LEVEL_INFO, "the clock was set by %.3f s", (double)step / 1e9);
    if (suspended != 0)
        log_line(LOG_LEVEL_INFO, "the host was suspended for %.3f s", (double)suspended / 1e9);
    e->utc = now;
}

/* What it takes to sample a process that is open; false: some of it is not to be had. */
static bool join(struct engine *e, struct candidate *c, struct service *service, uint64_t now_ns)
{
    c->pidfd = (int)syscall(SYS_pidfd_open, c->id.pid, 0);
    /* The identity is checked once the pidfd holds it. */
    return service && make_room(e) && is_same(c) && (c->pidfd < 0 || watch(e, c->pidfd, c)) &&
           ticks_add(&e->ticks, &c->tick, c, period_of(c->choice.rate_hz), now_ns);
}

/* Begins to sample a process that has been opened. */
static bool start_sampling(struct engine *e, struct candidate *c, struct cpy_target *target,
                           uint64_t now_ns)
{
    struct service *service;

    heed_clock(e);
    service = services_get(&e->services, c->choice.service, clock_utc_ns(), now_ns);
    if (!join(e, c, service, now_ns)) {
        if (c->pidfd >= 0)
            (void)close(c->pidfd);
        c->pidfd = -1;
        cpy_close(target);
        return false;
    }
    service->period_ns = c->tick.period_ns;
    join_burst(e, c, now_ns);
    c->wait_ns = 0;
    c->raced = 0;
    c->state = CANDIDATE_SAMPLING;
    e->sampling[e->stats.sampling++] = c;
    e->stats.attached++;
    log_line(LOG_LEVEL_INFO, "process %d: sampling Python %s as service %s", (int)c->id.pid,
             cpy_info(target)->version, c->choice.service);
    process_init(&c->process, c->id, target, service, c->choice.split, now_ns);
    return true;
}

static void try_open(struct engine *e, struct candidate *c, uint64_t now_ns)
{
    struct cpy_target *target = NULL;
    struct err err = {""};
    enum cpy_rc rc = cpy_open(c->id.pid, &target, &err);

    if (rc == CPY_OK && start_sampling(e, c, target, now_ns))
        return;
    put_off(e, c, rc == CPY_OK ? CPY_GONE : rc, &err, now_ns);
}

/* Looks at one process of /proc. */
static void consider(struct engine *e, pid_t pid, uint64_t now_ns)
{
    struct candidate *c = candidates_find(&e->candidates, pid);
    struct proc_stat stat;

    if (c && c->state == CANDIDATE_SAMPLING) {
        c->scan = e->scan;
        return;
    }
    if (!proc_read_stat(pid, &stat) || stat.state == 'Z')
        return;
    if (c && c->id.start != stat.start) { /* another process has the number now */
        *c = (struct candidate){.id = {pid, stat.start}, .pidfd = -1, .next = c->next};
    } else if (!c) {
        c = candidates_add(&e->candidates, (struct proc_id){pid, stat.start});
    }
    if (!c)
        return;
    c->scan = e->scan;
    if (c->state == CANDIDATE_WAITING && now_ns < c->next_try_ns)
        return;
    if (!e->settings.choose(e->settings.ctx, pid, &stat, &c->choice)) {
        c->state = CANDIDATE_UNWANTED;
        return;
    }
    try_open(e, c, now_ns);
}

static bool was_missing(void *ctx, const struct candidate *c)
{
    const struct engine *e = ctx;

    return c->scan != e->scan;
}

/* Looks at all processes; false: /proc cannot be read. */
static bool consider_all(struct engine *e, uint64_t now_ns)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    long pid;

    if (!dir) {
        log_line(LOG_LEVEL_ERROR, "/proc cannot be read: %s", strerror(errno));
        return false;
    }
    while ((entry = readdir(dir))) {
        pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != e->self)
            consider(e, (pid_t)pid, now_ns);
    }
    (void)closedir(dir);
    return true;
}

void engine_scan(struct engine *e)
{
    uint64_t now_ns = clock_mono_ns(), every = e->settings.scan_ns;

    if (e->settings.eager) /* a command's children come and go with it */
        every = e->stats.sampling == 0 ? EAGER_SCAN_NS : EAGER_SCAN_NS * 10;
    e->next_scan_ns = now_ns + every;
    e->scan++;
    if (e->settings.only)
        consider(e, e->settings.only, now_ns);
    else if (!consider_all(e, now_ns))
        return;
    candidates_sweep(&e->candidates, was_missing, end_candidate, e);
}

/* Takes a sample of one process. */
static void tick(struct engine *e, struct candidate *c, uint64_t now_ns)
{
    enum cpy_rc rc = process_sample(&c->process, now_ns);
    struct err err;

    e->stats.samples++;
    if (rc == CPY_OK) {
        c->raced = 0;
        return;
    }
    e->stats.failed[rc]++;
    if ((rc == CPY_RACED || rc == CPY_STARTING) && ++c->raced < RACED_MAX)
        return;
    /* Gone, or something else runs there now: look at it anew. */
    err_set(&err, "process %d: %s", (int)c->id.pid, cpy_rc_text(rc));
    stop_sampling(e, c);
    put_off(e, c, rc, &err, now_ns);
}

/* Takes all samples that are due; gives when to wake up for the next. */
static uint64_t tick_all(struct engine *e)
{
    uint64_t due_ns = clock_mono_ns(), now_ns = due_ns;
    struct tick *due;

    /* Who comes due meanwhile has to wait: signals and the interval's end have their turn. */
    while ((due = ticks_due(&e->ticks, due_ns))) {
        now_ns = clock_mono_ns();
        e->stats.missed += ticks_done(&e->ticks, due, now_ns);
        tick(e, due->of, now_ns);
    }
    return ticks_wake_ns(&e->ticks, now_ns);
}

static void settle_candidate(void *ctx, struct candidate *c)
{
    (void)ctx;
    if (c->state == CANDIDATE_SAMPLING)
        process_settle(&c->process);
}

/* Ends the interval: delivers each service's profile and begins the next. */
static void end_interval(struct engine *e)
{
    struct service *service;
    uint64_t now_ns = clock_mono_ns();

    heed_clock(e);
    candidates_each(&e->candidates, settle_candidate, e);
    for (service = e->services.first; service; service = service->next) {
        e->stats.overflow += service->overflow;
        e->settings.deliver(e->settings.ctx, service, now_ns);
        if (!service_begin(service, clock_utc_ns(), now_ns))
            log_line(LOG_LEVEL_ERROR, "service %s: out of memory", service->name);
    }
    if (e->settings.interval_ns == 0)
        return;
    e->interval_end_ns += e->settings.interval_ns;
    if (e->interval_end_ns <= now_ns)
        e->interval_end_ns = now_ns + e->settings.interval_ns;
}

void engine_flush(struct engine *e)
{
    size_t i = e->stats.sampling;

    while (i-- > 0) /* from the end: what is gone takes itself out */
        tick(e, e->sampling[i], clock_mono_ns());
    end_interval(e);
}

/* Handles the end of processes; gives true when a signal came. */
static bool handle(struct engine *e, const struct epoll_event *events, int count,
                   struct signalfd_siginfo *out_signal)
{
    bool signalled = false;
    struct candidate *c;
    int i;

    for (i = 0; i < count; i++) {
        c = events[i].data.ptr;
        if (c)
            stop_sampling(e, c);
        else
            signalled = true;
    }
    return signalled &&
           read(e->signal_fd, out_signal, sizeof(*out_signal)) == (ssize_t)sizeof(*out_signal);
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

/* Before anything but the sample that it was taken for: that may take long. */
static void leave_seat(struct engine *e)
{
    if (e->seated)
        cpy_unseat(e->seated->process.target);
    e->seated = NULL;
}

/*
 * Sleeps where the next sample is best taken: see cpy_seat. To get there can take some
 * milliseconds; with other targets to look after it is done only if there is time for that.
 */
static void take_seat(struct engine *e, struct candidate *next)
{
    if (e->seated != next)
        leave_seat(e);
    if (!next || (e->stats.sampling > 1 && next->tick.next_ns < clock_mono_ns() + SEAT_NS))
        return;
    e->seated = cpy_seat(next->process.target) ? next : NULL;
}

enum engine_event engine_run(struct engine *e, uint64_t deadline_ns,
                             struct signalfd_siginfo *out_signal)
{
    struct epoll_event events[EVENTS];
    const struct tick *first;
    uint64_t now_ns, until;
    int count;

    for (;;) {
        now_ns = clock_mono_ns();
        if (now_ns >= deadline_ns)
            return ENGINE_DEADLINE;
        if (now_ns >= e->next_scan_ns) {
            leave_seat(e);
            engine_scan(e);
        }
        until = tick_all(e);
        if (clock_mono_ns() >= e->interval_end_ns)
            end_interval(e);
        until = until < e->next_scan_ns ? until : e->next_scan_ns;
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
        if (count > 0 && handle(e, events, count, out_signal))
            return ENGINE_SIGNAL;
    }
}
