/* SPDX-License-Identifier: Apache-2.0 */
/* naming.c - see naming.h. */
#include "agent/discover/naming.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/discover/otel_context.h"
#include "agent/host/escape.h"
#include "base/file.h"
#include "base/percent.h"
#include "base/text.h"

const struct naming naming_usual = {
    .env_allow = "",
    .auto_labels = "",
    .service = "${otel:service.name:-${script}}",
    .target = "",
};

/* A template that begins like this wants what the SDK calls the service. */
static const char otel_first[] = "${otel:service.name";

struct run {
    const struct naming *naming;
    struct proc_info *info;
    char value[1024]; /* lent until the next name is looked up */
    char source[96];  /* what the last name that was found is from */
};

const char *naming_variable(const char *allow, struct proc_info *info, const char *name)
{
    static const char always[] = "OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES DD_SERVICE";

    if (!conf_is_listed(always, name) && !conf_is_listed(allow, name))
        return NULL;
    return proc_info_variable(info, name);
}

bool naming_is_disabled(struct proc_info *info)
{
    const char *value = proc_info_variable(info, "PYSTROBE_DISABLE");

    return value && *value && strcmp(value, "0") != 0;
}

const char *naming_container_name(const char *allow, struct proc_info *info)
{
    const struct cgroup *cgroup = proc_info_cgroup(info);
    const char *host;

    if (cgroup->machine[0])
        return cgroup->machine;
    if (!cgroup->container[0] && !cgroup->pod[0])
        return "";
    host = naming_variable(allow, info, "HOSTNAME");
    return host ? host : "";
}

/* The id of the container that a process runs in, else its name; "" if it runs in none. */
static const char *container_id(const char *allow, struct proc_info *info)
{
    const struct cgroup *cgroup = proc_info_cgroup(info);

    return cgroup->container[0] ? cgroup->container : naming_container_name(allow, info);
}

/* Copies up to the end of a value, with its %XX replaced; a zero byte stays as it is written. */
static void decode_resource_value(const char *text, size_t length, char *out, size_t size)
{
    size_t at = 0, used = 0;

    while (at < length && used + 1 < size) {
        int byte = percent_byte(text + at, length - at);

        out[used++] = byte > 0 ? (char)byte : text[at];
        at += byte > 0 ? PERCENT_SIZE : 1;
    }
    out[used] = '\0';
}

bool naming_attribute(const char *text, const char *key, char *out, size_t size)
{
    size_t key_size = strlen(key), length;

    for (;; text += length + 1) {
        text += strspn(text, " \t");
        length = strcspn(text, ",");
        if (length > key_size && strncmp(text, key, key_size) == 0 && text[key_size] == '=') {
            decode_resource_value(text + key_size + 1, length - key_size - 1, out, size);
            return true;
        }
        if (!text[length])
            return false;
    }
}

/* The text, if there is one; notes where it is from. */
static const char *from_source(struct run *run, const char *text, const char *source)
{
    if (!text || !*text)
        return NULL;
    (void)snprintf(run->source, sizeof(run->source), "%s", source);
    return text;
}

/* A resource attribute that the process has in OTEL_RESOURCE_ATTRIBUTES. */
static const char *resource_attribute(struct run *run, const char *key)
{
    const char *text = proc_info_variable(run->info, "OTEL_RESOURCE_ATTRIBUTES");

    return text && naming_attribute(text, key, run->value, sizeof(run->value)) ? run->value : NULL;
}

const char *naming_declared(naming_lookup *variable, void *ctx, char *out, size_t size)
{
    const char *attributes = variable(ctx, "OTEL_RESOURCE_ATTRIBUTES");
    const char *name = variable(ctx, "OTEL_SERVICE_NAME");

    if (name && *name) {
        (void)snprintf(out, size, "%s", name);
        return "OTEL_SERVICE_NAME";
    }
    if (attributes && naming_attribute(attributes, "service.name", out, size) && *out)
        return "service.name of OTEL_RESOURCE_ATTRIBUTES";
    name = variable(ctx, "DD_SERVICE");
    (void)snprintf(out, size, "%s", name ? name : "");
    return *out ? "DD_SERVICE" : NULL;
}

static const char *look_up_variable(void *ctx, const char *name)
{
    return proc_info_variable(ctx, name);
}

/* What its environment calls the service. */
static const char *declared_service(struct run *run)
{
    const char *source =
        naming_declared(look_up_variable, run->info, run->value, sizeof(run->value));

    return source ? from_source(run, run->value, source) : NULL;
}

static const char *attribute(struct run *run, const char *key)
{
    return strcmp(key, "service.name") == 0 ? declared_service(run) : resource_attribute(run, key);
}

/* The workload of Kubernetes that a process belongs to, as OpenTelemetry's operator tells it. */
static const char *kubernetes_name(struct run *run)
{
    static const char *const keys[] = {
        "k8s.deployment.name", "k8s.replicaset.name", "k8s.statefulset.name", "k8s.daemonset.name",
        "k8s.cronjob.name",    "k8s.job.name",        "k8s.container.name",   NULL};
    const char *name = NULL;

    for (size_t i = 0; keys[i] && !name; i++)
        name = from_source(run, resource_attribute(run, keys[i]), keys[i]);
    return name;
}

/* The name of a service of systemd; not of one that holds the sessions of a user. */
static const char *unit_name(struct run *run)
{
    const char *unit = proc_info_cgroup(run->info)->unit;

    if (!text_ends_with(unit, ".service") || strncmp(unit, "user@", strlen("user@")) == 0)
        return NULL;
    (void)snprintf(run->value, sizeof(run->value), "%.*s", (int)(strlen(unit) - strlen(".service")),
                   unit);
    return from_source(run, run->value, "systemd unit");
}

/* What it runs; where that is only a tool or a part of something, whose workload it is. */
static const char *running_name(struct run *run)
{
    const struct cmdline_program *program = proc_info_program(run->info);
    const char *name = program->kind == CMDLINE_APPLICATION
                           ? from_source(run, program->name, program->rule)
                           : kubernetes_name(run);

    if (!name)
        name = from_source(run, proc_info_cgroup(run->info)->machine, "container");
    if (!name)
        name = unit_name(run);
    return name ? name : from_source(run, program->name, program->rule);
}

static void explain_source(struct buf *out, size_t *count, const char *source, const char *name)
{
    if (!name || !*name)
        return;
    buf_add_fmt(out, "%s%s = ", (*count)++ ? ", " : "; sources: ", source);
    escape_add_str(out, name);
}

void naming_explain(struct proc_info *info, struct buf *out)
{
    struct run run = {.naming = &naming_usual, .info = info};
    const struct cmdline_program *program = proc_info_program(info);
    size_t count = 0;

    explain_source(out, &count, "OTEL_SERVICE_NAME", proc_info_variable(info, "OTEL_SERVICE_NAME"));
    explain_source(out, &count, "OTEL_RESOURCE_ATTRIBUTES",
                   resource_attribute(&run, "service.name"));
    explain_source(out, &count, "DD_SERVICE", proc_info_variable(info, "DD_SERVICE"));
    explain_source(out, &count, program->rule, program->name);
    explain_source(out, &count, "Kubernetes", kubernetes_name(&run));
    explain_source(out, &count, "container", proc_info_cgroup(info)->machine);
    explain_source(out, &count, "systemd unit", unit_name(&run));
}

static const char *lookup_template_name(void *ctx, const char *name)
{
    struct run *run = ctx;

    if (strncmp(name, "env:", 4) == 0)
        return from_source(run, naming_variable(run->naming->env_allow, run->info, name + 4),
                           name + 4);
    if (strncmp(name, "otel:", 5) == 0)
        return attribute(run, name + 5);
    if (strcmp(name, "script") == 0)
        return running_name(run);
    if (strcmp(name, "exe") == 0)
        return from_source(run, file_base_name(proc_info_exe(run->info)), "executable");
    if (strcmp(name, "user") == 0)
        return from_source(run, proc_info_user_name(run->info), "user");
    if (strcmp(name, "systemd_unit") == 0)
        return from_source(run, proc_info_cgroup(run->info)->unit, "systemd unit");
    if (strcmp(name, "container") == 0)
        return from_source(run, container_id(run->naming->env_allow, run->info), "container");
    if (strcmp(name, "cgroup") == 0)
        return from_source(run, proc_info_cgroup(run->info)->path, "cgroup");
    return strcmp(name, "target") == 0 ? from_source(run, run->naming->target, "[target]") : NULL;
}

static void trim_service_name(char *text)
{
    size_t start = strspn(text, " "), size = strlen(text + start);

    while (size > 0 && text[start + size - 1] == ' ')
        size--;
    memmove(text, text + start, size);
    text[size] = '\0';
}

/* The service: by its template, else what it runs, else the section. */
static void name_service(struct run *run, struct target_profile *out)
{
    const char *const otherwise[] = {run->naming->service, "${script}", "${exe}", "${target}",
                                     "python"};
    char text[1024];

    out->service[0] = '\0';
    run->source[0] = '\0';
    for (size_t i = 0; !out->service[0] && i < sizeof(otherwise) / sizeof(otherwise[0]); i++) {
        conf_template_expand(otherwise[i], lookup_template_name, run, text, sizeof(text));
        labels_clean(text, out->service, sizeof(out->service));
        trim_service_name(out->service);
    }
    (void)snprintf(out->named_by, sizeof(out->named_by), "%s",
                   run->source[0] ? run->source : "settings");
}

/* The first of these variables that there is: names that manifests give to a field of the pod. */
static const char *first_variable(struct run *run, const char *const *names)
{
    const char *value = NULL;

    for (; *names && !(value && *value); names++)
        value = naming_variable(run->naming->env_allow, run->info, *names);
    return value;
}

static const char *found_by_itself(struct run *run, const char *label)
{
    static const char *const uid[] = {"POD_UID", "K8S_POD_UID", NULL};
    static const char *const pod[] = {"POD_NAME", "K8S_POD_NAME", NULL};
    static const char *const space[] = {"POD_NAMESPACE", "K8S_NAMESPACE", "K8S_NAMESPACE_NAME",
                                        "K8S_POD_NAMESPACE", NULL};
    const struct cgroup *cgroup = proc_info_cgroup(run->info);

    if (strcmp(label, "host.name") == 0)
        return gethostname(run->value, sizeof(run->value) - 1) == 0 ? run->value : NULL;
    if (strcmp(label, "container.id") == 0)
        return cgroup->container;
    if (strcmp(label, "k8s.pod.uid") == 0)
        return cgroup->pod[0] ? cgroup->pod : first_variable(run, uid);
    if (strcmp(label, "k8s.pod.name") == 0)
        return first_variable(run, pod);
    return strcmp(label, "k8s.namespace.name") == 0 ? first_variable(run, space) : NULL;
}

/* A label that the settings want to be found: what the process says goes first. */
static void add_found_label(struct run *run, const char *label, struct labels *labels)
{
    const char *value = attribute(run, label);

    if (!value || !*value)
        value = found_by_itself(run, label);
    if (value)
        labels_put(labels, label, value);
}

void naming_apply(const struct naming *naming, struct proc_info *info, struct target_profile *out)
{
    struct run run = {.naming = naming, .info = info};
    char text[1024];

    name_service(&run, out);
    out->otel_name = strncmp(naming->service, otel_first, strlen(otel_first)) == 0;
    out->declared = declared_service(&run) != NULL;
    out->labels = (struct labels){.count = 0};
    out->auto_labels = 0;
    for (size_t i = 0; i < naming->label_count; i++) {
        conf_template_expand(naming->labels[i].value, lookup_template_name, &run, text,
                             sizeof(text));
        trim_service_name(text);
        labels_put(&out->labels, naming->labels[i].name, text);
    }
    for (size_t i = 0; labels_found[i]; i++)
        if (conf_is_listed(naming->auto_labels, labels_found[i])) {
            out->auto_labels |= 1U << i;
            add_found_label(&run, labels_found[i], &out->labels);
        }
    out->options.role = proc_info_program(info)->role;
}

/* What a process publishes. */
struct published {
    struct target_profile *profile; /* borrowed: its labels are completed */
    char service[sizeof(((struct target_profile *)NULL)->service)]; /* "": none */
    bool guessed; /* by an SDK that makes up a name where it is given none */
};

static void take_published(void *ctx, const char *name, const char *value)
{
    struct published *published = ctx;
    struct target_profile *profile = published->profile;

    if (strcmp(name, "service.name") == 0) {
        labels_clean(value, published->service, sizeof(published->service));
        trim_service_name(published->service);
        published->guessed |= strncmp(value, "unknown_service", strlen("unknown_service")) == 0;
    }
    /* Datadog's: a name that it was given is in DD_SERVICE. */
    published->guessed |=
        strcmp(name, "telemetry.sdk.name") == 0 && strcmp(value, "libdatadog") == 0;
    for (size_t i = 0; labels_found[i]; i++)
        if ((profile->auto_labels & 1U << i) && strcmp(name, labels_found[i]) == 0)
            labels_put(&profile->labels, name, value);
}

bool naming_complete(struct target_profile *profile, pid_t pid, const char *version)
{
    struct published published = {.profile = profile};
    bool complete = true;

    if (profile->otel_name || profile->auto_labels)
        complete = otel_context_read(pid, take_published, &published);
    if (profile->otel_name && !profile->declared && !published.guessed && published.service[0]) {
        memcpy(profile->service, published.service, sizeof(profile->service));
        (void)snprintf(profile->named_by, sizeof(profile->named_by), "OpenTelemetry SDK");
    }
    for (size_t i = 0; labels_found[i]; i++)
        if ((profile->auto_labels & 1U << i) &&
            strcmp(labels_found[i], "process.runtime.version") == 0)
            labels_put(&profile->labels, labels_found[i], version);
    return complete;
}
