/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming.h - what the service of a process is called, and which labels it has.
 *
 * Source:  OpenTelemetry's semantic conventions for resources, its environment variables, and
 *          the downward API of Kubernetes as it is commonly used.
 */
#ifndef AGENT_DISCOVER_NAMING_H
#define AGENT_DISCOVER_NAMING_H

#include "agent/discover/proc_info.h"
#include "agent/discover/target_profile.h"
#include "base/buf.h"
#include "conf/conf.h"

/* All borrowed. */
struct naming {
    const char *env_allow;      /* the names of variables that may be read */
    const char *auto_labels;    /* the names of labels that are found by themselves */
    const char *service;        /* template */
    const char *target;         /* the name of the section */
    const struct label *labels; /* templates */
    size_t label_count;
};

/* What holds without an ini file: the usual template, and no labels. */
extern const struct naming naming_usual;

/* Writes service and labels of a process into `out`. The service is never "". */
void naming_apply(const struct naming *naming, struct proc_info *info, struct target_profile *out);

/*
 * Completes what only those who may read the process's memory can: the version of Python, and
 * the resource that an SDK of OpenTelemetry publishes.
 *
 * Gives: false if that resource is wanted, and there is none yet.
 * Cost:  where it is wanted, /proc/PID/maps is read.
 */
bool naming_complete(struct target_profile *profile, pid_t pid, const char *version);

/* Appends all sources of a name that the process has, in their order: "; sources: DD_SERVICE =
 * shop, script = run". What they say is escaped. */
void naming_explain(struct proc_info *info, struct buf *out);

/* True if the process asks not to be profiled: PYSTROBE_DISABLE. */
MUST_CHECK bool naming_is_disabled(struct proc_info *info);

/* The variable, if `allow` lists it or it is one that anybody may know. */
const char *naming_variable(const char *allow, struct proc_info *info, const char *name);

/* The name of the container; "" if it is not known. */
const char *naming_container_name(const char *allow, struct proc_info *info);

/* The value of a variable; NULL: not set. */
typedef const char *naming_lookup(void *ctx, const char *name);

/* Copies what an environment calls the service. Gives which variable does; NULL: none. */
const char *naming_declared(naming_lookup *variable, void *ctx, char *out, size_t size);

/*
 * Copies the value of `key` from text as OTEL_RESOURCE_ATTRIBUTES has it: "a=b,c=d", with
 * "%20" for a blank. False: it is not in it.
 */
MUST_CHECK bool naming_attribute(const char *text, const char *key, char *out, size_t size);

#endif
