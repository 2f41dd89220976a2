/* SPDX-License-Identifier: Apache-2.0 */
/* debug_api.c - see debug_api.h. */
#include "agent/serve/debug_api.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/run_captured.h"
#include "agent/host/clock.h"
#include "agent/host/log.h"

#define EVERY_NS NS_PER_S

enum { STATUS_MAX = 4096 }; /* one that is longer is not sent */

/* A socket that is there no more for new requests answers the last one. */
#define LEAVE_NS (2 * NS_PER_S)

/* At its own place the socket is a convenience: another agent, or no right to it, is no error. */
static bool open_control(struct watch *watch, const struct conf *conf, struct control **out,
                         struct err *err)
{
    const char *path = conf->agent.control ? conf->agent.control : CONTROL_DEFAULT;

    *out = control_open(path, &watch->share, WATCH_SIGNAL, err);
    if (*out || conf->agent.control)
        return *out != NULL;
    log_line(LOG_LEVEL_INFO, "no control socket, so no pystrobe status: %s", err->text);
    return true;
}

static struct web *open_web(struct watch *watch, const struct conf *conf, struct err *err)
{
    const struct web_sources sources = {&watch->share, watch->pulls};

    return web_open(conf, &sources, err);
}

bool watch_open(struct watch *watch, const char *path, const struct conf *conf, struct err *err)
{
    *watch = (struct watch){.started_ns = clock_utc_ns(), .started_mono_ns = clock_mono_ns()};
    state_share_init(&watch->share);
    watch->shared = true;
    (void)snprintf(watch->config.path, sizeof(watch->config.path), "%s", path);
    watch->config.good = true;
    watch->config.loaded_ns = watch->started_ns;
    notify_open(&watch->notify);
    watch->pulls = pulls_new(WATCH_SIGNAL);
    if (!watch->pulls) {
        err_set(err, "out of memory");
        return false;
    }
    if (!open_control(watch, conf, &watch->control, err))
        return false;
    if (conf->http.listen)
        watch->web = open_web(watch, conf, err);
    return watch->web || !conf->http.listen;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void leave_control(struct watch *watch)
{
    control_close(watch->left);
    watch->left = NULL;
}

bool watch_prepare(struct watch *watch, const struct conf *before, const struct conf *conf,
                   struct watch_change *out, struct err *err)
{
    struct watch_change change = {
        .new_control = !same(before->agent.control, conf->agent.control),
        .new_web = !same(before->http.listen, conf->http.listen),
    };

    if (change.new_control) {
        leave_control(watch); /* its place may be wanted again */
        if (!open_control(watch, conf, &change.control, err))
            return false;
    }
    if (change.new_web && conf->http.listen) {
        change.web = open_web(watch, conf, err);
        if (!change.web) {
            watch_abandon(&change);
            return false;
        }
    }
    *out = change;
    return true;
}

void watch_abandon(const struct watch_change *change)
{
    web_close(change->web);
    control_close(change->control);
}

void watch_apply(struct watch *watch, const struct conf *conf, const struct watch_change *change)
{
    if (change->new_control) {
        watch->left = watch->control;
        watch->left_ns = clock_mono_ns() + LEAVE_NS;
        watch->control = change->control;
    }
    if (change->new_web) {
        web_close(watch->web);
        watch->web = change->web;
    }
    web_change(watch->web, conf);
}

void watch_reloading(const struct watch *watch)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n",
                   clock_mono_ns() / 1000);
    notify_say(&watch->notify, text);
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
    notify_say(&watch->notify, "READY=1\n");
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
    target->counts = *process->counts;
    target->hangs = process->hang->count;
    target->hang = hang_name(process->hang->kind);
    if (target->hang) {
        target->hang_tid = process->hang->tid;
        target->hang_ns = clock_mono_ns() - process->hang->since_ns;
    }
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

/* Once a second, or twice as often as the watchdog looks. */
static uint64_t publish_again_ns(const struct watch *watch)
{
    uint64_t half = watch->notify.watchdog_ns / 2;

    return clock_mono_ns() + (half > 0 && half < EVERY_NS ? half : EVERY_NS);
}

static void tell_manager(const struct watch *watch, const struct state *state)
{
    struct buf lines;

    if (watch->notify.fd < 0)
        return;
    notify_say(&watch->notify, state->ready ? "READY=1\nWATCHDOG=1\n" : "WATCHDOG=1\n");
    buf_init(&lines, STATUS_MAX);
    buf_add_str(&lines, "STATUS=");
    state_line(state, &lines);
    notify_send(&watch->notify, &lines);
    buf_finish(&lines);
}

void watch_publish(struct watch *watch, const struct watched *watched)
{
    struct state *state = state_new();

    watch->next_ns = publish_again_ns(watch);
    if (watch->left && clock_mono_ns() >= watch->left_ns)
        leave_control(watch);
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
    state->cpu_ns += fleet_cpu_ns(watched->fleet) + captured_cpu_ns();
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
    tell_manager(watch, state);
    state_share_put(&watch->share, state);
}

void watch_ending(const struct watch *watch)
{
    notify_say(&watch->notify, "STOPPING=1\nSTATUS=delivering what is there\n");
}

void watch_close(struct watch *watch)
{
    web_close(watch->web);
    leave_control(watch);
    control_close(watch->control);
    pulls_free(watch->pulls);
    if (watch->shared) {
        state_share_finish(&watch->share);
        notify_close(&watch->notify);
    }
    *watch = (struct watch){.notify = {.fd = -1}};
}
