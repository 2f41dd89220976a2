/* SPDX-License-Identifier: Apache-2.0 */
/* on_demand.c - see on_demand.h. */
#include "agent/serve/on_demand.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/sampling/target_selection.h"

/* A sampler that has not handed over by then is not waited for. */
#define SETTLE_NS (3 * NS_PER_S)
/* How often it is looked whether all have. */
#define LOOK_NS (20 * NS_PER_MS)
/* Whoever asks looks so often whether to go on waiting. */
#define WAIT_NS (200 * NS_PER_MS)
/* A rate is asked for a little longer than the pull takes. */
#define BURST_MORE_NS NS_PER_S

enum pull_state { PULL_FREE, PULL_ASKED, PULL_BEGINS, PULL_RUNS, PULL_ENDS, PULL_DONE };

struct pull {
    enum pull_state state;
    bool left; /* whoever asked has gone */
    struct pull_request request;
    struct burst aim;
    uint64_t settling; /* the order that it waits for, until late_ns */
    uint64_t late_ns, begin_ns, end_ns;
    enum pull_rc rc;
    struct pull_answer answer;
};

struct pulls {
    int signal;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t done;
    struct pull all[PULLS_MAX];
    struct engine_apart apart; /* whom the samplers tell apart for them */
};

struct pulls *pulls_new(int signal)
{
    struct pulls *pulls = calloc(1, sizeof(*pulls));
    pthread_condattr_t clock;

    if (!pulls)
        return NULL;
    pulls->signal = signal;
    (void)pthread_mutex_init(&pulls->lock, NULL);
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pulls->done, &clock);
    (void)pthread_condattr_destroy(&clock);
    return pulls;
}

static void release(struct pull *pull)
{
    pprof_free(pull->answer.profile);
    *pull = (struct pull){.state = PULL_FREE};
}

void pulls_free(struct pulls *pulls)
{
    size_t i;

    if (!pulls)
        return;
    for (i = 0; i < PULLS_MAX; i++)
        release(&pulls->all[i]);
    (void)pthread_cond_destroy(&pulls->done);
    (void)pthread_mutex_destroy(&pulls->lock);
    free(pulls);
}

static struct pull *find_free(struct pulls *pulls)
{
    size_t i;

    for (i = 0; i < PULLS_MAX; i++)
        if (pulls->all[i].state == PULL_FREE)
            return &pulls->all[i];
    return NULL;
}

/* Waits for the main loop to be done with it; false: not any longer. */
static bool wait_for(struct pulls *pulls, const struct pull *pull, atomic_bool *stop)
{
    struct timespec until;
    uint64_t until_ns;

    while (pull->state != PULL_DONE) {
        if (atomic_load(stop))
            return false;
        until_ns = clock_mono_ns() + WAIT_NS;
        until = (struct timespec){(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
        (void)pthread_cond_timedwait(&pulls->done, &pulls->lock, &until);
    }
    return true;
}

enum pull_rc pulls_ask(struct pulls *pulls, const struct pull_request *request, atomic_bool *stop,
                       struct pull_answer *out)
{
    enum pull_rc rc = PULL_BUSY;
    struct pull *pull;

    (void)pthread_mutex_lock(&pulls->lock);
    pull = find_free(pulls);
    if (pull) {
        *pull = (struct pull){.state = PULL_ASKED, .request = *request};
        (void)kill(getpid(), pulls->signal);
        if (wait_for(pulls, pull, stop)) {
            rc = pull->rc;
            if (rc == PULL_OK) {
                *out = pull->answer;
                pull->answer.profile = NULL;
            }
            release(pull);
        } else {
            rc = PULL_ENDED;
            pull->left = true; /* the main loop may be about to add to it */
        }
    }
    (void)pthread_mutex_unlock(&pulls->lock);
    return rc;
}

static void finish(struct pulls *pulls, struct pull *pull, enum pull_rc rc)
{
    pull->rc = rc;
    pull->state = PULL_DONE;
    (void)pthread_cond_broadcast(&pulls->done);
}

/* Adds what the running interval has of a service, or takes off what was there before. */
static void add(struct pulls *pulls, struct pull *pull, const struct service *service,
                bool subtract)
{
    const struct burst *whom = &pull->aim;
    struct pprof_rule rule = {.subtract = subtract};
    enum pprof_rc rc;

    if (whom->pid) {
        rule.key = "pid";
        rule.num = whom->pid;
    } else if (whom->service[0] == '\0') {
        rule.extra[0] = "service";
        rule.extra[1] = service->name;
    } else if (strcmp(whom->service, service->name) != 0) {
        return;
    }
    if (pull->answer.period_ns == 0 || service->period_ns < pull->answer.period_ns)
        pull->answer.period_ns = service->period_ns;
    rc = pprof_merge_by(pull->answer.profile, service->profile, &rule);
    if (rc != PPROF_OK)
        finish(pulls, pull, rc == PPROF_FULL ? PULL_FULL : PULL_NOMEM);
}

static void add_all(struct pulls *pulls, struct pull *pull, struct fleet *fleet, bool subtract)
{
    const struct service *service = fleet_services(fleet);

    for (; service && pull->state != PULL_DONE; service = service->next)
        add(pulls, pull, service, subtract);
}

void pulls_deliver(struct pulls *pulls, const struct service *service)
{
    struct pull *pull;

    if (!pulls)
        return;
    (void)pthread_mutex_lock(&pulls->lock);
    for (pull = pulls->all; pull < pulls->all + PULLS_MAX; pull++)
        if (pull->state == PULL_RUNS || pull->state == PULL_ENDS)
            add(pulls, pull, service, false);
    (void)pthread_mutex_unlock(&pulls->lock);
}

struct finding {
    const struct burst *whom;
    size_t count;
};

static void find_one(void *ctx, const struct fleet_process *process)
{
    struct finding *finding = ctx;

    finding->count += burst_fits(finding->whom, process->pid, process->service);
}

/* Whom the samplers are to tell apart from now on for the pulls that there are. */
static struct engine_apart apart_for(const struct pulls *pulls)
{
    struct engine_apart apart = {0};
    const struct pull *pull;

    for (pull = pulls->all; pull < pulls->all + PULLS_MAX; pull++)
        if (pull->aim.pid && (pull->state == PULL_BEGINS || pull->state == PULL_RUNS))
            apart.pids[apart.count++] = pull->aim.pid;
    return apart;
}

/* Has it sampled so often, beside what else is asked of the same processes. */
static bool raise_rate(const struct pull *pull, struct fleet *fleet, uint64_t now_ns)
{
    const struct burst *running = fleet_burst_of(fleet, &pull->aim);
    uint64_t duration_ns = pull->request.duration_ns + SETTLE_NS + BURST_MORE_NS;
    struct burst burst = pull->aim;

    burst.rate_hz = pull->request.rate_hz;
    if (burst.rate_hz <= 0)
        return true;
    if (running && running->rate_hz > burst.rate_hz)
        burst.rate_hz = running->rate_hz;
    if (running && running->until_ns > now_ns + duration_ns)
        duration_ns = running->until_ns - now_ns;
    return fleet_burst(fleet, &burst, duration_ns) != SIZE_MAX;
}

static void begin(struct pulls *pulls, struct pull *pull, struct fleet *fleet,
                  const struct conf *conf, uint64_t now_ns)
{
    struct finding finding = {.whom = &pull->aim};

    pull->aim = whom(conf, pull->request.target);
    fleet_each(fleet, find_one, &finding);
    if (finding.count == 0 && pull->request.target[0])
        finish(pulls, pull, PULL_UNKNOWN);
    else if (!raise_rate(pull, fleet, now_ns))
        finish(pulls, pull, PULL_BUSY);
    else if (pprof_new(service_types, VALUES, PULL_PROFILE_MAX, &pull->answer.profile) != PPROF_OK)
        finish(pulls, pull, PULL_NOMEM);
    else
        pull->state = PULL_BEGINS;
}

static bool wants_settling(const struct pull *pull)
{
    return (pull->state == PULL_BEGINS || pull->state == PULL_ENDS) && !pull->settling;
}

/* Has the samplers give out what they have counted, for all pulls that begin or end now. */
static void settle(struct pulls *pulls, struct fleet *fleet, uint64_t now_ns)
{
    const struct engine_apart apart = apart_for(pulls);
    bool wanted = memcmp(&apart, &pulls->apart, sizeof(apart)) != 0;
    struct pull *pull;
    uint64_t number;

    for (pull = pulls->all; pull < pulls->all + PULLS_MAX; pull++)
        wanted = wanted || wants_settling(pull);
    if (!wanted)
        return;
    number = fleet_settle(fleet, &apart);
    pulls->apart = apart;
    for (pull = pulls->all; pull < pulls->all + PULLS_MAX; pull++)
        if (wants_settling(pull)) {
            pull->settling = number;
            pull->late_ns = now_ns + SETTLE_NS;
        }
}

/* What the samplers had to hand over is there: the pull begins, or is whole. */
static void settled(struct pulls *pulls, struct pull *pull, struct fleet *fleet, uint64_t now_ns)
{
    pull->settling = 0;
    if (pull->state == PULL_BEGINS) {
        pull->state = PULL_RUNS;
        pull->begin_ns = now_ns;
        pull->end_ns = now_ns + pull->request.duration_ns;
        pull->answer.start_utc_ns = clock_utc_ns();
        add_all(pulls, pull, fleet, true);
        return;
    }
    pull->answer.duration_ns = now_ns - pull->begin_ns;
    add_all(pulls, pull, fleet, false);
    if (pull->state != PULL_DONE)
        finish(pulls, pull, PULL_OK);
}

static void step(struct pulls *pulls, struct pull *pull, struct fleet *fleet,
                 const struct conf *conf, uint64_t now_ns)
{
    if (pull->left)
        release(pull);
    if (pull->state == PULL_ASKED)
        begin(pulls, pull, fleet, conf, now_ns);
    if (pull->state == PULL_RUNS && now_ns >= pull->end_ns)
        pull->state = PULL_ENDS;
    if (pull->settling && (now_ns >= pull->late_ns || fleet_settled(fleet, pull->settling)))
        settled(pulls, pull, fleet, now_ns);
}

void pulls_step(struct pulls *pulls, struct fleet *fleet, const struct conf *conf)
{
    uint64_t now_ns = clock_mono_ns();
    size_t i;

    (void)pthread_mutex_lock(&pulls->lock);
    for (i = 0; i < PULLS_MAX; i++)
        step(pulls, &pulls->all[i], fleet, conf, now_ns);
    settle(pulls, fleet, now_ns);
    (void)pthread_mutex_unlock(&pulls->lock);
}

uint64_t pulls_next_ns(struct pulls *pulls)
{
    uint64_t next_ns = UINT64_MAX, at_ns;
    const struct pull *pull;

    (void)pthread_mutex_lock(&pulls->lock);
    for (pull = pulls->all; pull < pulls->all + PULLS_MAX; pull++) {
        at_ns = pull->state == PULL_FREE || pull->state == PULL_DONE ? UINT64_MAX
                : pull->state == PULL_RUNS && !pull->left            ? pull->end_ns
                                                                     : clock_mono_ns() + LOOK_NS;
        next_ns = at_ns < next_ns ? at_ns : next_ns;
    }
    (void)pthread_mutex_unlock(&pulls->lock);
    return next_ns;
}
