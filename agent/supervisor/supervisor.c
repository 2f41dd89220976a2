/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.c - see supervisor.h: what is found, heard and delivered. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/proc/owner.h"
#include "agent/sampling/clock_step.h"
#include "agent/supervisor/supervisor_internal.h"

/* A sampler that takes longer to end an interval is not waited for. */
#define LATE_NS (2 * NS_PER_S)
#define LAST_NS NS_PER_S
/* Scans may take at most this part of max_cpu, then they get rarer. */
#define FINDER_PART 0.75
/* Of a core: what one sampler may take before there is another. */
#define SAMPLER_CPU 0.5
enum { BIRTHS_AT = 1 + 2 * SAMPLERS, EVENTS_MAX };

const struct service *supervisor_services(const struct supervisor *f)
{
    return f->services.first;
}

static bool is_sampler(const struct supervisor *f, pid_t pid)
{
    for (size_t i = 0; i < SAMPLERS; i++)
        if (f->samplers[i].child.pid == pid)
            return true;
    return false;
}

static bool choose_non_sampler(void *ctx, pid_t pid, const struct proc_stat *stat,
                               struct target_profile *out)
{
    const struct supervisor *f = ctx;

    return !is_sampler(f, pid) && f->settings.choose(f->settings.ctx, pid, stat, out);
}

/* The finder has lost a process. */
static void drop_lost_process(void *ctx, struct proc_id id)
{
    supervisor_drop(ctx, id);
}

/* The finder has a process for us. */
static void assign_found_process(void *ctx, struct proc_id id, const struct target_profile *profile)
{
    struct supervisor *f = ctx;
    uint64_t now_ns = clock_mono_ns();
    struct sampler_process *apart = &f->samplers[QUARANTINE_SAMPLER];
    struct assignment *assignment;
    double share_ns;
    bool suspect;

    if (supervisor_refuses_owner(f, profile->owner, now_ns)) {
        finder_refuse_owner(f->finder, id, now_ns);
        return;
    }
    if (f->budget.memory_ns != 0) {
        supervisor_refuse(f, id, "left out: pystrobe uses too much memory (max_memory)", now_ns);
        return;
    }
    suspect = child_process_left_by(profile->owner) > 0 ||
              blamed_owners_blocks(&f->blamed, profile->owner, now_ns) > 0;
    share_ns = supervisor_share_of(f, profile->owner);
    assignment = assignments_add(&f->assignments, id, profile,
                                 suspect ? apart : supervisor_least_busy(f), apart);
    if (!assignment) {
        supervisor_refuse(f, id, "out of memory", now_ns);
        return;
    }
    assignment->share_ns = share_ns;
    if (proc_exec_mark(id.pid, &assignment->mark) != PROC_OK)
        assignment->mark = 0; /* it is gone, and no program has this one */
    supervisor_assign(f, assignment, now_ns);
}

/* The process that a report is about; NULL: it is another's by now. */
static struct assignment *reported(const struct supervisor *f, struct proc_id id)
{
    struct assignment *assignment = assignments_find(&f->assignments, id);

    return assignment && assignment->sent && assignment->sampler == f->reporting_sampler
               ? assignment
               : NULL;
}

/* True if a process is sampled just so already. */
static bool is_assigned_with_profile(void *ctx, struct proc_id id,
                                     const struct target_profile *profile)
{
    const struct supervisor *f = ctx;
    const struct assignment *assignment = assignments_find(&f->assignments, id);

    return assignment && strcmp(assignment->profile.service, profile->service) == 0 &&
           assignment->profile.rate_hz == profile->rate_hz &&
           assignment->profile.split == profile->split &&
           assignment->profile.auto_labels == profile->auto_labels &&
           assignment->profile.otel_name == profile->otel_name &&
           assignment->profile.max_split == profile->max_split &&
           assignment->profile.options.hang_ns == profile->options.hang_ns &&
           labels_equal(&assignment->profile.labels, &profile->labels);
}

/*
 * How many samplers are to share the work: as many as may take SAMPLER_CPU of a core each. Fewer
 * wake up less often, which is a sixth of what it takes to sample 1,000 processes that mostly
 * sleep.
 */
static size_t count_samplers(double max_cpu)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    double count = max_cpu > 0 ? max_cpu / SAMPLER_CPU : SUPERVISOR_SAMPLERS_MAX;

    count = cpus >= 1 && count > (double)cpus ? (double)cpus : count;
    return count <= 1                         ? 1
           : count >= SUPERVISOR_SAMPLERS_MAX ? SUPERVISOR_SAMPLERS_MAX
                                              : (size_t)count;
}

void supervisor_change(struct supervisor *f, const struct engine_settings *settings,
                       const struct budget_limits *budget)
{
    uint64_t end_ns = clock_mono_ns() + settings->interval_ns;

    f->settings.interval_ns = settings->interval_ns;
    f->settings.scan_ns = settings->scan_ns;
    f->services.max = settings->max_services;
    budget_set_limits(&f->budget, budget);
    finder_limit(f->finder, budget->cpu * FINDER_PART);
    f->sampler_count = count_samplers(budget->cpu);
    if (f->late_ns == 0 && end_ns < f->interval_end_ns)
        f->interval_end_ns = end_ns;
    finder_reconsider(f->finder, settings->scan_ns, is_assigned_with_profile);
}

/* CPU time of the children that settings.parent has waited for. */
static uint64_t waited_by_parent(const struct supervisor *f)
{
    struct proc_stat stat;

    return f->settings.parent && proc_stat_read(f->settings.parent, &stat) == PROC_OK
               ? stat.waited_cpu_ns
               : 0;
}

/* What was held joins the service of that name. */
static void release(struct supervisor *f, struct service *held, const char *name,
                    const struct labels *labels)
{
    const pid_t pid = held->held.pid;

    if (!services_release(&f->services, held, name, labels))
        log_line(LOG_LEVEL_ERROR, "process %d: out of memory for its first seconds", (int)pid);
}

/* It is tried again, with backoff, but that is said once. */
static void hear_other_build(void *ctx, const struct err *why)
{
    struct supervisor *f = ctx;

    if (!f->other_build)
        log_line(LOG_LEVEL_ERROR, "%s", why->text);
    f->other_build = true;
}

static void hear_named(void *ctx, const struct report_named *named)
{
    struct supervisor *f = ctx;
    struct service *held = named->ends_hold ? services_held(&f->services, named->id) : NULL;
    struct assignment *assignment = reported(f, named->id);

    if (held)
        release(f, held, named->service, &named->labels);
    if (!assignment)
        return;
    assignment->settled |= named->ends_hold != 0;
    labels_clean(named->service, assignment->service, sizeof(assignment->service));
    labels_clean(named->named_by, assignment->named_by, sizeof(assignment->named_by));
}

enum { LOGGED_ALWAYS = 100 };

/* The first lines are all written, so that the log of a small host tells every name. */
static void log_sampling(struct supervisor *f, const struct assignment *assignment,
                         const char *version)
{
    static const char format[] = "process %d: sampling Python %s as service %s";
    char text[512];
    int size;

    if (f->logged >= LOGGED_ALWAYS) {
        log_line(LOG_LEVEL_INFO, format, (int)assignment->id.pid, version, assignment->service);
        return;
    }
    f->logged++;
    size =
        snprintf(text, sizeof(text), format, (int)assignment->id.pid, version, assignment->service);
    log_text(LOG_LEVEL_INFO, "", text,
             size < 0                      ? 0
             : (size_t)size < sizeof(text) ? (size_t)size
                                           : sizeof(text) - 1);
}

static void hear_began(void *ctx, struct proc_id id, const char *version)
{
    struct supervisor *f = ctx;
    struct assignment *assignment = reported(f, id);

    if (!assignment)
        return;
    if (!assignment->known)
        log_sampling(f, assignment, version);
    (void)snprintf(assignment->python, sizeof(assignment->python), "%s", version);
    assignment->known = true;
    assignment->sampling = true;
    assignment->began_ns = clock_mono_ns();
    f->stats.attached += finder_began(f->finder, id);
}

static void hear_put_off(void *ctx, struct proc_id id, enum cpy_rc rc, const struct err *err)
{
    struct supervisor *f = ctx;
    struct assignment *assignment = reported(f, id);

    if (!assignment)
        return;
    engine_note_failure(&f->stats, id.pid, rc, err);
    assignments_remove(&f->assignments, assignment);
    finder_put_off(f->finder, id, rc, err, clock_mono_ns());
}

static void hear_ended(void *ctx, struct proc_id id)
{
    struct supervisor *f = ctx;
    struct assignment *assignment = reported(f, id);

    if (!assignment)
        return;
    assignments_remove(&f->assignments, assignment);
    finder_ended(f->finder, id);
}

static void hear_counted(void *ctx, struct proc_id id, const struct engine_counts *counts)
{
    struct supervisor *f = ctx;

    assignments_count(&f->assignments, f->reporting_sampler, id, counts);
}

static void hear_hang(void *ctx, const struct engine_hang *hang, const char *dump, size_t size)
{
    struct supervisor *f = ctx;
    struct assignment *assignment = reported(f, hang->id);

    if (assignment)
        hang_report(&f->hangs, &assignment->hang, hang, assignment->service, dump, size);
}

static void hear_warning(void *ctx, struct proc_id id, const struct err *text)
{
    const struct assignment *assignment = reported(ctx, id);

    if (assignment)
        log_line(LOG_LEVEL_WARNING, "process %d of service %s: %s", (int)id.pid,
                 assignment->service, text->text);
}

static void hear_child(void *ctx, const struct process_end *child)
{
    supervisor_tell_parent(ctx, child);
}

static struct finder *open_supervisor_finder(struct supervisor *f)
{
    const struct finder_settings settings = {
        .choose = choose_non_sampler,
        .choose_ctx = f,
        .take = assign_found_process,
        .lost = drop_lost_process,
        .ctx = f,
        .scan_ns = f->settings.scan_ns,
        .only = f->settings.only,
        .eager = f->settings.eager,
    };

    return finder_new(&settings);
}

struct supervisor *supervisor_new(const struct engine_settings *settings,
                                  const struct budget_limits *budget)
{
    struct supervisor *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->settings = *settings;
    f->services.max = settings->max_services;
    f->services.begin_ns = clock_mono_ns();
    f->sampler_count = count_samplers(budget->cpu);
    f->waited_ns = waited_by_parent(f);
    f->utc = utc_now();
    budget_init(&f->budget, budget);
    f->interval = 1;
    f->interval_end_ns =
        settings->interval_ns ? clock_mono_ns() + settings->interval_ns : UINT64_MAX;
    f->signal_fd = signalfd(-1, &settings->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    f->finder = open_supervisor_finder(f);
    if (f->finder)
        finder_limit(f->finder, budget->cpu * FINDER_PART);
    if (f->signal_fd >= 0 && f->finder)
        return f;
    supervisor_free(f);
    return NULL;
}

void supervisor_free(struct supervisor *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < SAMPLERS; i++)
        sampler_process_finish(&f->samplers[i]);
    finder_free(f->finder);
    assignments_finish(&f->assignments);
    services_finish(&f->services);
    if (f->signal_fd >= 0)
        (void)close(f->signal_fd);
    free(f);
}

/* Has all samplers end the interval. */
static void begin_end(struct supervisor *f, bool last, uint64_t deadline_ns)
{
    for (size_t i = 0; i < SAMPLERS; i++)
        supervisor_send_end(f, &f->samplers[i], last);
    f->late_ns = deadline_ns;
}

/* How many samplers still have to end the interval. */
static size_t waiting(const struct supervisor *f)
{
    size_t i, count = 0;

    for (i = 0; i < SAMPLERS; i++)
        count += sampler_process_runs(&f->samplers[i]) && f->samplers[i].done != f->interval;
    return count;
}

/* Delivers what is held of processes of which nothing was heard for long; in the end, of all. */
static void release_overdue(struct supervisor *f, bool last, uint64_t now_ns)
{
    struct service *service, *next;

    for (service = f->services.first; service; service = next) {
        next = service->next;
        if (service->held.pid && (last || now_ns >= service->hold_end_ns))
            release(f, service, service->name, &service->labels);
    }
}

/* Adds what settings.parent has waited for and no sampler has counted: what runs no Python, or was
 * over before it was found. */
static void add_uncounted(struct supervisor *f)
{
    const uint64_t waited_ns = waited_by_parent(f),
                   counted_ns = cpu_by_class_total(&supervisor_engine_stats(f)->cpu) + f->waited_ns;
    const struct service_tag tag = {.pid = 0};
    struct service *service = waited_ns > counted_ns ? services_oldest(&f->services) : NULL;
    int64_t values[VALUES] = {0};

    if (!service)
        return;
    values[VALUE_CPU] = (int64_t)(waited_ns - counted_ns);
    pprof_add(service->profile, service_class_row(service, CPU_CHILDREN, NULL, &tag), values);
}

/* All samplers have ended the interval, or are late: it is delivered. */
static void end_supervisor_interval(struct supervisor *f, bool last, uint64_t now_ns)
{
    struct service *service;

    apply_clock_step(&f->services, &f->utc);
    release_overdue(f, last, now_ns);
    if (last)
        add_uncounted(f);
    for (service = f->services.first; service; service = service->next) {
        if (!last && service_defer(service))
            continue;
        f->stats.overflow += service->overflow;
        f->settings.deliver(f->settings.ctx, service, now_ns);
        if (!service_begin(service, clock_utc_at(now_ns), now_ns))
            log_line(LOG_LEVEL_ERROR, "service %s: out of memory", service->name);
    }
    if (f->settings.interval_ended)
        f->settings.interval_ended(f->settings.ctx);
    services_trim(&f->services);
    trim_soon(&f->trim, now_ns); /* the last profile was another shape, and is gone */
    for (service = f->services.first; service; service = service->next)
        service->users = 0; /* until pieces come for it */
    f->services.begin_ns = now_ns;
    for (size_t i = 0; i < SAMPLERS; i++)
        sampler_process_renew(&f->samplers[i]);
    assignments_sweep(&f->assignments);
    f->interval++;
    f->late_ns = 0;
    if (f->settings.interval_ns == 0)
        return;
    f->interval_end_ns += f->settings.interval_ns;
    if (f->interval_end_ns <= now_ns)
        f->interval_end_ns = now_ns + f->settings.interval_ns;
}

/* Reads what one sampler reports, and notices its end. */
static void hear(struct supervisor *f, struct sampler_process *sampler)
{
    static const struct sampler_process_callbacks callbacks = {.other_build = hear_other_build,
                                                               .began = hear_began,
                                                               .named = hear_named,
                                                               .put_off = hear_put_off,
                                                               .ended = hear_ended,
                                                               .counted = hear_counted,
                                                               .hangs = hear_hang,
                                                               .warns = hear_warning,
                                                               .child = hear_child};

    f->reporting_sampler = sampler;
    if (sampler_process_runs(sampler) &&
        (ipc_channel_flush(&sampler->child.channel) != IPC_CHANNEL_OK ||
         !sampler_process_receive(sampler, &f->services, f->interval, &callbacks, f)))
        supervisor_replace_ended(f, sampler);
}

/* Waits until `until_ns`, a signal (not if there is no `out_signal`), or news of a sampler, and
 * reads the latter. Gives ENGINE_SIGNAL, ENGINE_FAILED, or else ENGINE_MESSAGES. */
static enum engine_event wait_for_sampler_messages(struct supervisor *f, uint64_t until_ns,
                                                   struct signalfd_siginfo *out_signal)
{
    uint64_t now_ns = clock_mono_ns(), left = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = timespec_of_ns(left);
    struct pollfd fds[EVENTS_MAX] = {{.fd = out_signal ? f->signal_fd : -1, .events = POLLIN}};
    struct sampler_process *sampler;
    int count;

    for (size_t i = 0; i < SAMPLERS; i++) {
        sampler = &f->samplers[i];
        fds[1 + 2 * i] =
            (struct pollfd){.fd = sampler_process_runs(sampler) ? sampler->child.channel.fd : -1};
        if (sampler->done !=
            f->interval) /* else it is not to be heard before the others are ready */
            fds[1 + 2 * i].events = POLLIN;
        if (sampler_process_runs(sampler) && ipc_channel_has_unsent(&sampler->child.channel))
            fds[1 + 2 * i].events |= POLLOUT;
        fds[2 + 2 * i] = (struct pollfd){
            .fd = sampler_process_runs(sampler) ? sampler->child.pidfd : -1, .events = POLLIN};
    }
    fds[BIRTHS_AT] = (struct pollfd){.fd = finder_births_fd(f->finder, now_ns), .events = POLLIN};
    count = ppoll(fds, EVENTS_MAX, &timeout, NULL);
    if (count < 0 && errno != EINTR) {
        log_line(LOG_LEVEL_ERROR, "waiting: %s", strerror(errno));
        return ENGINE_FAILED;
    }
    if (count <= 0)
        return ENGINE_MESSAGES;
    if (fds[BIRTHS_AT].revents)
        finder_hear_births(f->finder, clock_mono_ns());
    for (size_t i = 0; i < SAMPLERS; i++) {
        if (fds[1 + 2 * i].revents)
            hear(f, &f->samplers[i]);
        if (fds[2 + 2 * i].revents && sampler_process_runs(&f->samplers[i]))
            supervisor_replace_ended(f, &f->samplers[i]);
    }
    return fds[0].revents && read(f->signal_fd, out_signal, sizeof(*out_signal)) ==
                                 (ssize_t)sizeof(*out_signal)
               ? ENGINE_SIGNAL
               : ENGINE_MESSAGES;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

enum engine_event supervisor_run(struct supervisor *f, uint64_t deadline_ns,
                                 struct signalfd_siginfo *out_signal)
{
    enum engine_event event;
    uint64_t now_ns, until;

    for (;;) {
        now_ns = clock_mono_ns();
        if (now_ns >= deadline_ns)
            return ENGINE_DEADLINE;
        (void)finder_run(f->finder, now_ns);
        if (now_ns >= f->look_ns)
            supervisor_look(f, now_ns);
        if (now_ns >= f->budget_ns)
            supervisor_step_budget(f, now_ns);
        (void)trim_now(&f->trim, now_ns);
        if (f->late_ns == 0 && now_ns >= f->interval_end_ns)
            begin_end(f, false, now_ns + LATE_NS);
        if (f->late_ns != 0 && (waiting(f) == 0 || now_ns >= f->late_ns))
            end_supervisor_interval(f, false, now_ns);
        until = earlier(finder_next_ns(f->finder), earlier(f->look_ns, f->budget_ns));
        until = earlier(until, f->late_ns ? f->late_ns : f->interval_end_ns);
        event = wait_for_sampler_messages(f, earlier(until, deadline_ns), out_signal);
        if (event != ENGINE_MESSAGES)
            return event;
    }
}

/* Waits for the samplers that have to end the interval, and ends it. */
static void finish_interval(struct supervisor *f, bool last, uint64_t end_ns)
{
    while (waiting(f) > 0 && clock_mono_ns() < end_ns) {
        supervisor_look(f, clock_mono_ns());
        if (wait_for_sampler_messages(f, earlier(end_ns, f->look_ns), NULL) == ENGINE_FAILED)
            break;
    }
    end_supervisor_interval(f, last, clock_mono_ns());
}

void supervisor_flush(struct supervisor *f)
{
    uint64_t end_ns = clock_mono_ns() + LAST_NS;

    if (f->late_ns != 0) /* one was ending just now: what came since belongs to the last one */
        finish_interval(f, false, end_ns);
    begin_end(f, true, end_ns);
    finish_interval(f, true, end_ns);
}

const struct engine_stats *supervisor_engine_stats(struct supervisor *f)
{
    struct report_counts sum = f->ended;

    for (size_t i = 0; i < SAMPLERS; i++)
        sampler_process_add_counts(&sum, &f->samplers[i].now);
    f->stats.samples = sum.stats.samples;
    f->stats.missed = sum.stats.missed;
    f->stats.idle = sum.stats.idle;
    f->stats.times = sum.stats.times;
    f->stats.cpu = sum.stats.cpu;
    memcpy(f->stats.failed, sum.stats.failed, sizeof(f->stats.failed));
    f->stats.sampling = assignments_sampling(&f->assignments);
    return &f->stats;
}

void supervisor_unwinder(const struct supervisor *f, struct cpy_stats *out)
{
    struct report_counts sum = f->ended;

    for (size_t i = 0; i < SAMPLERS; i++)
        sampler_process_add_counts(&sum, &f->samplers[i].now);
    *out = sum.unwinder;
}

void supervisor_each(struct supervisor *f,
                     void (*each)(void *ctx, const struct supervisor_process *), void *ctx)
{
    uint64_t now_ns = clock_mono_ns();

    for (size_t i = 0; i < f->assignments.count; i++) {
        const struct assignment *assignment = &f->assignments.items[i];
        const struct burst *burst =
            bursts_of(&f->bursts, assignment->id, assignment->service, now_ns);
        const double wanted_hz = burst ? burst->rate_hz : assignment->profile.rate_hz;
        const double rate_hz =
            fair_share_hz(assignment->share_ns, assignment->counts.tick_ns, wanted_hz);
        const struct supervisor_process process = {
            .program = {assignment->id, assignment->mark},
            .service = assignment->service,
            .named_by = assignment->named_by,
            .python = assignment->python,
            .wanted_hz = wanted_hz,
            .rate_hz = rate_hz,
            .burst = burst != NULL,
            .sampling = assignment->sampling,
            .quarantined = assignment->sampler == &f->samplers[QUARANTINE_SAMPLER],
            .counts = &assignment->counts,
            .hang = &assignment->hang,
        };

        each(ctx, &process);
    }
}

const struct supervisor_stats *supervisor_stats(struct supervisor *f)
{
    struct finder_stats found;

    finder_stats(f->finder, &found);
    memcpy(f->counts.left_out, found.left_out, sizeof(f->counts.left_out));
    f->counts.quarantine = f->assignments.quarantine.count;
    f->counts.samplers = 0;
    for (size_t i = 0; i < SAMPLERS; i++)
        f->counts.samplers += sampler_process_runs(&f->samplers[i]);
    memcpy(f->counts.hangs, f->hangs.counts, sizeof(f->counts.hangs));
    return &f->counts;
}
