/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/serve: knows what a running agent tells and takes: state, metrics, page, control
 * socket. Does not know how samples are taken; it changes nothing but by an order to the main
 * loop.
 *
 * monitoring.h - makes the agent's state visible: gathers it once a second, serves it over the
 * control socket and HTTP, and notifies a service manager.
 *
 * Shape:   monitoring_open once the supervisor and the exporters exist; monitoring_publish whenever
 *          `next_ns` is over; monitoring_close.
 * Threads: all functions belong to the main loop; `share` is read by other threads.
 */
#ifndef AGENT_SERVE_MONITORING_H
#define AGENT_SERVE_MONITORING_H

#include "agent/delivery/publisher.h"
#include "agent/discover/proc_reader.h"
#include "agent/host/notify.h"
#include "agent/serve/control.h"
#include "agent/serve/service_cpu.h"
#include "agent/serve/web.h"
#include "agent/supervisor/supervisor.h"
#include "conf/conf.h"

struct monitoring {
    struct state_share share;
    struct on_demand *on_demand; /* owned: of `web` */
    struct control *control;     /* owned; NULL: none */
    struct web *web;             /* owned; NULL: there is none */
    struct control *left; /* owned: of the settings before, until left_ns, to send its answers */
    uint64_t left_ns;
    struct service_cpu_table service_cpu; /* of the profiles so far */
    struct notify notify;
    struct state_config config;
    int64_t started_ns;
    uint64_t started_mono_ns, next_ns;
    bool shared;    /* `share` is initialised */
    bool published; /* a state was published before: the agent is ready */
};

/* Sources of the state. All borrowed. */
struct monitoring_sources {
    const struct conf *conf;
    struct supervisor *supervisor;
    const struct publisher *publisher;
    struct proc_reader *reader;
};

/* Wakes the main loop when a request has come; must be blocked. */
enum { MONITORING_SIGNAL = SIGUSR2 };

/*
 * Opens the control socket of the settings. False: it cannot be opened, `err` says why. If only the
 * default path cannot be opened, that is logged and the result is true.
 */
MUST_CHECK bool monitoring_open(struct monitoring *monitoring, const char *path,
                                const struct conf *conf, struct err *err);

/* Replacements that changed settings ask for. */
struct monitoring_change {
    struct control *control; /* owned */
    struct web *web;         /* owned */
    bool new_control, new_web;
};

/*
 * Opens the sockets whose address differs between `before` and `conf`. False: one cannot be opened,
 * `err` says why.
 *
 * Gives: *out, ended with monitoring_apply, or with monitoring_abandon if the settings are refused.
 */
MUST_CHECK bool monitoring_prepare(struct monitoring *monitoring, const struct conf *before,
                                   const struct conf *conf, struct monitoring_change *out,
                                   struct err *err);

void monitoring_apply(struct monitoring *monitoring, const struct conf *conf,
                      const struct monitoring_change *change);
void monitoring_abandon(const struct monitoring_change *change);

/* A reload begins. */
void monitoring_reloading(const struct monitoring *monitoring);

/* Records the result of a reload; `err` says why it failed. */
void monitoring_reloaded(struct monitoring *monitoring, bool good, const struct err *err);

/* A profile is about to be published. */
void monitoring_note_profile(struct monitoring *monitoring, const struct service *service,
                             uint64_t now_ns);

/* Gathers and publishes the state. Only this function feeds the service manager's watchdog. */
void monitoring_publish(struct monitoring *monitoring, const struct monitoring_sources *sources);

/* Tells the service manager that the agent stops. */
void monitoring_ending(const struct monitoring *monitoring);

/* Ends it. A struct of zeros is fine. */
void monitoring_close(struct monitoring *monitoring);

#endif
