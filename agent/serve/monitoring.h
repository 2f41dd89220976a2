/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder agent/serve: knows the interfaces of a running agent: state, metrics, page, control
 * socket. Does not know how samples are taken. Other threads change nothing: they hand orders to
 * the main loop.
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
    struct on_demand *on_demand; /* owned: makes profiles for `web` */
    struct control *control;     /* owned; NULL: none */
    struct web *web;             /* owned; NULL: none */
    struct control *left; /* owned: control socket of the settings before, open until left_ns to
                             answer the request for a reload; NULL: none */
    uint64_t left_ns;     /* monotonic */
    struct service_cpu_table service_cpu; /* of the profiles so far */
    struct notify notify;
    struct state_config config;
    int64_t started_ns;                /* UTC */
    uint64_t started_mono_ns, next_ns; /* monotonic; next_ns: when to publish next */
    bool shared;                       /* `share` and `notify` are initialised */
    bool published;                    /* a state was published: the next ones are `ready` */
};

/* Sources of the state. All borrowed. */
struct monitoring_sources {
    const struct conf *conf;
    struct supervisor *supervisor;
    const struct publisher *publisher;
    struct proc_reader *reader;
};

/* Wakes the main loop when a request has come. Must be blocked in all threads. */
enum { MONITORING_SIGNAL = SIGUSR2 };

/*
 * Opens the control socket and the HTTP server of the settings; `path` is that of the ini file.
 * False: `err` says why; monitoring_close is still needed. A control socket that cannot be opened
 * at the default path is logged, and is no error.
 */
MUST_CHECK bool monitoring_open(struct monitoring *monitoring, const char *path,
                                const struct conf *conf, struct err *err);

/* Replacements for changed settings. */
struct monitoring_change {
    struct control *control;   /* owned; NULL: none */
    struct web *web;           /* owned; NULL: none */
    bool new_control, new_web; /* the member replaces that of struct monitoring, also by NULL */
};

/*
 * Opens the sockets whose address differs between `before` and `conf`. False: one cannot be opened,
 * `err` says why.
 *
 * Gives: *out. Call monitoring_apply, or monitoring_abandon if the settings are refused.
 */
MUST_CHECK bool monitoring_prepare(struct monitoring *monitoring, const struct conf *before,
                                   const struct conf *conf, struct monitoring_change *out,
                                   struct err *err);

/* Puts the replacements into effect, and the other settings of the HTTP server; or frees them. */
void monitoring_apply(struct monitoring *monitoring, const struct conf *conf,
                      const struct monitoring_change *change);
void monitoring_abandon(const struct monitoring_change *change);

/* Tells the service manager that a reload begins. */
void monitoring_reloading(const struct monitoring *monitoring);

/* Records the result of a reload, and tells the service manager; `err` says why it failed. */
void monitoring_reloaded(struct monitoring *monitoring, bool good, const struct err *err);

/* Adds the CPU time of a profile that is about to be published to service_cpu. */
void monitoring_note_profile(struct monitoring *monitoring, const struct service *service,
                             uint64_t now_ns);

/* Gathers and publishes the state. Only this call feeds the service manager's watchdog. */
void monitoring_publish(struct monitoring *monitoring, const struct monitoring_sources *sources);

/* Tells the service manager that the agent stops. */
void monitoring_ending(const struct monitoring *monitoring);

/* Closes and frees all. A struct of zeros is fine. */
void monitoring_close(struct monitoring *monitoring);

#endif
