/* SPDX-License-Identifier: Apache-2.0 */
/* engine_targets.c - the processes that an engine samples; see engine_internal.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/discover/naming.h"
#include "agent/host/clock.h"
#include "agent/host/escape.h"
#include "agent/host/log.h"
#include "agent/sampling/clock_step.h"
#include "agent/sampling/engine_internal.h"
#include "agent/sampling/stats.h"
#include "base/array.h"

/* An SDK starts after Python has; it may also never come, and to ask costs some 0.1 ms. */
#define NAME_RETRY_NS NS_PER_S

/* A second interpreter is loaded soon after the first, as a rule. */
#define ANOTHER_FIRST_NS (NS_PER_S / 2)
#define ANOTHER_MAX_NS   (600 * NS_PER_S)

/* To ask takes at most such a part of the time: of a process with 100,000 mappings, 0.1 s. */
enum { ASK_PART = 1000 };

bool engine_epoll_add(struct engine *e, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = what}};

    return epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void engine_begin_reading(struct engine *e, struct proc_id id, uint64_t now_ns)
{
    if (e->settings.heartbeat)
        heartbeat_begin_read(e->settings.heartbeat, id.pid, now_ns);
}

void engine_end_reading(struct engine *e)
{
    if (e->settings.heartbeat)
        heartbeat_end_read(e->settings.heartbeat);
}

void engine_unwinder(const struct engine *e, struct cpy_stats *out)
{
    *out = e->ended;
    for (size_t i = 0; i < e->stats.sampling; i++)
        stats_add(out, cpy_stats(e->sampling[i]->process.target));
}

void engine_each(const struct engine *e,
                 void (*each)(void *ctx, struct proc_id id, const struct engine_counts *counts),
                 void *ctx)
{
    for (size_t i = 0; i < e->stats.sampling; i++) {
        const struct target *t = e->sampling[i];
        const struct cpy_stats *stats = cpy_stats(t->process.target);
        struct engine_counts counts = {.samples = t->samples,
                                       .missed = t->tick.missed,
                                       .torn = stats->torn,
                                       .torn_moved = stats->torn_moved,
                                       .torn_chain = stats->torn_chain,
                                       .torn_code = stats->torn_code,
                                       .torn_unmapped = stats->torn_unmapped,
                                       .tick_ns = sampling_cost_tick_ns(&t->cost),
                                       .recent_bytes = t->cost.bytes};

        memcpy(counts.failed, t->failed, sizeof(counts.failed));
        each(ctx, t->id, &counts);
    }
}

/* The service that is held of a target; NULL: what it is called is settled. */
static struct service *held_of(const struct target *t)
{
    struct service *service = t->hanging.home ? t->hanging.home : t->process.service;

    return service->held.pid ? service : NULL;
}

static void notify_named(struct engine *e, const struct target *t, const struct service *held)
{
    if (e->settings.callbacks && e->settings.callbacks->named)
        e->settings.callbacks->named(e->settings.ctx, t->id, &t->profile, held);
}

/* Nothing more comes for a held service: whoever holds it is told whose it is. */
static void end_hold(struct engine *e, const struct target *t, struct service *held)
{
    notify_named(e, t, held);
    services_discard(&e->services, held);
}

static struct target *target_of_pid(const struct engine *e, pid_t pid)
{
    for (size_t i = 0; i < e->stats.sampling; i++)
        if (e->sampling[i]->id.pid == pid)
            return e->sampling[i];
    return NULL;
}

const struct cpy_target *engine_forked_from(const struct engine *e, pid_t pid)
{
    const struct target *parent;
    struct proc_stat stat;
    uint64_t mark;

    if (proc_stat_read(pid, &stat) != PROC_OK)
        return NULL;
    parent = target_of_pid(e, stat.parent);
    return parent && proc_exec_mark(pid, &mark) == PROC_OK && mark == parent->exec_mark
               ? parent->process.target
               : NULL;
}

void engine_note_child(struct engine *e, const struct process_end *child)
{
    struct target *parent = target_of_pid(e, child->parent);

    if (parent)
        children_note(&parent->process.children, child->id, child->cpu_ns);
    else if (e->started.pid) /* a child, or of one that is not sampled */
        children_note(&e->started, child->id, child->cpu_ns);
}

/* A look at what settings.parent has started. */
struct started_look {
    struct engine *engine;
    struct service *service; /* that gets the time */
};

/* Some of the time of what was started; see children_told. */
static void give_to_started(void *ctx, const char *name, uint64_t start, uint64_t ns)
{
    const int64_t values[VALUES] = {[VALUE_CPU] = (int64_t)ns};
    const struct started_look *look = ctx;
    struct service *service = look->service;
    struct service_tag tag = {.pid = 0};
    char since[SERVICE_SINCE_MAX];

    tag.since = service_since(service, start, clock_mono_ns(), since);
    pprof_add(service->profile, service_class_row(service, CPU_CHILDREN, name, &tag), values);
    look->engine->stats.cpu.ns[CPU_CHILDREN] += ns;
}

void engine_look_at_started(struct engine *e)
{
    struct started_look look = {e, e->started.pid ? services_oldest(&e->services) : NULL};

    if (look.service)
        children_look(&e->started, give_to_started, &look);
}

/* A process is sampled from now on, whose parent or children may be, too. */
static void expect_children(struct engine *e, struct target *t)
{
    struct target *parent = target_of_pid(e, t->process.children.parent);

    if (parent)
        children_expect(&parent->process.children, t->id);
    else if (e->started.pid && t->process.children.parent == e->started.pid)
        children_expect(&e->started, t->id);
    for (size_t i = 0; i < e->stats.sampling; i++)
        if (e->sampling[i]->process.children.parent == t->id.pid)
            children_expect(&t->process.children, e->sampling[i]->id);
}

/* Ends the process of a target, and has its parent know what was counted of it. */
static void finish_process(struct engine *e, struct target *t)
{
    struct target *parent = target_of_pid(e, t->process.children.parent);
    struct process_end end = {.parent = 0};

    if (parent)
        process_note_child(&parent->process, &t->process, clock_mono_ns());
    process_finish(&t->process, &end);
    engine_note_child(e, &end);
    if (!parent && end.parent > 0 && e->settings.callbacks && e->settings.callbacks->child)
        e->settings.callbacks->child(e->settings.ctx, &end);
}

void engine_stop(struct engine *e, struct target *t)
{
    struct service *held = held_of(t);

    for (size_t i = 0; i < e->stats.sampling; i++)
        if (e->sampling[i] == t) {
            e->sampling[i] = e->sampling[--e->stats.sampling];
            break;
        }
    ticks_remove(&e->ticks, &t->tick);
    stats_add(&e->ended, cpy_stats(t->process.target));
    if (e->pinned == t)
        e->pinned = NULL;
    log_line(LOG_LEVEL_DEBUG, "process %d: no longer sampled", (int)t->id.pid);
    t->process.service->users--;
    if (t->hanging.home)
        t->hanging.home->users--;
    finish_process(e, t);
    if (held)
        end_hold(e, t, held);
    if (t->pidfd >= 0)
        (void)close(t->pidfd); /* which takes it out of the epoll set, too */
    free(t);
    trim_soon(&e->trim, clock_mono_ns());
}

void engine_drop(struct engine *e, struct proc_id id)
{
    for (size_t i = 0; i < e->stats.sampling; i++)
        if (proc_id_equal(e->sampling[i]->id, id)) {
            engine_stop(e, e->sampling[i]);
            return;
        }
}

enum ptrace_access engine_note_failure(struct engine_stats *stats, pid_t pid, enum cpy_rc rc,
                                       const struct err *err)
{
    enum ptrace_access found = rc == CPY_DENIED ? ptrace_access_find(pid) : PTRACE_ACCESS_NONE;

    if (stats->last_rc == CPY_DENIED && (rc == CPY_GONE || found == PTRACE_ACCESS_GONE))
        return found; /* it has ended since: why it could not be read says more */
    stats->last_rc = rc;
    stats->last_error = *err;
    stats->last_access = found;
    return found;
}

const struct refused *engine_refused(const struct engine *e)
{
    return &e->refused;
}

const struct buf *engine_warnings(const struct engine *e)
{
    return &e->warnings;
}

void engine_put_off(struct engine *e, struct proc_id id, enum cpy_rc rc, const struct err *err)
{
    const enum ptrace_access access = engine_note_failure(&e->stats, id.pid, rc, err);

    if (rc == CPY_DENIED && e->finder) /* a sampler tells nobody */
        refused_note(&e->refused, id, access);
    else if (rc != CPY_GONE && rc != CPY_NOMEM)
        refused_forget(&e->refused, id);
    if (e->finder)
        finder_put_off(e->finder, id, rc, err, clock_mono_ns());
    else
        e->settings.callbacks->put_off(e->settings.ctx, id, rc, err);
}

/* CPY_OK if the pid still belongs to the process that is meant. */
static enum cpy_rc check_identity(struct proc_id id)
{
    struct proc_stat stat;
    enum proc_rc rc = proc_stat_read(id.pid, &stat);

    if (rc == PROC_FAILED)
        return CPY_NOMEM;
    return rc == PROC_OK && stat.start == id.start && !proc_stat_is_ended(&stat) ? CPY_OK
                                                                                 : CPY_GONE;
}

static uint64_t period_of(double rate_hz)
{
    return (uint64_t)((double)NS_PER_S / rate_hz);
}

/* Gives a process its part in a burst that runs; ends one that is not for it any more. */
static void join_burst(struct engine *e, struct target *t, uint64_t now_ns)
{
    const struct burst *burst = bursts_of(&e->bursts, t->id, t->profile.service, now_ns);

    if (burst)
        ticks_burst(&e->ticks, &t->tick, period_of(burst->rate_hz), burst->until_ns, now_ns);
    else if (t->tick.burst_until_ns > now_ns)
        t->tick.burst_until_ns = now_ns;
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
        if (burst_fits(&mine, e->sampling[i]->id, e->sampling[i]->profile.service)) {
            join_burst(e, e->sampling[i], now_ns);
            process_leave_idle(&e->sampling[i]->process, now_ns);
            count++;
        }
    return count;
}

/* Makes a target, held by a pidfd. Errors: CPY_GONE, CPY_NOMEM. */
static enum cpy_rc new_target(struct engine *e, struct proc_id id,
                              const struct target_profile *profile, uint64_t now_ns,
                              struct target **out)
{
    struct target *t = calloc(1, sizeof(*t));
    enum cpy_rc rc;

    if (!t)
        return CPY_NOMEM;
    t->id = id;
    t->profile = *profile;
    t->share_ns = INFINITY;
    t->pidfd = (int)syscall(SYS_pidfd_open, id.pid, 0);
    rc = check_identity(id); /* once the pidfd holds it */
    if (rc == CPY_OK && proc_exec_mark(id.pid, &t->exec_mark) == PROC_FAILED)
        rc = CPY_NOMEM;
    if (rc == CPY_OK && !(ARRAY_RESERVE(e->sampling, e->sampling_capacity, e->stats.sampling + 1) &&
                          (t->pidfd < 0 || engine_epoll_add(e, t->pidfd, t)) &&
                          ticks_add(&e->ticks, &t->tick, t, period_of(profile->rate_hz), now_ns)))
        rc = CPY_NOMEM;
    *out = t;
    if (rc == CPY_OK)
        return rc;
    if (t->pidfd >= 0)
        (void)close(t->pidfd);
    free(t);
    return rc;
}

/* How a process is told apart. */
static enum service_split split_of(const struct engine *e, const struct target *t)
{
    const struct proc_id *id = e->split_pids.ids;

    for (size_t i = 0; i < e->split_pids.count && i < SPLIT_PIDS_MAX; i++, id++)
        if (id->pid == t->id.pid && (id->start == 0 || id->start == t->id.start) &&
            t->profile.split == SPLIT_NONE)
            return SPLIT_PROCESS;
    return t->profile.split;
}

void engine_split_all(struct engine *e, uint64_t now_ns)
{
    for (size_t i = 0; i < e->stats.sampling; i++)
        process_set_split(&e->sampling[i]->process, split_of(e, e->sampling[i]), now_ns);
}

uint64_t engine_thread_cpu_ns(void)
{
    struct timespec used = {0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return timespec_to_ns(used);
}

/* When to ask again, if to ask took so much CPU time. */
static uint64_t retry_ns(uint64_t backoff_ns, uint64_t now_ns, uint64_t took_ns)
{
    const uint64_t least_ns = took_ns * ASK_PART;

    return now_ns + (backoff_ns > least_ns ? backoff_ns : least_ns);
}

static void notify_began(struct engine *e, const struct target *t)
{
    notify_named(e, t, NULL);
    e->settings.callbacks->began(e->settings.ctx, t->id, cpy_info(t->process.target)->version);
}

/* The service of a process that begins. Where nobody is told what it is called later, nothing is
 * held. */
static struct service *service_for(struct engine *e, struct proc_id id,
                                   const struct target_profile *profile, bool known,
                                   uint64_t now_ns)
{
    if (known || !e->settings.callbacks || !e->settings.callbacks->named)
        return services_get_labelled(&e->services, profile->service, &profile->labels,
                                     clock_utc_at(now_ns), now_ns);
    return services_hold(&e->services, id, profile->service, &profile->labels, clock_utc_at(now_ns),
                         now_ns);
}

enum cpy_rc engine_start(struct engine *e, struct proc_id id, const struct target_profile *profile,
                         struct cpy_target *opened)
{
    uint64_t now_ns = clock_mono_ns(), asked_ns = engine_thread_cpu_ns(), took_ns;
    struct target_profile named = *profile;
    bool known = naming_complete(&named, id.pid, cpy_info(opened)->version);
    struct service *service;
    struct target *t = NULL;
    enum cpy_rc rc;

    took_ns = engine_thread_cpu_ns() - asked_ns;
    apply_clock_step(&e->services, &e->utc);
    service = service_for(e, id, &named, known, now_ns);
    rc = service ? new_target(e, id, &named, now_ns, &t) : CPY_NOMEM;
    if (rc != CPY_OK) {
        cpy_close(opened);
        return rc;
    }
    cpy_use_scratch(opened, e->scratch);
    t->settle_ns = now_ns + SERVICE_HOLD_NS;
    t->name_ns = service->held.pid ? retry_ns(NAME_RETRY_NS, now_ns, took_ns) : UINT64_MAX;
    t->another_backoff_ns = ANOTHER_FIRST_NS;
    t->another_ns = now_ns + ANOTHER_FIRST_NS;
    service->period_ns = t->tick.period_ns;
    service->users++;
    service->split.max = profile->max_split;
    join_burst(e, t, now_ns);
    e->sampling[e->stats.sampling++] = t;
    refused_forget(&e->refused, id);
    log_line(LOG_LEVEL_INFO, "process %d: sampling Python %s as service %s", (int)id.pid,
             cpy_info(opened)->version, service->name);
    process_init(&t->process, id, opened, service, split_of(e, t), now_ns);
    if (!process_set_options(&t->process, &profile->options))
        log_line(LOG_LEVEL_ERROR, "process %d: out of memory for its tasks", (int)id.pid);
    process_account(&t->process, profile->from_birth, &e->stats.cpu);
    expect_children(e, t);
    if (e->settings.chosen_began)
        e->settings.chosen_began(e->settings.ctx, id.pid);
    if (e->finder)
        e->stats.attached += finder_began(e->finder, id);
    else
        notify_began(e, t);
    return CPY_OK;
}

/* What a target is called is settled: from now on it is sampled for the service of that name. */
static void settle_name(struct engine *e, struct target *t, struct service *held, uint64_t now_ns)
{
    struct service *service = services_get_labelled(
        &e->services, t->profile.service, &t->profile.labels, clock_utc_at(now_ns), now_ns);

    if (!service)
        return; /* out of memory: another time */
    t->name_ns = UINT64_MAX;
    service->users++;
    service->period_ns = held->period_ns;
    service->split.max = t->profile.max_split;
    if (t->hanging.home)
        t->hanging.home = service;
    else
        process_move(&t->process, service, now_ns);
    end_hold(e, t, held);
    log_line(LOG_LEVEL_DEBUG, "process %d: is service %s", (int)t->id.pid, service->name);
}

void engine_ask_name(struct engine *e, struct target *t, uint64_t now_ns)
{
    struct target_profile named = t->profile;
    const uint64_t asked_ns = engine_thread_cpu_ns();
    struct service *held = held_of(t);
    bool known;

    engine_begin_reading(e, t->id, now_ns);
    known = naming_complete(&named, t->id.pid, cpy_info(t->process.target)->version);
    engine_end_reading(e);
    t->name_ns = retry_ns(NAME_RETRY_NS, now_ns, engine_thread_cpu_ns() - asked_ns);
    if (t->name_ns > t->settle_ns && now_ns < t->settle_ns)
        t->name_ns = t->settle_ns;
    if (known) {
        t->profile = named;
        join_burst(e, t, now_ns);
    }
    if (held && (known || now_ns >= t->settle_ns))
        settle_name(e, t, held, now_ns);
}

void engine_warn(struct engine *e, struct proc_id id, const struct err *text)
{
    if (e->settings.warns) {
        e->settings.warns(e->settings.ctx, id, text);
        return;
    }
    log_line(LOG_LEVEL_WARNING, "process %d: %s", (int)id.pid, text->text);
    if (e->warnings.size > ENGINE_WARNINGS_MAX / 2)
        return; /* that is enough to read */
    buf_add_fmt(&e->warnings, "pystrobe: process %d: ", (int)id.pid);
    escape_add_str(&e->warnings, text->text);
    buf_add_str(&e->warnings, "\n");
}

void engine_look_for_another(struct engine *e, struct target *t, uint64_t now_ns)
{
    const uint64_t mapped = proc_memory_mark(t->id.pid), asked_ns = engine_thread_cpu_ns();
    const bool same = t->another_mapped == mapped;
    struct cpy_info another;
    struct err text;
    bool found;

    t->another_backoff_ns =
        t->another_backoff_ns < ANOTHER_MAX_NS / 2 ? t->another_backoff_ns * 2 : ANOTHER_MAX_NS;
    t->another_ns = now_ns + t->another_backoff_ns;
    t->another_mapped = mapped;
    if (same)
        return;
    engine_begin_reading(e, t->id, now_ns);
    found = cpy_find_another(t->process.target, &another);
    engine_end_reading(e);
    t->another_ns =
        found ? UINT64_MAX
              : retry_ns(t->another_backoff_ns, now_ns, engine_thread_cpu_ns() - asked_ns);
    if (!found)
        return;
    err_set(&text, "it holds a second Python, %s of %s: only %s is sampled", another.version,
            another.binary.file, cpy_info(t->process.target)->version);
    engine_warn(e, t->id, &text);
}
