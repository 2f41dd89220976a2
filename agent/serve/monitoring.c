/* SPDX-License-Identifier: Apache-2.0 */
/* monitoring.c - see monitoring.h. */
#include "agent/serve/monitoring.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/host/asked_use.h"
#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/sampling/resolve_target.h"

#define EVERY_NS NS_PER_S

enum { STATUS_MAX = 4096 }; /* one that is longer is not sent */

/* A socket that is there no more for new requests answers the last one. */
#define LEAVE_NS (2 * NS_PER_S)

/* At its own place the socket is a convenience: another agent, or no right to it, is no error. */
static bool open_control(struct monitoring *monitoring, const struct conf *conf,
                         struct control **out, struct err *err)
{
    const char *path = conf->agent.control ? conf->agent.control : CONTROL_DEFAULT;

    *out = control_open(path, &monitoring->share, MONITORING_SIGNAL, err);
    if (*out || conf->agent.control)
        return *out != NULL;
    log_line(LOG_LEVEL_INFO,
             "no control socket, so pystrobe status, reload and burst do not work: %s", err->text);
    return true;
}

static struct web *open_web(struct monitoring *monitoring, const struct conf *conf, struct err *err)
{
    const struct web_sources sources = {&monitoring->share, monitoring->on_demand};

    return web_open(conf, &sources, err);
}

bool monitoring_open(struct monitoring *monitoring, const char *path, const struct conf *conf,
                     struct err *err)
{
    *monitoring =
        (struct monitoring){.started_ns = clock_utc_ns(), .started_mono_ns = clock_mono_ns()};
    state_share_init(&monitoring->share);
    monitoring->shared = true;
    (void)snprintf(monitoring->config.path, sizeof(monitoring->config.path), "%s", path);
    monitoring->config.good = true;
    monitoring->config.loaded_ns = monitoring->started_ns;
    notify_open(&monitoring->notify);
    monitoring->on_demand = on_demand_new(MONITORING_SIGNAL);
    if (!monitoring->on_demand) {
        err_set(err, "out of memory");
        return false;
    }
    if (!open_control(monitoring, conf, &monitoring->control, err))
        return false;
    if (conf->http.listen)
        monitoring->web = open_web(monitoring, conf, err);
    return monitoring->web || !conf->http.listen;
}

static bool are_equal_or_null(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void leave_control(struct monitoring *monitoring)
{
    control_close(monitoring->left);
    monitoring->left = NULL;
}

bool monitoring_prepare(struct monitoring *monitoring, const struct conf *before,
                        const struct conf *conf, struct monitoring_change *out, struct err *err)
{
    struct monitoring_change change = {
        .new_control = !are_equal_or_null(before->agent.control, conf->agent.control),
        .new_web = !are_equal_or_null(before->http.listen, conf->http.listen),
    };

    if (change.new_control) {
        leave_control(monitoring); /* its place may be wanted again */
        if (!open_control(monitoring, conf, &change.control, err))
            return false;
    }
    if (change.new_web && conf->http.listen) {
        change.web = open_web(monitoring, conf, err);
        if (!change.web) {
            monitoring_abandon(&change);
            return false;
        }
    }
    *out = change;
    return true;
}

void monitoring_abandon(const struct monitoring_change *change)
{
    web_close(change->web);
    control_close(change->control);
}

void monitoring_apply(struct monitoring *monitoring, const struct conf *conf,
                      const struct monitoring_change *change)
{
    if (change->new_control) {
        monitoring->left = monitoring->control;
        monitoring->left_ns = clock_mono_ns() + LEAVE_NS;
        monitoring->control = change->control;
    }
    if (change->new_web) {
        web_close(monitoring->web);
        monitoring->web = change->web;
    }
    web_change(monitoring->web, conf);
}

void monitoring_reloading(const struct monitoring *monitoring)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n",
                   clock_mono_ns() / NS_PER_US);
    notify_say(&monitoring->notify, text);
}

void monitoring_reloaded(struct monitoring *monitoring, bool good, const struct err *err)
{
    struct state_config *config = &monitoring->config;

    config->tried_ns = clock_utc_ns();
    config->good = good;
    config->reloads += good;
    config->failures += !good;
    if (good)
        config->loaded_ns = config->tried_ns;
    else
        config->error = *err;
    notify_say(&monitoring->notify, "READY=1\n");
    monitoring->next_ns = 0; /* to be seen at once */
}

static void add_process(void *ctx, const struct supervisor_process *process)
{
    struct state_target *target = state_add_target(ctx);

    if (!target)
        return;
    target->pid = process->program.id.pid;
    target->program = process->program;
    (void)snprintf(target->service, sizeof(target->service), "%s", process->service);
    (void)snprintf(target->named_by, sizeof(target->named_by), "%s", process->named_by);
    (void)snprintf(target->python, sizeof(target->python), "%s", process->python);
    target->doing = process->quarantined ? "apart" : process->sampling ? "sampled" : "waits";
    target->rate_hz = process->rate_hz;
    target->burst = process->burst;
    target->wanted_hz = process->wanted_hz;
    target->counts = *process->counts;
    target->hangs = process->hang->count;
    target->hang = hang_name(process->hang->kind);
    if (target->hang) {
        target->hang_tid = process->hang->tid;
        target->hang_ns = clock_mono_ns() - process->hang->since_ns;
    }
}

/* A process whose command line, environment or mounts cannot be read: what it is is not known. */
static void add_blocker(void *ctx, pid_t pid)
{
    struct state_target *target = state_add_target(ctx);

    if (!target)
        return;
    target->pid = pid;
    (void)snprintf(target->service, sizeof(target->service), "(not known: reading it blocks)");
    target->doing = "apart";
}

static void add_exporter_states(struct state *state, const struct monitoring_sources *sources)
{
    const struct publisher *publisher = sources->publisher;
    const struct conf *conf = sources->conf;
    size_t i, k, count = delivery_count(publisher->delivery);

    for (i = 0; i < count; i++) {
        struct state_exporter *exporter = state_add_exporter(state);

        if (!exporter)
            return;
        (void)snprintf(exporter->name, sizeof(exporter->name), "%s",
                       delivery_stats(publisher->delivery, i, &exporter->delivery));
        for (k = 0; k < conf->exporter_count; k++)
            if (strcmp(conf->exporters[k].name, exporter->name) == 0)
                exporter->type = conf->exporters[k].type;
    }
}

static void add_sections(struct state *state, const struct conf *conf)
{
    struct state_section *section;

    for (size_t i = 0; i < conf->target_count; i++) {
        if (!resolve_target_is_fixed(&conf->targets[i]))
            continue;
        section = state_add_section(state);
        if (!section)
            return;
        (void)snprintf(section->name, sizeof(section->name), "%s", conf->targets[i].name);
        (void)snprintf(section->service, sizeof(section->service), "%s", conf->targets[i].service);
    }
}

/* Once a second, or twice as often as the watchdog looks. */
static uint64_t publish_again_ns(const struct monitoring *monitoring)
{
    uint64_t half = monitoring->notify.watchdog_ns / 2;

    return clock_mono_ns() + (half > 0 && half < EVERY_NS ? half : EVERY_NS);
}

static void tell_manager(const struct monitoring *monitoring, const struct state *state)
{
    struct buf lines;

    if (monitoring->notify.fd < 0)
        return;
    notify_say(&monitoring->notify, state->ready ? "READY=1\nWATCHDOG=1\n" : "WATCHDOG=1\n");
    buf_init(&lines, STATUS_MAX);
    buf_add_str(&lines, "STATUS=");
    state_line(state, &lines);
    notify_send(&monitoring->notify, &lines);
    buf_finish(&lines);
}

void monitoring_note_profile(struct monitoring *monitoring, const struct service *service,
                             uint64_t now_ns)
{
    const int64_t cpu_ns = pprof_total(service->profile, VALUE_CPU);

    if (cpu_ns > 0)
        service_cpu_add(&monitoring->service_cpu, service->name, (uint64_t)cpu_ns, now_ns);
}

static int compare_services(const void *a, const void *b)
{
    const struct state_service *one = a, *other = b;

    if (one->cpu_ns != other->cpu_ns)
        return one->cpu_ns < other->cpu_ns ? 1 : -1;
    return strcmp(one->name, other->name);
}

static void add_services(struct state *state, const struct service_cpu_table *table)
{
    struct state_service *service;
    uint64_t cpu_ns;

    for (size_t i = 0; i < table->count; i++) {
        cpu_ns = service_cpu_hour(&table->items[i], state->taken_mono_ns);
        service = cpu_ns > 0 ? state_add_service(state) : NULL;
        if (!service)
            continue;
        (void)snprintf(service->name, sizeof(service->name), "%s", table->items[i].name);
        service->cpu_ns = cpu_ns;
    }
    if (state->service_count > 0)
        qsort(state->services, state->service_count, sizeof(*state->services), compare_services);
}

void monitoring_publish(struct monitoring *monitoring, const struct monitoring_sources *sources)
{
    struct state *state = state_new();

    monitoring->next_ns = publish_again_ns(monitoring);
    if (monitoring->left && clock_mono_ns() >= monitoring->left_ns)
        leave_control(monitoring);
    if (!state)
        return; /* the one before stays */
    state->pid = getpid();
    state->taken_ns = clock_utc_ns();
    state->taken_mono_ns = clock_mono_ns();
    state->started_ns = monitoring->started_ns;
    state->started_mono_ns = monitoring->started_mono_ns;
    state->log_left_out = log_left_out();
    state->config = monitoring->config;
    state_own_use(state);
    state->cpu_ns += child_process_cpu_ns(false) + child_process_cpu_ns(true);
    state->http_cpu_ns = asked_use_cpu_ns() + child_process_cpu_ns(true);
    state->unkillable = child_process_reap(state->taken_mono_ns);
    state->budget = *supervisor_budget(sources->supervisor);
    state->engine = *supervisor_engine_stats(sources->supervisor);
    state->supervisor = *supervisor_stats(sources->supervisor);
    supervisor_unwinder(sources->supervisor, &state->unwinder);
    supervisor_each(sources->supervisor, add_process, state);
    add_services(state, &monitoring->service_cpu);
    proc_reader_each_blocker(sources->reader, add_blocker, state);
    state->profiles = sources->publisher->profiles;
    add_exporter_states(state, sources);
    add_sections(state, sources->conf);
    delivery_spool_stats(sources->publisher->delivery, &state->spool);
    state->ready = monitoring->published;
    monitoring->published = true;
    tell_manager(monitoring, state);
    state_share_put(&monitoring->share, state);
}

void monitoring_ending(const struct monitoring *monitoring)
{
    notify_say(&monitoring->notify, "STOPPING=1\nSTATUS=delivering what is there\n");
}

void monitoring_close(struct monitoring *monitoring)
{
    web_close(monitoring->web);
    leave_control(monitoring);
    control_close(monitoring->control);
    on_demand_free(monitoring->on_demand);
    service_cpu_finish(&monitoring->service_cpu);
    if (monitoring->shared) {
        state_share_finish(&monitoring->share);
        notify_close(&monitoring->notify);
    }
    *monitoring = (struct monitoring){.notify = {.fd = -1}};
}
