/* SPDX-License-Identifier: Apache-2.0 */
/* on_demand.c - see on_demand.h. */
#include "agent/serve/on_demand.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/sampling/resolve_target.h"

/* A sampler that has not handed over by then is not waited for. */
#define COMMIT_NS (3 * NS_PER_S)
/* How often it is looked whether all have. */
#define LOOK_NS (20 * NS_PER_MS)
/* Whoever asks looks so often whether to go on waiting. */
#define WAIT_NS (200 * NS_PER_MS)
/* A rate is asked for a little longer than the pull takes. */
#define BURST_MORE_NS NS_PER_S

enum on_demand_state {
    ON_DEMAND_FREE,
    ON_DEMAND_ASKED,
    ON_DEMAND_BEGINS,
    ON_DEMAND_RUNS,
    ON_DEMAND_ENDS,
    ON_DEMAND_DONE
};

struct on_demand_job {
    enum on_demand_state state;
    bool left; /* whoever asked has gone */
    struct on_demand_request request;
    struct burst selection;
    uint64_t commit_number; /* the order that it waits for, until late_ns */
    uint64_t late_ns, begin_ns, end_ns;
    enum on_demand_rc rc;
    struct on_demand_answer answer;
};

struct on_demand {
    int signal;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t done;
    struct on_demand_job all[ON_DEMAND_MAX];
    struct split_pids split_pids; /* whom the samplers tell apart for them */
};

struct on_demand *on_demand_new(int signal)
{
    struct on_demand *on_demand = calloc(1, sizeof(*on_demand));

    if (!on_demand)
        return NULL;
    on_demand->signal = signal;
    (void)pthread_mutex_init(&on_demand->lock, NULL);
    (void)pthread_cond_init(&on_demand->done, NULL);
    return on_demand;
}

static void free_job(struct on_demand_job *job)
{
    pprof_free(job->answer.profile);
    *job = (struct on_demand_job){.state = ON_DEMAND_FREE};
}

void on_demand_free(struct on_demand *on_demand)
{
    if (!on_demand)
        return;
    for (size_t i = 0; i < ON_DEMAND_MAX; i++)
        free_job(&on_demand->all[i]);
    (void)pthread_cond_destroy(&on_demand->done);
    (void)pthread_mutex_destroy(&on_demand->lock);
    free(on_demand);
}

static struct on_demand_job *find_free(struct on_demand *on_demand)
{
    for (size_t i = 0; i < ON_DEMAND_MAX; i++)
        if (on_demand->all[i].state == ON_DEMAND_FREE)
            return &on_demand->all[i];
    return NULL;
}

/* Waits for the main loop to be done with it; false: not any longer. */
static bool wait_for(struct on_demand *on_demand, const struct on_demand_job *job,
                     atomic_bool *stop)
{
    struct timespec until;

    while (job->state != ON_DEMAND_DONE) {
        if (atomic_load(stop))
            return false;
        until = timespec_of_ns(clock_mono_ns() + WAIT_NS);
        (void)pthread_cond_clockwait(&on_demand->done, &on_demand->lock, CLOCK_MONOTONIC, &until);
    }
    return true;
}

enum on_demand_rc on_demand_ask(struct on_demand *on_demand,
                                const struct on_demand_request *request, atomic_bool *stop,
                                struct on_demand_answer *out)
{
    enum on_demand_rc rc = ON_DEMAND_BUSY;
    struct on_demand_job *job;

    (void)pthread_mutex_lock(&on_demand->lock);
    job = find_free(on_demand);
    if (job) {
        *job = (struct on_demand_job){.state = ON_DEMAND_ASKED, .request = *request};
        (void)kill(getpid(), on_demand->signal);
        if (wait_for(on_demand, job, stop)) {
            rc = job->rc;
            if (rc == ON_DEMAND_OK) {
                *out = job->answer;
                job->answer.profile = NULL;
            }
            free_job(job);
        } else {
            rc = ON_DEMAND_ENDED;
            job->left = true; /* the main loop may be about to add to it */
        }
    }
    (void)pthread_mutex_unlock(&on_demand->lock);
    return rc;
}

static void finish_job(struct on_demand *on_demand, struct on_demand_job *job, enum on_demand_rc rc)
{
    job->rc = rc;
    job->state = ON_DEMAND_DONE;
    (void)pthread_cond_broadcast(&on_demand->done);
}

/* Adds what the running interval has of a service, or takes off what was there before. */
static void add_service_to_job(struct on_demand *on_demand, struct on_demand_job *job,
                               const struct service *service, bool subtract)
{
    const struct burst *resolve_target = &job->selection;
    const struct pprof_label process = {.key = "pid", .num = resolve_target->id.pid};
    struct pprof_rule rule = {.subtract = subtract};
    int64_t samples = 0;
    enum pprof_rc rc;

    if (resolve_target->id.pid) {
        samples = pprof_total(job->answer.profile, VALUE_SAMPLES);
        rule.with = &process;
        rule.with_count = 1;
    } else if (resolve_target->service[0] == '\0') {
        rule.extra[0] = "service";
        rule.extra[1] = service->name;
    } else if (strcmp(resolve_target->service, service->name) != 0) {
        return;
    }
    rc = pprof_merge_by(job->answer.profile, service->profile, &rule);
    if (rc != PPROF_OK)
        finish_job(on_demand, job, rc == PPROF_FULL ? ON_DEMAND_FULL : ON_DEMAND_NOMEM);
    else if ((!resolve_target->id.pid ||
              pprof_total(job->answer.profile, VALUE_SAMPLES) != samples) &&
             (job->answer.period_ns == 0 || service->period_ns < job->answer.period_ns))
        job->answer.period_ns = service->period_ns;
}

static void add_all(struct on_demand *on_demand, struct on_demand_job *job,
                    struct supervisor *supervisor, bool subtract)
{
    const struct service *service = supervisor_services(supervisor);

    for (; service && job->state != ON_DEMAND_DONE; service = service->next)
        add_service_to_job(on_demand, job, service, subtract);
}

void on_demand_deliver(struct on_demand *on_demand, const struct service *service)
{
    struct on_demand_job *job;

    if (!on_demand)
        return;
    (void)pthread_mutex_lock(&on_demand->lock);
    for (job = on_demand->all; job < on_demand->all + ON_DEMAND_MAX; job++)
        if (job->state == ON_DEMAND_RUNS || job->state == ON_DEMAND_ENDS)
            add_service_to_job(on_demand, job, service, false);
    (void)pthread_mutex_unlock(&on_demand->lock);
}

struct finding {
    const struct burst *resolve_target;
    size_t count;
};

static void find_one(void *ctx, const struct supervisor_process *process)
{
    struct finding *finding = ctx;

    finding->count += burst_fits(finding->resolve_target, process->program.id, process->service);
}

/* Whom the samplers are to tell apart from now on for the pulls that there are. */
static struct split_pids split_pids_for(const struct on_demand *on_demand)
{
    struct split_pids split_pids = {0};
    const struct on_demand_job *job;

    for (job = on_demand->all; job < on_demand->all + ON_DEMAND_MAX; job++)
        if (job->selection.id.pid &&
            (job->state == ON_DEMAND_BEGINS || job->state == ON_DEMAND_RUNS))
            split_pids.ids[split_pids.count++] = job->selection.id;
    return split_pids;
}

static bool is_same_split(const struct split_pids *a, const struct split_pids *b)
{
    bool same = a->count == b->count;

    for (size_t i = 0; same && i < a->count; i++)
        same = proc_id_equal(a->ids[i], b->ids[i]);
    return same;
}

/* Has it sampled so often, beside what else is asked of the same processes. */
static bool raise_rate(const struct on_demand_job *job, struct supervisor *supervisor,
                       uint64_t now_ns)
{
    const struct burst *running = supervisor_burst_of(supervisor, &job->selection);
    uint64_t duration_ns = job->request.duration_ns + COMMIT_NS + BURST_MORE_NS;
    struct burst burst = job->selection;

    burst.rate_hz = job->request.rate_hz;
    if (burst.rate_hz <= 0)
        return true;
    if (running && running->rate_hz > burst.rate_hz)
        burst.rate_hz = running->rate_hz;
    if (running && running->until_ns > now_ns + duration_ns)
        duration_ns = running->until_ns - now_ns;
    return supervisor_burst(supervisor, &burst, duration_ns) != SIZE_MAX;
}

static void begin_job(struct on_demand *on_demand, struct on_demand_job *job,
                      struct supervisor *supervisor, const struct conf *conf, uint64_t now_ns)
{
    struct finding finding = {.resolve_target = &job->selection};

    job->selection = resolve_target(conf, job->request.target);
    supervisor_each(supervisor, find_one, &finding);
    if (finding.count == 0 && job->request.target[0])
        finish_job(on_demand, job, ON_DEMAND_UNKNOWN);
    else if (!raise_rate(job, supervisor, now_ns))
        finish_job(on_demand, job, ON_DEMAND_BUSY);
    else if (pprof_new(service_types, VALUES, ON_DEMAND_PROFILE_MAX, &job->answer.profile) !=
             PPROF_OK)
        finish_job(on_demand, job, ON_DEMAND_NOMEM);
    else
        job->state = ON_DEMAND_BEGINS;
}

static bool needs_commit(const struct on_demand_job *job)
{
    return (job->state == ON_DEMAND_BEGINS || job->state == ON_DEMAND_ENDS) && !job->commit_number;
}

/* Has the samplers give out what they have counted, for all pulls that begin or end now. */
static void commit_for_jobs(struct on_demand *on_demand, struct supervisor *supervisor,
                            uint64_t now_ns)
{
    const struct split_pids split_pids = split_pids_for(on_demand);
    bool wanted = !is_same_split(&split_pids, &on_demand->split_pids);
    struct on_demand_job *job;
    uint64_t number;

    for (job = on_demand->all; job < on_demand->all + ON_DEMAND_MAX; job++)
        wanted = wanted || needs_commit(job);
    if (!wanted)
        return;
    number = supervisor_commit(supervisor, &split_pids);
    on_demand->split_pids = split_pids;
    for (job = on_demand->all; job < on_demand->all + ON_DEMAND_MAX; job++)
        if (needs_commit(job)) {
            job->commit_number = number;
            job->late_ns = now_ns + COMMIT_NS;
        }
}

/* What the samplers had to hand over is there: the pull begins, or is whole. */
static void committed(struct on_demand *on_demand, struct on_demand_job *job,
                      struct supervisor *supervisor, uint64_t now_ns)
{
    job->commit_number = 0;
    if (job->state == ON_DEMAND_BEGINS) {
        job->state = ON_DEMAND_RUNS;
        job->begin_ns = now_ns;
        job->end_ns = now_ns + job->request.duration_ns;
        job->answer.start_utc_ns = clock_utc_ns();
        add_all(on_demand, job, supervisor, true);
        return;
    }
    job->answer.duration_ns = now_ns - job->begin_ns;
    add_all(on_demand, job, supervisor, false);
    if (job->state != ON_DEMAND_DONE)
        finish_job(on_demand, job, ON_DEMAND_OK);
}

static void step_job(struct on_demand *on_demand, struct on_demand_job *job,
                     struct supervisor *supervisor, const struct conf *conf, uint64_t now_ns)
{
    if (job->left)
        free_job(job);
    if (job->state == ON_DEMAND_ASKED)
        begin_job(on_demand, job, supervisor, conf, now_ns);
    if (job->state == ON_DEMAND_RUNS && now_ns >= job->end_ns)
        job->state = ON_DEMAND_ENDS;
    if (job->commit_number &&
        (now_ns >= job->late_ns || supervisor_committed(supervisor, job->commit_number)))
        committed(on_demand, job, supervisor, now_ns);
}

void on_demand_step(struct on_demand *on_demand, struct supervisor *supervisor,
                    const struct conf *conf)
{
    uint64_t now_ns = clock_mono_ns();

    (void)pthread_mutex_lock(&on_demand->lock);
    for (size_t i = 0; i < ON_DEMAND_MAX; i++)
        step_job(on_demand, &on_demand->all[i], supervisor, conf, now_ns);
    commit_for_jobs(on_demand, supervisor, now_ns);
    (void)pthread_mutex_unlock(&on_demand->lock);
}

uint64_t on_demand_next_ns(struct on_demand *on_demand)
{
    uint64_t next_ns = UINT64_MAX, at_ns;
    const struct on_demand_job *job;

    (void)pthread_mutex_lock(&on_demand->lock);
    for (job = on_demand->all; job < on_demand->all + ON_DEMAND_MAX; job++) {
        at_ns = job->state == ON_DEMAND_FREE || job->state == ON_DEMAND_DONE ? UINT64_MAX
                : job->state == ON_DEMAND_RUNS && !job->left                 ? job->end_ns
                                                             : clock_mono_ns() + LOOK_NS;
        next_ns = at_ns < next_ns ? at_ns : next_ns;
    }
    (void)pthread_mutex_unlock(&on_demand->lock);
    return next_ns;
}
