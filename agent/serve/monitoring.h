/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/serve: knows what a running agent tells and takes: state, metrics, page, control
 * socket. Does not know how samples are taken; it changes nothing but by an order to the main
 * loop.
 *
 * monitoring.h - lets others see what the agent does: gathers its state once a second, serves the
 * control socket, and tells a service manager.
 *
 * Shape:   monitoring_open once the fleet and the exporters are there; monitoring_publish whenever
 *          monitoring_next_ns is over; monitoring_close.
 * Threads: the main loop's; what it shares is for others.
 */
#ifndef AGENT_SERVE_MONITORING_H
#define AGENT_SERVE_MONITORING_H

#include "agent/delivery/publisher.h"
#include "agent/host/notify.h"
#include "agent/serve/control.h"
#include "agent/serve/web.h"
#include "agent/supervisor/supervisor.h"
#include "conf/conf.h"

struct monitoring {
    struct state_share share;
    struct on_demand *on_demand; /* owned: of `web` */
    struct control *control;     /* owned; NULL: there is none */
    struct web *web;             /* owned; NULL: there is none */
    struct control *left; /* owned: of settings before, until `left_ns`: it may have to answer */
    uint64_t left_ns;
    struct notify notify;
    struct state_config config;
    int64_t started_ns;
    uint64_t started_mono_ns, next_ns;
    bool shared;    /* `share` is there */
    bool published; /* a state was, before the main loop went on */
};

/* What the state is gathered from. All borrowed. */
struct monitoring_sources {
    const struct conf *conf;
    struct supervisor *supervisor;
    const struct publisher *publisher;
};

/* The signal that wakes the main loop when an order has come: among those that are blocked. */
enum { MONITORING_SIGNAL = SIGUSR2 };

/*
 * Opens the control socket as `conf` has it. False: it is asked for and cannot be had, `err`
 * says why. The default place is not worth that: then the log says why.
 */
MUST_CHECK bool monitoring_open(struct monitoring *monitoring, const char *path,
                                const struct conf *conf, struct err *err);

/* What other settings want instead of what is open. */
struct monitoring_change {
    struct control *control; /* owned */
    struct web *web;         /* owned */
    bool new_control, new_web;
};

/*
 * Opens what `conf` has at other places than `before`. False: it cannot be had, `err` says why.
 *
 * Gives: *out, to be ended with monitoring_apply, or with monitoring_abandon if the settings are
 * not to be.
 */
MUST_CHECK bool monitoring_prepare(struct monitoring *monitoring, const struct conf *before,
                                   const struct conf *conf, struct monitoring_change *out,
                                   struct err *err);

void monitoring_apply(struct monitoring *monitoring, const struct conf *conf,
                      const struct monitoring_change *change);
void monitoring_abandon(const struct monitoring_change *change);

/* A reload begins. */
void monitoring_reloading(const struct monitoring *monitoring);

/* Notes how a reload went; `err` says why it did not go well. */
void monitoring_reloaded(struct monitoring *monitoring, bool good, const struct err *err);

/* Gathers the state and shares it. Only this feeds the service manager's watchdog. */
void monitoring_publish(struct monitoring *monitoring, const struct monitoring_sources *sources);

/* The agent ends: from now on the service manager waits for that only. */
void monitoring_ending(const struct monitoring *monitoring);

/* Ends it. A struct of zeros is fine. */
void monitoring_close(struct monitoring *monitoring);

#endif
