/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming.h - chooses the service name and the labels of a process.
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

/* Settings for a name. All borrowed. A list is as conf_is_listed takes it. */
struct naming {
    const char *env_allow;      /* list of environment variables that may be read */
    const char *auto_labels;    /* list of labels to detect, of labels_found */
    const char *service;        /* template */
    const char *target;         /* the name of the [target] section */
    const struct label *labels; /* the values are templates */
    size_t label_count;
};

/* The settings without an ini file: the usual template, and no labels. */
extern const struct naming naming_usual;

/* Sets options.role and the fields from `service` to `declared`. The service is never "". */
void naming_apply(const struct naming *naming, struct proc_info *info, struct target_profile *out);

/*
 * Completes service and labels with data that needs access to the process's memory: the version of
 * Python, and the resource that an OpenTelemetry SDK publishes (otel_context.h).
 *
 * Gives: false if that resource is wanted but not published yet: call it again later.
 * Cost:  reads /proc/PID/maps if the resource is wanted.
 */
bool naming_complete(struct target_profile *profile, pid_t pid, const char *version);

/* Appends all possible names of the process with their sources, in the order of preference:
 * "; sources: DD_SERVICE = shop, script = run". The names are escaped. */
void naming_explain(struct proc_info *info, struct buf *out);

/* True if the process asks not to be profiled: PYSTROBE_DISABLE. */
MUST_CHECK bool naming_is_disabled(struct proc_info *info);

/* The value of an environment variable, lent as by proc_info_variable. NULL: it is not set, or
 * neither listed in `allow` nor one of OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, DD_SERVICE. */
const char *naming_variable(const char *allow, struct proc_info *info, const char *name);

/* The name of the container, lent until proc_info_begin; "" if it is not known. */
const char *naming_container_name(const char *allow, struct proc_info *info);

/* Returns the value of a variable; NULL: not set. */
typedef const char *naming_lookup(void *ctx, const char *name);

/* Copies the service name that an environment declares. Gives the variable that declares it, for
 * users; static. NULL: none, and `out` is "". */
const char *naming_declared(naming_lookup *variable, void *ctx, char *out, size_t size);

/*
 * Copies the value of `key` from a text in the format of OTEL_RESOURCE_ATTRIBUTES: "a=b,c=d", with
 * "%20" for a blank. False: there is no such key.
 */
MUST_CHECK bool naming_attribute(const char *text, const char *key, char *out, size_t size);

#endif
