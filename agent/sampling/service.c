/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - see service.h. */
#include "agent/sampling/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "pprof/feed.h"

const struct pprof_type service_types[VALUES] = {
    [VALUE_SAMPLES] = {"samples", "count"}, [VALUE_WALL] = {"wall", "nanoseconds"},
    [VALUE_CPU] = {"cpu", "nanoseconds"},   [VALUE_GIL] = {"gil", "nanoseconds"},
    [VALUE_WAIT] = {"wait", "nanoseconds"}, [VALUE_EXCEPTION] = {"exception", "nanoseconds"},
};

static const char pid_key[] = "pid", thread_id_key[] = "thread id",
                  thread_name_key[] = "thread name";

const struct pprof_rename service_plain_names[] = {
    {pid_key, "process_pid"},
    {thread_id_key, "thread_id"},
    {thread_name_key, "thread_name"},
    {NULL, NULL},
};

static const char overflow_name[] = "<more stacks than a profile may have>";
static const char cut_name[] = "<deeper frames>";

/* What a thread that has no Python frame runs. */
static const struct cpy_code native_code = {UINT64_MAX, "<native>", "~", 0};
static const struct cpy_frame native_frame = {.code = &native_code};

/* The service that all share for which there is no room. */
static const char others[] = "pystrobe-other-services";

/* The row of a made-up frame alone. */
static bool made_up_row(struct service *service, const char *name, uint32_t *out)
{
    uint32_t function, location, stack;

    return pprof_function(service->profile, name, "", 0, &function) == PPROF_OK &&
           pprof_location(service->profile, function, 0, 0, &location) == PPROF_OK &&
           pprof_stack(service->profile, &location, 1, &stack) == PPROF_OK &&
           pprof_row(service->profile, stack, NULL, 0, out) == PPROF_OK;
}

bool service_begin(struct service *service, int64_t utc_ns, uint64_t now_ns)
{
    pprof_reset(service->profile);
    pprof_timeline_reset(service->timeline);
    service->start_utc_ns = utc_ns;
    service->start_ns = now_ns;
    service->overflow = 0;
    service->owner_bytes = 0;
    pointer_table_clear(&service->split.numbers);
    return made_up_row(service, cpu_class_frame(CPU_BETWEEN), &service->unseen_row) &&
           made_up_row(service, overflow_name, &service->overflow_row);
}

void service_set_owner(struct service *service, uint64_t owner, double bytes)
{
    if (owner == 0 || (service->owner != 0 && bytes <= service->owner_bytes))
        return;
    service->owner = owner;
    service->owner_bytes = bytes;
}

static void service_free(struct service *service)
{
    if (!service)
        return;
    pprof_free(service->profile);
    pprof_timeline_free(service->timeline);
    pointer_table_finish(&service->split.numbers);
    free(service->name);
    free(service);
}

/* Makes a service's time line, if it is to have one. False: out of memory. */
static bool begin_timeline(struct service *service, enum service_value value)
{
    if (value == VALUE_SAMPLES)
        return true;
    service->timeline_value = value;
    service->timeline = pprof_timeline_new(PPROF_TIMELINE_SAMPLES);
    return service->timeline != NULL;
}

static struct service *service_new(const struct services *services, const char *name,
                                   const struct labels *labels, int64_t utc_ns, uint64_t now_ns)
{
    const size_t values = services->values ? services->values : VALUES_USUAL;
    struct service *service = calloc(1, sizeof(*service));

    if (!service)
        return NULL;
    service->name = strdup(name);
    service->labels = *labels;
    if (service->name &&
        pprof_new(service_types, values, SERVICE_PROFILE_MAX, &service->profile) == PPROF_OK &&
        begin_timeline(service, services->timeline_value) && service_begin(service, utc_ns, now_ns))
        return service;
    service_free(service);
    return NULL;
}

static bool has_no_room(const struct services *services)
{
    return services->max && services->count - services->held >= services->max;
}

/* Makes a service, and adds it to the list. */
static struct service *add_service(struct services *services, const char *name,
                                   const struct labels *labels, int64_t utc_ns, uint64_t now_ns)
{
    struct service *service = service_new(services, name, labels, utc_ns, now_ns);

    if (!service)
        return NULL;
    service->next = services->first;
    services->first = service;
    services->count++;
    return service;
}

struct service *services_get_labelled(struct services *services, const char *name,
                                      const struct labels *labels, int64_t utc_ns, uint64_t now_ns)
{
    struct service *service;

    for (service = services->first; service; service = service->next)
        if (!service->held.pid && strcmp(service->name, name) == 0 &&
            labels_equal(&service->labels, labels))
            return service;
    if (has_no_room(services) && strcmp(name, others) != 0)
        return services_get(services, others, utc_ns, now_ns);
    return add_service(services, name, labels, utc_ns, now_ns);
}

struct service *services_get(struct services *services, const char *name, int64_t utc_ns,
                             uint64_t now_ns)
{
    static const struct labels none;

    return services_get_labelled(services, name, &none, utc_ns, now_ns);
}

struct service *services_oldest(const struct services *services)
{
    struct service *service, *oldest = NULL;

    for (service = services->first; service; service = service->next) /* the newest is first */
        if (!service->held.pid)
            oldest = service;
    return oldest;
}

struct service *services_held(const struct services *services, struct proc_id id)
{
    struct service *service;

    for (service = services->held ? services->first : NULL; service; service = service->next)
        if (proc_id_equal(service->held, id))
            return service;
    return NULL;
}

struct service *services_hold(struct services *services, struct proc_id id, const char *name,
                              const struct labels *labels, int64_t utc_ns, uint64_t now_ns)
{
    struct service *service = services_held(services, id);

    if (service)
        return service;
    if (services->held >= SERVICES_HELD_MAX)
        return services_get_labelled(services, name, labels, utc_ns, now_ns);
    service = add_service(services, name, labels, utc_ns, now_ns);
    if (!service)
        return NULL;
    service->held = id;
    services->held++;
    return service;
}

static void unlink_held(struct services *services, struct service *held)
{
    struct service **link = &services->first;

    while (*link != held)
        link = &(*link)->next;
    *link = held->next;
    services->count--;
    services->held--;
}

/* Adds what a profile has to another; what that has no room for, to its overflow row. */
static bool merge_service(struct service *into, const struct service *from)
{
    enum { PIECE = 64 << 10 };
    struct pprof_delta_encoder encoder = {0};
    struct pprof_delta_decoder decoder = {0};
    enum pprof_rc rc = PPROF_OK;
    bool more = true;
    struct buf piece;

    buf_init(&piece, PIECE + PPROF_PIECE_MAX);
    while (rc == PPROF_OK && more) {
        buf_reset(&piece);
        rc = pprof_give(&encoder, from->profile, PIECE, &piece, &more);
        if (rc == PPROF_OK)
            rc = pprof_take(&decoder, into->profile, into->overflow_row, piece.data, piece.size);
    }
    into->overflow += from->overflow + decoder.overflow;
    pprof_delta_encoder_finish(&encoder);
    pprof_delta_decoder_finish(&decoder);
    buf_finish(&piece);
    return rc == PPROF_OK;
}

bool services_release(struct services *services, struct service *held, const char *name,
                      const struct labels *labels)
{
    struct service *service;
    bool merged;

    unlink_held(services, held);
    service = services_get_labelled(services, name, labels, held->start_utc_ns, held->start_ns);
    merged = service && merge_service(service, held);
    if (service && service->period_ns == 0)
        service->period_ns = held->period_ns;
    if (service && service->python[0] == '\0')
        memcpy(service->python, held->python, sizeof(service->python));
    if (service)
        service_set_owner(service, held->owner, held->owner_bytes);
    service_free(held);
    return merged;
}

void services_discard(struct services *services, struct service *held)
{
    unlink_held(services, held);
    service_free(held);
}

void service_set_python(struct service *service, const struct cpy_info *info)
{
    memcpy(service->python, info->version, sizeof(service->python));
    pprof_set_binary(service->profile, info->binary.file, info->binary.build_id);
}

bool service_is_empty(const struct service *service)
{
    return pprof_total(service->profile, VALUE_SAMPLES) == 0 &&
           pprof_total(service->profile, VALUE_CPU) == 0;
}

bool service_defer(struct service *service)
{
    const bool hangs = labels_get(&service->labels, SERVICE_HANG) && !service_is_empty(service);

    service->deferred = service->held.pid || (hangs && !service->deferred);
    return service->deferred;
}

void services_trim(struct services *services)
{
    struct service **link = &services->first, *service;

    while ((service = *link)) {
        if (service->users > 0 || service->deferred) {
            link = &service->next;
            continue;
        }
        *link = service->next;
        services->held -= service->held.pid != 0;
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

enum pprof_rc service_stack_name(struct service *service, struct service_stack *stack,
                                 const char *name)
{
    uint32_t function;
    enum pprof_rc rc;

    if (stack->depth == SERVICE_DEPTH_MAX)
        return PPROF_OK;
    rc = pprof_function(service->profile, name, "", 0, &function);
    return rc == PPROF_OK
               ? pprof_location(service->profile, function, 0, 0, &stack->locations[stack->depth++])
               : rc;
}

/* Appends the instruction that a frame is in: a call of its own, in the same line of its file. */
static enum pprof_rc add_opcode_location(struct service *service, struct service_stack *stack,
                                         const struct cpy_frame *frame)
{
    char name[64];
    uint32_t function;
    enum pprof_rc rc;

    (void)snprintf(name, sizeof(name), "<%s>", frame->opcode);
    rc = pprof_function(service->profile, name, frame->code->file, 0, &function);
    return rc == PPROF_OK ? pprof_location(service->profile, function, frame->line, 0,
                                           &stack->locations[stack->depth++])
                          : rc;
}

enum pprof_rc service_stack_frames(struct service *service, struct service_stack *stack,
                                   const struct cpy_frame *frames, uint32_t depth)
{
    enum pprof_rc rc = PPROF_OK;

    if (stack->depth == 0 && depth > 0 && frames[0].opcode)
        rc = add_opcode_location(service, stack, &frames[0]);
    for (uint32_t i = 0; rc == PPROF_OK && i < depth && stack->depth < SERVICE_DEPTH_MAX; i++)
        rc = intern_frame(service->profile, &frames[i], &stack->locations[stack->depth++]);
    return rc;
}

/*
 * Lays out the stack of a thread. One that begins or ends has no frame yet, or no more: a Pyroscope
 * takes a sample without any, and loses it.
 */
static enum pprof_rc make_thread_stack(struct service *service, const struct cpy_thread *thread,
                                       struct service_stack *stack)
{
    enum pprof_rc rc = thread->depth > 0 || thread->cut
                           ? service_stack_frames(service, stack, thread->frames, thread->depth)
                           : service_stack_frames(service, stack, &native_frame, 1);

    return rc == PPROF_OK && thread->cut ? service_stack_name(service, stack, cut_name) : rc;
}

/* True if the profile tells this process or thread apart, or has room to do so. */
static bool is_split(struct split_set *set, uint64_t number)
{
    if (set->max == 0 || pointer_table_find(&set->numbers, number))
        return true;
    return set->numbers.count < set->max && pointer_table_put(&set->numbers, number, set);
}

enum { TAG_LABELS = 6 };

/* The labels that a tag asks for; gives how many. `thread` may be NULL. */
static size_t fill_labels(struct service *service, struct pprof_label *labels,
                          const struct cpy_thread *thread, const struct service_tag *tag)
{
    uint64_t tid = tag->split == SPLIT_THREAD && thread ? (uint64_t)thread->tid : 0;
    size_t count = 0;

    if (tag->hang)
        labels[count++] = (struct pprof_label){.key = SERVICE_HANG, .str = tag->hang};
    if (tag->role)
        labels[count++] = (struct pprof_label){.key = "role", .str = tag->role};
    if (tag->since)
        labels[count++] = (struct pprof_label){.key = "since", .str = tag->since};
    if (tag->split == SPLIT_NONE)
        return count;
    if (!is_split(&service->split, (uint64_t)tag->pid << 32 | tid)) {
        labels[count++] = (struct pprof_label){.key = "split", .str = "others"};
        return count;
    }
    labels[count++] = (struct pprof_label){.key = pid_key, .num = tag->pid};
    if (tag->split < SPLIT_THREAD || !thread)
        return count;
    if (thread->tid)
        labels[count++] = (struct pprof_label){.key = thread_id_key, .num = thread->tid};
    if (thread->name)
        labels[count++] = (struct pprof_label){.key = thread_name_key, .str = thread->name};
    return count;
}

uint32_t service_stack_row(struct service *service, const struct service_stack *stack,
                           const struct cpy_thread *thread, const struct service_tag *tag)
{
    struct pprof_label labels[TAG_LABELS];
    size_t count = fill_labels(service, labels, thread, tag);
    uint32_t interned, row;

    if (pprof_stack(service->profile, stack->locations, stack->depth, &interned) == PPROF_OK &&
        pprof_row(service->profile, interned, labels, count, &row) == PPROF_OK)
        return row;
    service->overflow++;
    return service->overflow_row;
}

uint32_t service_row(struct service *service, const struct cpy_thread *thread,
                     const struct service_tag *tag)
{
    uint32_t locations[SERVICE_DEPTH_MAX];
    struct service_stack stack = {locations, 0};

    if (make_thread_stack(service, thread, &stack) == PPROF_OK)
        return service_stack_row(service, &stack, thread, tag);
    service->overflow++;
    return service->overflow_row;
}

const char *service_since(const struct service *service, uint64_t start, uint64_t now_ns,
                          char out[SERVICE_SINCE_MAX])
{
    const uint64_t age_ns = start ? proc_age_ns(start) : 0, ran_ns = now_ns - service->start_ns;
    const time_t began =
        (time_t)((service->start_utc_ns + (int64_t)ran_ns - (int64_t)age_ns) / (int64_t)NS_PER_S);
    struct tm tm;

    return age_ns > ran_ns && gmtime_r(&began, &tm) &&
                   strftime(out, SERVICE_SINCE_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0
               ? out
               : NULL;
}

uint32_t service_class_row(struct service *service, enum cpu_class class, const char *detail,
                           const struct service_tag *tag)
{
    const struct service_tag plain = {
        .pid = tag->pid, .split = tag->split, .role = tag->role, .since = tag->since};
    struct pprof_label labels[TAG_LABELS];
    size_t count = fill_labels(service, labels, NULL, &plain);
    uint32_t locations[2], stack, row;
    struct service_stack frames = {locations, 0};
    enum pprof_rc rc = PPROF_OK;

    if (detail && detail[0])
        rc = service_stack_name(service, &frames, detail);
    if (rc == PPROF_OK)
        rc = service_stack_name(service, &frames, cpu_class_frame(class));
    if (rc == PPROF_OK &&
        pprof_stack(service->profile, locations, frames.depth, &stack) == PPROF_OK &&
        pprof_row(service->profile, stack, labels, count, &row) == PPROF_OK)
        return row;
    return service->unseen_row;
}
