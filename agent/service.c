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

const char service_unseen[] = "<CPU time between samples>";
static const char overflow_name[] = "<more stacks than a profile may have>";
static const char cut_name[] = "<deeper frames>";
static const char frameless_name[] = "<no Python frame>";

const char services_others[] = "pystrobe-other-services";

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
    service->split.count = 0;
    if (service->split.keys)
        memset(service->split.keys, 0, service->split.capacity * sizeof(*service->split.keys));
    return made_up_row(service, service_unseen, &service->unseen_row) &&
           made_up_row(service, overflow_name, &service->overflow_row);
}

static void service_free(struct service *service)
{
    if (!service)
        return;
    pprof_free(service->profile);
    free(service->split.keys);
    free(service->name);
    free(service);
}

static struct service *service_new(const char *name, const struct labels *labels, int64_t utc_ns,
                                   uint64_t now_ns)
{
    struct service *service = calloc(1, sizeof(*service));

    if (!service)
        return NULL;
    service->name = strdup(name);
    service->labels = *labels;
    if (service->name &&
        pprof_new(service_types, VALUES, SERVICE_PROFILE_MAX, &service->profile) == PPROF_OK &&
        service_begin(service, utc_ns, now_ns))
        return service;
    service_free(service);
    return NULL;
}

struct service *services_get_labelled(struct services *services, const char *name,
                                      const struct labels *labels, int64_t utc_ns, uint64_t now_ns)
{
    struct service *service;

    for (service = services->first; service; service = service->next)
        if (strcmp(service->name, name) == 0 && labels_equal(&service->labels, labels))
            return service;
    if (services->max && services->count >= services->max && strcmp(name, services_others) != 0)
        return services_get(services, services_others, utc_ns, now_ns);
    service = service_new(name, labels, utc_ns, now_ns);
    if (!service)
        return NULL;
    service->next = services->first;
    services->first = service;
    services->count++;
    return service;
}

struct service *services_get(struct services *services, const char *name, int64_t utc_ns,
                             uint64_t now_ns)
{
    static const struct labels none;

    return services_get_labelled(services, name, &none, utc_ns, now_ns);
}

void services_trim(struct services *services)
{
    struct service **link = &services->first, *service;

    while ((service = *link)) {
        if (service->users > 0) {
            link = &service->next;
            continue;
        }
        *link = service->next;
        service_free(service);
        services->count--;
    }
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

/*
 * Interns the stack of a thread, leaf first. One that begins or ends has no frame yet, or no more:
 * a Pyroscope takes a sample without any, and loses it.
 */
static enum pprof_rc intern_stack(struct pprof *profile, const struct cpy_thread *thread,
                                  uint32_t *out)
{
    const char *made_up = thread->cut ? cut_name : thread->depth == 0 ? frameless_name : NULL;
    uint32_t locations[CPY_DEPTH_MAX + 1], function, depth;
    enum pprof_rc rc = PPROF_OK;

    for (depth = 0; rc == PPROF_OK && depth < thread->depth; depth++)
        rc = intern_frame(profile, &thread->frames[depth], &locations[depth]);
    if (rc == PPROF_OK && made_up) {
        rc = pprof_function(profile, made_up, "", 0, &function);
        if (rc == PPROF_OK)
            rc = pprof_location(profile, function, 0, 0, &locations[depth++]);
    }
    return rc == PPROF_OK ? pprof_stack(profile, locations, depth, out) : rc;
}

/* Makes the set of keys when the first comes. */
static bool make_set(struct split_set *set)
{
    size_t capacity = 16;

    while (capacity < 2 * set->max)
        capacity *= 2;
    set->keys = set->keys ? set->keys : calloc(capacity, sizeof(*set->keys));
    set->capacity = capacity;
    return set->keys != NULL;
}

/* True if the profile tells this process or thread apart, or has room to do so. */
static bool is_told_apart(struct split_set *set, uint64_t key)
{
    size_t place;

    if (set->max == 0)
        return true;
    if (!make_set(set))
        return false;
    place = (size_t)(key * 0x9e3779b97f4a7c15U >> 32) & (set->capacity - 1);
    for (; set->keys[place]; place = (place + 1) & (set->capacity - 1))
        if (set->keys[place] == key)
            return true;
    if (set->count >= set->max)
        return false;
    set->keys[place] = key;
    set->count++;
    return true;
}

/* The labels that `split` asks for; gives how many. `thread` may be NULL. */
static size_t fill_labels(struct service *service, struct pprof_label *labels,
                          const struct cpy_thread *thread, pid_t pid, enum service_split split)
{
    uint64_t tid = split == SPLIT_THREAD && thread ? (uint64_t)thread->tid : 0;
    size_t count = 0;

    if (split == SPLIT_NONE)
        return 0;
    if (!is_told_apart(&service->split, (uint64_t)pid << 32 | tid)) {
        labels[count++] = (struct pprof_label){.key = "split", .str = "others"};
        return count;
    }
    /* Numbers, not texts: Pyroscope makes a series of every text. */
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
    size_t count = fill_labels(service, labels, thread, pid, split);
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
    size_t count = fill_labels(service, labels, NULL, pid, split);
    uint32_t stack, row;

    if (count > 0 && made_up_stack(service, service_unseen, &stack) == PPROF_OK &&
        pprof_row(service->profile, stack, labels, count, &row) == PPROF_OK)
        return row;
    return service->unseen_row;
}
