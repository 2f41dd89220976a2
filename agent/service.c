/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - see service.h. */
#include "agent/service.h"

#include <stdlib.h>
#include <string.h>

const struct pprof_type service_types[VALUES] = {
    [VALUE_SAMPLES] = {"samples", "count"}, [VALUE_WALL] = {"wall", "nanoseconds"},
    [VALUE_CPU] = {"cpu", "nanoseconds"},   [VALUE_GIL] = {"gil", "nanoseconds"},
    [VALUE_WAIT] = {"wait", "nanoseconds"},
};

static const char unseen_name[] = "<CPU time between samples>";
static const char overflow_name[] = "<more stacks than a profile may have>";
static const char cut_name[] = "<deeper frames>";

/* Interns a stack of one made-up frame. */
static enum pprof_rc made_up_stack(struct service *service, const char *name, uint32_t *out)
{
    uint32_t function, location;
    enum pprof_rc rc = pprof_function(service->profile, name, "", 0, &function);

    if (rc == PPROF_OK)
        rc = pprof_location(service->profile, function, 0, 0, &location);
    if (rc == PPROF_OK)
        rc = pprof_stack(service->profile, &location, 1, out);
    return rc;
}

static bool made_up_row(struct service *service, const char *name, uint32_t *out)
{
    uint32_t stack;

    return made_up_stack(service, name, &stack) == PPROF_OK &&
           pprof_row(service->profile, stack, NULL, 0, out) == PPROF_OK;
}

bool service_begin(struct service *service, int64_t utc_ns, uint64_t now_ns)
{
    pprof_reset(service->profile);
    service->start_utc_ns = utc_ns;
    service->start_ns = now_ns;
    service->overflow = 0;
    return made_up_row(service, unseen_name, &service->unseen_row) &&
           made_up_row(service, overflow_name, &service->overflow_row);
}

static void service_free(struct service *service)
{
    if (!service)
        return;
    pprof_free(service->profile);
    free(service->name);
    free(service);
}

struct service *services_get(struct services *services, const char *name, int64_t utc_ns,
                             uint64_t now_ns)
{
    struct service *service;

    for (service = services->first; service; service = service->next)
        if (strcmp(service->name, name) == 0)
            return service;
    service = calloc(1, sizeof(*service));
    if (!service)
        return NULL;
    service->name = strdup(name);
    if (!service->name ||
        pprof_new(service_types, VALUES, SERVICE_PROFILE_MAX, &service->profile) != PPROF_OK ||
        !service_begin(service, utc_ns, now_ns)) {
        service_free(service);
        return NULL;
    }
    service->next = services->first;
    services->first = service;
    services->count++;
    return service;
}

void services_finish(struct services *services)
{
    struct service *service, *next;

    for (service = services->first; service; service = next) {
        next = service->next;
        service_free(service);
    }
    *services = (struct services){0};
}

static enum pprof_rc intern_frame(struct pprof *profile, const struct cpy_frame *frame,
                                  uint32_t *out)
{
    const struct cpy_code *code = frame->code;
    uint32_t function;
    enum pprof_rc rc = pprof_function(profile, code->func, code->file, code->first_line, &function);

    return rc == PPROF_OK ? pprof_location(profile, function, frame->line, 0, out) : rc;
}

/* Interns the stack of a thread, leaf first. */
static enum pprof_rc intern_stack(struct pprof *profile, const struct cpy_thread *thread,
                                  uint32_t *out)
{
    uint32_t locations[CPY_DEPTH_MAX + 1], function, depth;
    enum pprof_rc rc = PPROF_OK;

    for (depth = 0; rc == PPROF_OK && depth < thread->depth; depth++)
        rc = intern_frame(profile, &thread->frames[depth], &locations[depth]);
    if (rc == PPROF_OK && thread->cut) {
        rc = pprof_function(profile, cut_name, "", 0, &function);
        if (rc == PPROF_OK)
            rc = pprof_location(profile, function, 0, 0, &locations[depth++]);
    }
    return rc == PPROF_OK ? pprof_stack(profile, locations, depth, out) : rc;
}

/* The labels that `split` asks for; gives how many. `thread` may be NULL. */
static size_t fill_labels(struct pprof_label *labels, const struct cpy_thread *thread, pid_t pid,
                          enum service_split split)
{
    size_t count = 0;

    /* Numbers, not texts: Pyroscope makes a series of every text. */
    if (split >= SPLIT_PROCESS)
        labels[count++] = (struct pprof_label){.key = "pid", .num = pid};
    if (split < SPLIT_THREAD || !thread)
        return count;
    if (thread->tid)
        labels[count++] = (struct pprof_label){.key = "thread id", .num = thread->tid};
    if (thread->name)
        labels[count++] = (struct pprof_label){.key = "thread name", .str = thread->name};
    return count;
}

uint32_t service_row(struct service *service, const struct cpy_thread *thread, pid_t pid,
                     enum service_split split)
{
    struct pprof_label labels[3];
    size_t count = fill_labels(labels, thread, pid, split);
    uint32_t stack, row;

    if (intern_stack(service->profile, thread, &stack) == PPROF_OK &&
        pprof_row(service->profile, stack, labels, count, &row) == PPROF_OK)
        return row;
    service->overflow++;
    return service->overflow_row;
}

uint32_t service_unseen_row(struct service *service, pid_t pid, enum service_split split)
{
    struct pprof_label labels[3];
    size_t count = fill_labels(labels, NULL, pid, split);
    uint32_t stack, row;

    if (count > 0 && made_up_stack(service, unseen_name, &stack) == PPROF_OK &&
        pprof_row(service->profile, stack, labels, count, &row) == PPROF_OK)
        return row;
    return service->unseen_row;
}
