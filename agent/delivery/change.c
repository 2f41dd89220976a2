/* SPDX-License-Identifier: Apache-2.0 */
/* change.c - see change.h. */
#include "agent/delivery/change.h"

#include <stdlib.h>
#include <string.h>

#include "agent/delivery/internal.h"

/* An exporter that is no more. */
struct leaver {
    struct export_worker *worker;    /* owned */
    struct export_worker *successor; /* borrowed; NULL: it has none */
};

struct delivery_left {
    struct delivery_world world;
    struct leaver *leavers; /* owned */
    size_t count;
};

struct delivery_change {
    struct delivery *delivery;      /* borrowed */
    struct export_worker **workers; /* owned: those that there will be */
    bool *added;                    /* owned: of these, the ones that are not there yet */
    bool *reused;                   /* owned: of those of before */
    struct delivery_left *left;     /* owned: with room for all of before */
    size_t count, capacity;
};

static void free_left(struct delivery_left *left)
{
    if (left)
        free(left->leavers);
    free(left);
}

static void free_change(struct delivery_change *change)
{
    free_left(change->left);
    free(change->workers);
    free(change->added);
    free(change->reused);
    free(change);
}

struct delivery_change *delivery_change_new(struct delivery *delivery, size_t count)
{
    struct delivery_change *change = calloc(1, sizeof(*change));

    if (!change)
        return NULL;
    change->delivery = delivery;
    change->capacity = count;
    change->workers = calloc(count + 1, sizeof(struct export_worker *));
    change->added = calloc(count + 1, sizeof(bool));
    change->reused = calloc(delivery->count + 1, sizeof(bool));
    change->left = calloc(1, sizeof(*change->left));
    if (change->left)
        change->left->leavers = calloc(delivery->count + 1, sizeof(struct leaver));
    if (change->workers && change->added && change->reused && change->left && change->left->leavers)
        return change;
    free_change(change);
    return NULL;
}

void delivery_change_reuse(struct delivery_change *change, size_t i)
{
    change->workers[change->count++] = change->delivery->workers[i];
    change->reused[i] = true;
}

bool delivery_change_add(struct delivery_change *change, const char *name, enum exporter_form form,
                         const struct delivery_sink *sink, const struct delivery_limits *limits)
{
    if (!delivery_make_worker(change->delivery, name, form, sink, limits,
                              &change->workers[change->count]))
        return false;
    change->added[change->count++] = true;
    return true;
}

/* The new lane that goes on with what an old one has; NULL: none does. */
static struct export_worker *successor_of(const struct delivery_change *change,
                                          const struct export_worker *worker)
{
    for (size_t i = 0; i < change->count; i++) {
        if (change->added[i] &&
            export_worker_form(change->workers[i]) == export_worker_form(worker) &&
            strcmp(export_worker_name(change->workers[i]), export_worker_name(worker)) == 0)
            return change->workers[i];
    }
    return NULL;
}

/* Sorts out who leaves, and has the heirs wait for what they get. */
static void find_leavers(struct delivery_change *change)
{
    const struct delivery *delivery = change->delivery;
    struct delivery_left *left = change->left;

    left->world = delivery->world;
    for (size_t i = 0; i < delivery->count; i++) {
        struct export_worker *worker = delivery->workers[i], *successor;

        if (change->reused[i])
            continue;
        successor = successor_of(change, worker);
        if (successor)
            export_worker_take_over(successor, worker);
        left->leavers[left->count++] = (struct leaver){worker, successor};
    }
}

static void move_queues_to_successors(const struct delivery_left *left, uint64_t deadline_ns)
{
    for (size_t i = 0; i < left->count; i++) {
        if (left->leavers[i].successor)
            export_worker_leave(left->leavers[i].worker);
    }
    for (size_t i = 0; i < left->count; i++) {
        if (!left->leavers[i].successor)
            continue;
        (void)export_worker_wait(left->leavers[i].worker, deadline_ns);
        export_worker_hand_over(left->leavers[i].worker, left->leavers[i].successor);
    }
}

struct delivery_left *delivery_change_apply(struct delivery_change *change, uint64_t deadline_ns)
{
    struct delivery *delivery = change->delivery;
    struct delivery_left *left = change->left;

    find_leavers(change);
    if (delivery->spooler)
        spooler_set_workers(delivery->spooler, change->workers, change->count);
    free(delivery->workers);
    delivery->workers = change->workers;
    delivery->count = change->count;
    move_queues_to_successors(left, deadline_ns);
    change->workers = NULL;
    change->left = NULL;
    free_change(change);
    return left;
}

void delivery_change_abandon(struct delivery_change *change)
{
    if (!change)
        return;
    for (size_t i = 0; i < change->count; i++) {
        if (!change->added[i])
            continue;
        export_worker_stop(change->workers[i]); /* which has had nothing to do, and ends at once */
        (void)export_worker_wait(change->workers[i], UINT64_MAX);
        (void)export_worker_free(change->workers[i]);
    }
    free_change(change);
}

bool delivery_left_end(struct delivery_left *left, uint64_t deadline_ns)
{
    uint64_t now_ns = left->world.now_ns(left->world.ctx);
    uint64_t last_ns = (deadline_ns > now_ns ? deadline_ns : now_ns) + GRACE_NS;
    bool whole = true;

    for (size_t i = 0; i < left->count; i++) {
        if (!left->leavers[i].successor)
            export_worker_expedite(left->leavers[i].worker, true);
    }
    for (size_t i = 0; i < left->count; i++) {
        if (left->leavers[i].successor)
            continue;
        (void)export_worker_wait(left->leavers[i].worker, deadline_ns);
        export_worker_retire(left->leavers[i].worker);
    }
    for (size_t i = 0; i < left->count; i++) {
        if (!export_worker_wait(left->leavers[i].worker, 0))
            export_worker_stop(left->leavers[i].worker);
    }
    for (size_t i = 0; i < left->count; i++) {
        struct export_worker *worker = left->leavers[i].worker;

        (void)export_worker_wait(worker, last_ns);
        (void)delivery_take_stock(&left->world, worker);
        whole = export_worker_free(worker) && whole;
    }
    free_left(left);
    return whole;
}
