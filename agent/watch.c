/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - see watch.h. */
#include "agent/watch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/log.h"

#define EVERY_NS NS_PER_S

/* At its own place the socket is a convenience: another agent, or no right to it, is no error. */
static bool open_control(struct watch *watch, const struct conf *conf, struct err *err)
{
    const char *path = conf->agent.control ? conf->agent.control : CONTROL_DEFAULT;

    watch->control = control_open(path, &watch->share, WATCH_SIGNAL, err);
    if (watch->control || conf->agent.control)
        return watch->control != NULL;
    log_line(LOG_LEVEL_INFO, "no control socket, so no pystrobe status: %s", err->text);
    return true;
}

bool watch_open(struct watch *watch, const char *path, const struct conf *conf, struct err *err)
{
    *watch = (struct watch){.started_ns = clock_utc_ns(), .started_mono_ns = clock_mono_ns()};
    state_share_init(&watch->share);
    watch->shared = true;
    (void)snprintf(watch->config.path, sizeof(watch->config.path), "%s", path);
    watch->config.good = true;
    watch->config.loaded_ns = watch->started_ns;
    if (!open_control(watch, conf, err))
        return false;
    if (conf->http.listen)
        watch->web = web_open(conf->http.listen, &watch->share, err);
    return watch->web || !conf->http.listen;
}

void watch_reloaded(struct watch *watch, bool good, const struct err *err)
{
    struct state_config *config = &watch->config;

    config->tried_ns = clock_utc_ns();
    config->good = good;
    config->reloads += good;
    config->failures += !good;
    if (good)
        config->loaded_ns = config->tried_ns;
    else
        config->error = *err;
    watch->next_ns = 0; /* to be seen at once */
}

static void add_process(void *ctx, const struct fleet_process *process)
{
    struct state_target *target = state_add_target(ctx);

    if (!target)
        return;
    target->pid = process->pid;
    (void)snprintf(target->service, sizeof(target->service), "%s", process->service);
    (void)snprintf(target->python, sizeof(target->python), "%s", process->python);
    target->doing = process->apart ? "apart" : process->sampling ? "sampled" : "waits";
    target->rate_hz = process->rate_hz;
    target->burst = process->burst;
}

static void add_exporters(struct state *state, const struct watched *watched)
{
    const struct ship *ship = watched->ship;
    const struct conf *conf = watched->conf;
    size_t i, k, count = delivery_count(ship->delivery);

    for (i = 0; i < count && i < ship->meter_count; i++) {
        struct state_exporter *exporter = state_add_exporter(state);

        if (!exporter)
            return;
        (void)snprintf(exporter->name, sizeof(exporter->name), "%s",
                       delivery_stats(ship->delivery, i, &exporter->delivery));
        push_meter_counts(ship->meters[i], &exporter->pushes);
        for (k = 0; k < conf->exporter_count; k++)
            if (strcmp(conf->exporters[k].name, exporter->name) == 0)
                (void)snprintf(exporter->type, sizeof(exporter->type), "%s",
                               conf->exporters[k].type);
    }
}

void watch_publish(struct watch *watch, const struct watched *watched)
{
    struct state *state = state_new();

    watch->next_ns = clock_mono_ns() + EVERY_NS;
    if (!state)
        return; /* the one before stays */
    state->pid = getpid();
    state->taken_ns = clock_utc_ns();
    state->taken_mono_ns = clock_mono_ns();
    state->started_ns = watch->started_ns;
    state->started_mono_ns = watch->started_mono_ns;
    state->log_left_out = log_left_out();
    state->config = watch->config;
    state_own_use(state);
    state->cpu_ns += fleet_cpu_ns(watched->fleet);
    state->budget = *fleet_budget(watched->fleet);
    state->engine = *fleet_engine_stats(watched->fleet);
    state->fleet = *fleet_stats(watched->fleet);
    fleet_unwinder(watched->fleet, &state->unwinder);
    fleet_each(watched->fleet, add_process, state);
    state->profiles = watched->ship->profiles;
    add_exporters(state, watched);
    delivery_spool_stats(watched->ship->delivery, &state->spool);
    state->ready = watch->published;
    watch->published = true;
    state_share_put(&watch->share, state);
}

void watch_close(struct watch *watch)
{
    web_close(watch->web);
    control_close(watch->control);
    if (watch->shared)
        state_share_finish(&watch->share);
    *watch = (struct watch){.control = NULL};
}
