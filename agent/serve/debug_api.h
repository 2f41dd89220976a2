/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_api.h - lets others see what the agent does: gathers its state once a second, serves the
 * control socket, and tells a service manager.
 *
 * Shape:   watch_open once the fleet and the exporters are there; watch_publish whenever
 *          watch_next_ns is over; watch_close.
 * Threads: the main loop's; what it shares is for others.
 */
#ifndef AGENT_SERVE_DEBUG_API_H
#define AGENT_SERVE_DEBUG_API_H

#include "agent/delivery/publish.h"
#include "agent/host/notify.h"
#include "agent/serve/control.h"
#include "agent/serve/web.h"
#include "agent/supervisor/supervisor.h"
#include "conf/conf.h"

struct watch {
    struct state_share share;
    struct pulls *pulls;     /* owned: of `web` */
    struct control *control; /* owned; NULL: there is none */
    struct web *web;         /* owned; NULL: there is none */
    struct control *left;    /* owned: of settings before, until `left_ns`: it may have to answer */
    uint64_t left_ns;
    struct notify notify;
    struct state_config config;
    int64_t started_ns;
    uint64_t started_mono_ns, next_ns;
    bool shared;    /* `share` is there */
    bool published; /* a state was, before the main loop went on */
};

/* What the state is gathered from. All borrowed. */
struct watched {
    const struct conf *conf;
    struct fleet *fleet;
    const struct ship *ship;
};

/* The signal that wakes the main loop when an order has come: among those that are blocked. */
enum { WATCH_SIGNAL = SIGUSR2 };

/*
 * Opens the control socket as `conf` has it. False: it is asked for and cannot be had, `err`
 * says why. The default place is not worth that: then the log says why.
 */
MUST_CHECK bool watch_open(struct watch *watch, const char *path, const struct conf *conf,
                           struct err *err);

/* What other settings want instead of what is open. */
struct watch_change {
    struct control *control; /* owned */
    struct web *web;         /* owned */
    bool new_control, new_web;
};

/*
 * Opens what `conf` has at other places than `before`. False: it cannot be had, `err` says why.
 *
 * Gives: *out, to be ended with watch_apply, or with watch_abandon if the settings are not to be.
 */
MUST_CHECK bool watch_prepare(struct watch *watch, const struct conf *before,
                              const struct conf *conf, struct watch_change *out, struct err *err);

void watch_apply(struct watch *watch, const struct conf *conf, const struct watch_change *change);
void watch_abandon(const struct watch_change *change);

/* A reload begins. */
void watch_reloading(const struct watch *watch);

/* Notes how a reload went; `err` says why it did not go well. */
void watch_reloaded(struct watch *watch, bool good, const struct err *err);

/* Gathers the state and shares it. Only this feeds the service manager's watchdog. */
void watch_publish(struct watch *watch, const struct watched *watched);

/* The agent ends: from now on the service manager waits for that only. */
void watch_ending(const struct watch *watch);

/* Ends it. A struct of zeros is fine. */
void watch_close(struct watch *watch);

#endif
