/* SPDX-License-Identifier: Apache-2.0 */
/* samplers.c - starts, checks, instructs and kills samplers; see supervisor_internal.h. */
#include <math.h>
#include <string.h>

#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/supervisor/supervisor_internal.h"

/* How long until the next look at samplers while one of them reads: one that is blocked is known
 * after a third of a second, or after half a second if the read began just after a look. */
#define LOOK_NS (60 * NS_PER_MS)
/* The same while none of them reads, and while none runs. */
#define LOOK_AT_RESTING_NS (250 * NS_PER_MS)
#define LOOK_AT_NONE_NS    NS_PER_S
/* A process in quarantine that is sampled so long without blocking leaves it. */
#define TRIAL_NS (10 * NS_PER_S)

/* Has the next look come within LOOK_NS. */
static void look_soon(struct supervisor *f, uint64_t now_ns)
{
    if (f->look_ns > now_ns + LOOK_NS)
        f->look_ns = now_ns + LOOK_NS;
}

bool supervisor_refuses_owner(struct supervisor *f, uint64_t owner, uint64_t now_ns)
{
    return child_process_refuses(owner) || blamed_owners_pause(&f->blamed, owner, now_ns);
}

/* A process of an owner: any, or one that no sampler has sampled yet. */
static const struct assignment *find_of_owner(const struct supervisor *f, uint64_t owner, bool any)
{
    const struct assignment *assignment;

    for (size_t i = 0; i < f->assignments.count; i++) {
        assignment = &f->assignments.items[i];
        if (assignment->profile.owner == owner && (any || !assignment->known))
            return assignment;
    }
    return NULL;
}

/* Stops sampling the processes of an owner: all, or those that no sampler has sampled yet. */
static void refuse_owner(struct supervisor *f, uint64_t owner, bool all, uint64_t now_ns)
{
    const struct assignment *assignment;
    struct proc_id id;

    while ((assignment = find_of_owner(f, owner, all))) {
        id = assignment->id;
        supervisor_drop(f, id);
        finder_refuse_owner(f->finder, id, now_ns);
    }
}

/* A process has blocked or crashed a sampler for the first time: that counts against its owner. */
static void blame_owner_of(struct supervisor *f, uint64_t owner, pid_t pid, uint64_t now_ns)
{
    const unsigned blocks = blamed_owners_add(&f->blamed, owner, now_ns);

    if (blocks == BLAMED_OWNERS_FREE)
        log_line(
            LOG_LEVEL_WARNING,
            "process %d and others of its owner (a container, the sessions of a user, or a "
            "user in a cgroup) block samplers: new ones are sampled after pauses of up to a minute",
            (int)pid);
    if (blocks >= BLAMED_OWNERS_FREE)
        refuse_owner(f, owner, false, now_ns);
}

/* A sampler is lost or killed: what it sampled is to be given to the next. */
static void stop_lost_sampler(struct supervisor *f, struct sampler_process *sampler, bool failed,
                              bool blame)
{
    uint64_t now_ns = clock_mono_ns();
    pid_t pid = child_process_reads(&sampler->child);
    struct assignment *assignment = pid ? assignments_reading(&f->assignments, sampler, pid) : NULL;
    const struct quarantine_entry *entry = NULL;
    const uint64_t owner = assignment && blame ? assignment->profile.owner : 0;

    sampler->child.blamed = owner;
    sampler_process_stop(sampler, failed, now_ns, &f->ended);
    look_soon(f, now_ns); /* to start another one */
    assignments_unsend(&f->assignments, sampler);
    if (assignment && blame)
        entry = assignments_quarantine(&f->assignments, assignment,
                                       &f->samplers[QUARANTINE_SAMPLER], now_ns);
    if (entry && entry->count == 1)
        log_line(
            LOG_LEVEL_WARNING,
            "process %d %s the sampler that read it; a separate sampler tries it again after 2 s, "
            "8 s, and so on up to an hour",
            (int)pid, failed ? "crashed" : "blocked");
    if (owner && entry && entry->count == 1)
        blame_owner_of(f, owner, pid, now_ns);
    if (owner && child_process_refuses(owner)) {
        log_line(LOG_LEVEL_WARNING,
                 "samplers that process %d and others of its owner block do not end: no process of "
                 "this owner is sampled until they do; is a file system (NFS, FUSE) hung?",
                 (int)pid);
        refuse_owner(f, owner, true, now_ns);
    }
}

void supervisor_replace_ended(struct supervisor *f, struct sampler_process *sampler)
{
    int status = child_process_status(&sampler->child);
    bool crashed = status == 128 + SIGSEGV || status == 128 + SIGBUS || status == 128 + SIGABRT ||
                   status == 128 + SIGILL || status == 128 + SIGFPE;

    if (status == CHILD_PROCESS_STATUS_RUNS) { /* its status comes after its channel has closed */
        child_process_hang_up(&sampler->child);
        return;
    }
    f->counts.crashed++;
    log_line(LOG_LEVEL_WARNING, "a sampler has ended (%s %d) and is started again%s",
             status > 128 ? "signal" : "status", status > 128 ? status - 128 : status,
             status == 128 + SIGSYS ? ": a seccomp filter kills it, which must allow "
                                      "process_vm_readv; pystrobe doctor says more"
                                    : "");
    stop_lost_sampler(f, sampler, true, crashed);
}

/* Sends a message to a sampler, if it runs. If that fails the sampler counts as lost. */
static void send_to_sampler(struct supervisor *f, struct sampler_process *sampler,
                            enum ipc_message kind, const void *message, size_t size)
{
    if (sampler_process_runs(sampler) && !sampler_process_send(sampler, kind, message, size))
        supervisor_replace_ended(f, sampler);
}

void supervisor_refuse(struct supervisor *f, struct proc_id id, const char *why, uint64_t now_ns)
{
    struct err err;

    err_set(&err, "process %d: %s", (int)id.pid, why);
    finder_refuse(f->finder, id, &err, now_ns);
}

void supervisor_drop(struct supervisor *f, struct proc_id id)
{
    struct assignment *assignment = assignments_find(&f->assignments, id);

    if (!assignment)
        return;
    if (assignment->sent)
        send_to_sampler(f, assignment->sampler, IPC_DROP, &id, sizeof(id));
    assignments_remove(&f->assignments, assignments_find(&f->assignments, id));
}

void supervisor_tell_parent(struct supervisor *f, const struct process_end *child)
{
    const struct assignment *assignment;

    for (size_t i = 0; i < f->assignments.count; i++) {
        assignment = &f->assignments.items[i];
        if (assignment->id.pid != child->parent)
            continue;
        if (assignment->sampling && assignment->sampler != f->reporting_sampler)
            send_to_sampler(f, assignment->sampler, IPC_CHILD, child, sizeof(*child));
        return;
    }
}

double supervisor_fastest_hz(const struct supervisor *f, uint64_t now_ns)
{
    double fastest_hz = 1;

    for (size_t i = 0; i < f->assignments.count; i++)
        if (f->assignments.items[i].profile.rate_hz > fastest_hz)
            fastest_hz = f->assignments.items[i].profile.rate_hz;
    for (size_t i = 0; i < f->bursts.count; i++)
        if (f->bursts.all[i].until_ns > now_ns && f->bursts.all[i].rate_hz > fastest_hz)
            fastest_hz = f->bursts.all[i].rate_hz;
    return fastest_hz;
}

void supervisor_send_end(struct supervisor *f, struct sampler_process *sampler, bool last)
{
    struct ipc_end message;

    memset(&message, 0, sizeof(message));
    message.number = f->interval;
    message.last = last;
    send_to_sampler(f, sampler, IPC_END, &message, sizeof(message));
}

static void ipc_burst(struct supervisor *f, struct sampler_process *sampler,
                      const struct burst *burst, uint64_t now_ns)
{
    struct ipc_burst message;

    if (burst->until_ns <= now_ns)
        return;
    memset(&message, 0, sizeof(message));
    message.burst = *burst;
    message.duration_ns = burst->until_ns - now_ns;
    send_to_sampler(f, sampler, IPC_BURST, &message, sizeof(message));
}

size_t supervisor_burst(struct supervisor *f, const struct burst *burst, uint64_t duration_ns)
{
    uint64_t now_ns = clock_mono_ns();
    struct burst mine = *burst;
    const struct assignment *assignment;
    size_t i, count = 0;

    mine.until_ns = duration_ns < UINT64_MAX - now_ns ? now_ns + duration_ns : UINT64_MAX;
    if (!bursts_add(&f->bursts, &mine, now_ns))
        return SIZE_MAX;
    for (i = 0; i < SAMPLERS; i++)
        ipc_burst(f, &f->samplers[i], &mine, now_ns);
    for (i = 0; i < f->assignments.count; i++) {
        assignment = &f->assignments.items[i];
        count += assignment->sampling && burst_fits(&mine, assignment->id, assignment->service);
    }
    return count;
}

const struct burst *supervisor_burst_of(const struct supervisor *f, const struct burst *whom)
{
    return bursts_like(&f->bursts, whom, clock_mono_ns());
}

static void ipc_commit(struct supervisor *f, struct sampler_process *sampler)
{
    struct ipc_commit message;

    memset(&message, 0, sizeof(message));
    message.number = f->commit_number;
    message.split_pids = f->split_pids;
    send_to_sampler(f, sampler, IPC_COMMIT, &message, sizeof(message));
}

uint64_t supervisor_commit(struct supervisor *f, const struct split_pids *split_pids)
{
    f->split_pids = *split_pids;
    f->commit_number++;
    for (size_t i = 0; i < SAMPLERS; i++)
        ipc_commit(f, &f->samplers[i]);
    return f->commit_number;
}

bool supervisor_committed(const struct supervisor *f, uint64_t number)
{
    for (size_t i = 0; i < SAMPLERS; i++)
        if (sampler_process_runs(&f->samplers[i]) && f->samplers[i].committed < number)
            return false;
    return true;
}

double supervisor_share_of(const struct supervisor *f, uint64_t owner)
{
    const struct assignment *assignment = find_of_owner(f, owner, true);

    return assignment ? assignment->share_ns : f->budget.state.share_ns;
}

static void send_share(struct supervisor *f, struct sampler_process *sampler, uint64_t owner,
                       double share_ns)
{
    const struct ipc_share message = {owner, share_ns};

    send_to_sampler(f, sampler, IPC_SHARE, &message, sizeof(message));
}

/* Costs of samples vary all the time: that is not worth a message each second. */
static bool is_alike(double a, double b)
{
    return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) < 0.01 * b);
}

void supervisor_set_share(struct supervisor *f, uint64_t owner, double share_ns)
{
    bool changed[SAMPLERS] = {false};
    size_t i;

    for (i = 0; i < f->assignments.count; i++) {
        struct assignment *assignment = &f->assignments.items[i];

        if (assignment->profile.owner != owner || is_alike(assignment->share_ns, share_ns))
            continue;
        assignment->share_ns = share_ns;
        changed[assignment->sampler - f->samplers] = assignment->sent;
    }
    for (i = 0; i < SAMPLERS; i++)
        if (changed[i])
            send_share(f, &f->samplers[i], owner, share_ns);
}

static void start_sampler(struct supervisor *f, struct sampler_process *sampler, uint64_t now_ns)
{
    struct err err = {""};

    if (!sampler_process_start(sampler, supervisor_fastest_hz(f, now_ns) >= ENGINE_BPF_MIN_HZ,
                               now_ns, &err)) {
        log_line(LOG_LEVEL_ERROR, "%s", err.text);
        return;
    }
    f->counts.started++;
    for (size_t i = 0; i < f->bursts.count; i++)
        ipc_burst(f, sampler, &f->bursts.all[i], now_ns);
    if (f->commit_number > 0)
        ipc_commit(f, sampler);
    if (f->late_ns != 0) /* what it sees belongs to the next interval */
        supervisor_send_end(f, sampler, false);
}

/* Looks whether a sampler still does its work, or may be started. */
static void check_sampler(struct supervisor *f, struct sampler_process *sampler, uint64_t now_ns)
{
    enum child_process_look look;

    if (!sampler_process_runs(sampler)) {
        if (sampler->processes > 0 && now_ns >= sampler->next_start_ns)
            start_sampler(f, sampler, now_ns);
        return;
    }
    look = child_process_look(&sampler->child, now_ns);
    if (look == CHILD_PROCESS_WELL && sampler->child.channel.fd < 0)
        supervisor_replace_ended(f, sampler); /* where no pidfd tells of its end */
    if (look == CHILD_PROCESS_WELL)
        return;
    f->counts.blocked += look == CHILD_PROCESS_BLOCKED;
    f->counts.silent += look == CHILD_PROCESS_SILENT;
    if (look == CHILD_PROCESS_SILENT)
        log_line(LOG_LEVEL_WARNING,
                 "a sampler did not answer for seconds: it is killed and started again");
    stop_lost_sampler(f, sampler, false, look == CHILD_PROCESS_BLOCKED);
}

struct sampler_process *supervisor_least_busy(struct supervisor *f)
{
    enum { BUSY = 64 };
    struct sampler_process *best = &f->samplers[0];
    size_t i, load, least = SIZE_MAX;

    for (i = 0; i < f->sampler_count; i++) {
        load = f->samplers[i].processes + (f->samplers[i].processes == 0 && i > 0 ? BUSY : 0);
        if (load < least) {
            least = load;
            best = &f->samplers[i];
        }
    }
    return best;
}

static void send_take(struct supervisor *f, struct assignment *assignment)
{
    struct ipc_take message;

    memset(&message, 0, sizeof(message));
    message.id = assignment->id;
    message.profile = assignment->profile;
    message.profile.from_birth &= !assignment->known; /* another sampler has counted that */
    if (assignment->settled) { /* another sampler is not to call it otherwise */
        memcpy(message.profile.service, assignment->service, sizeof(message.profile.service));
        memcpy(message.profile.named_by, assignment->named_by, sizeof(message.profile.named_by));
        message.profile.declared = true;
    }
    assignment->sent = true;
    f->opening_count++;
    send_to_sampler(f, assignment->sampler, IPC_TAKE, &message, sizeof(message));
    if (isfinite(assignment->share_ns))
        send_share(f, assignment->sampler, assignment->profile.owner, assignment->share_ns);
}

/* Ends the quarantine of a process that has not blocked its sampler for TRIAL_NS. */
static void end_trial(struct supervisor *f, struct assignment *assignment)
{
    send_to_sampler(f, assignment->sampler, IPC_DROP, &assignment->id, sizeof(assignment->id));
    assignments_move(assignment, supervisor_least_busy(f));
}

void supervisor_add_costs(const struct supervisor *f, struct budget_use *use)
{
    struct report_counts sum = f->ended;

    for (size_t i = 0; i < SAMPLERS; i++)
        sampler_process_add_counts(&sum, &f->samplers[i].now);
    use->opening_ns += sum.stats.opening_ns;
    use->sampling_ns += sum.stats.sampling_ns;
}

/* True if the budget has CPU time to open one more process. */
static bool may_open(const struct supervisor *f)
{
    struct budget_use use = {0};

    supervisor_add_costs(f, &use);
    return budget_may_open(&f->budget, use.opening_ns, f->opening_count);
}

/* Gives a process to its sampler if it has not got it, its time has come, and the budget has CPU
 * time to open it. One that was sampled before does not wait for that: it is no fault of its own
 * that its sampler was lost. */
static void look_after(struct supervisor *f, struct assignment *assignment, uint64_t now_ns)
{
    bool quarantined = assignment->sampler == &f->samplers[QUARANTINE_SAMPLER];

    if (quarantined && assignment->sampling && now_ns > assignment->began_ns + TRIAL_NS)
        end_trial(f, assignment);
    if (!assignment->sent && sampler_process_runs(assignment->sampler) &&
        (!quarantined || now_ns >= assignments_retry_ns(&f->assignments, assignment)) &&
        (assignment->known || may_open(f)))
        send_take(f, assignment);
}

void supervisor_assign(struct supervisor *f, struct assignment *assignment, uint64_t now_ns)
{
    if (!sampler_process_runs(assignment->sampler) && now_ns >= assignment->sampler->next_start_ns)
        start_sampler(f, assignment->sampler, now_ns);
    look_after(f, assignment, now_ns);
    look_soon(f, now_ns); /* samplers may rest, but this one is to be opened */
}

/* How long nothing is looked at after a look. */
static uint64_t look_after_ns(const struct supervisor *f)
{
    uint64_t ns = LOOK_AT_NONE_NS;
    size_t i;

    for (i = 0; i < f->assignments.count; i++)
        if (!f->assignments.items[i].sampling)
            return LOOK_NS;
    for (i = 0; i < SAMPLERS; i++) {
        if (!sampler_process_runs(&f->samplers[i]))
            continue;
        if (!child_process_rests(&f->samplers[i].child))
            return LOOK_NS;
        ns = LOOK_AT_RESTING_NS;
    }
    return ns;
}

void supervisor_look(struct supervisor *f, uint64_t now_ns)
{
    (void)child_process_reap(now_ns);
    for (size_t i = 0; i < SAMPLERS; i++)
        check_sampler(f, &f->samplers[i], now_ns);
    f->opening_count = assignments_opening(&f->assignments);
    for (size_t i = 0; i < f->assignments.count; i++)
        look_after(f, &f->assignments.items[i], now_ns);
    f->look_ns = now_ns + look_after_ns(f);
}
