/* SPDX-License-Identifier: Apache-2.0 */
/* change.c - see change.h. */
#include "agent/delivery/change.h"

#include <stdlib.h>
#include <string.h>

#include "agent/delivery/internal.h"

/* An exporter that is no more. */
struct leaver {
    struct lane *lane; /* owned */
    struct lane *heir; /* borrowed; NULL: it has none */
};

struct delivery_left {
    struct delivery_world world;
    struct leaver *leavers; /* owned */
    size_t count;
};

struct delivery_change {
    struct delivery *delivery;  /* borrowed */
    struct lane **lanes;        /* owned: those that there will be */
    bool *added;                /* owned: of these, the ones that are not there yet */
    bool *kept;                 /* owned: of those of before */
    struct delivery_left *left; /* owned: with room for all of before */
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
    free(change->lanes);
    free(change->added);
    free(change->kept);
    free(change);
}

struct delivery_change *delivery_change_new(struct delivery *delivery, size_t count)
{
    struct delivery_change *change = calloc(1, sizeof(*change));

    if (!change)
        return NULL;
    change->delivery = delivery;
    change->capacity = count;
    change->lanes = calloc(count + 1, sizeof(struct lane *));
    change->added = calloc(count + 1, sizeof(bool));
    change->kept = calloc(delivery->count + 1, sizeof(bool));
    change->left = calloc(1, sizeof(*change->left));
    if (change->left)
        change->left->leavers = calloc(delivery->count + 1, sizeof(struct leaver));
    if (change->lanes && change->added && change->kept && change->left && change->left->leavers)
        return change;
    free_change(change);
    return NULL;
}

void delivery_change_keep(struct delivery_change *change, size_t i)
{
    change->lanes[change->count++] = change->delivery->lanes[i];
    change->kept[i] = true;
}

bool delivery_change_add(struct delivery_change *change, const char *name, enum exporter_form form,
                         const struct delivery_sink *sink, const struct delivery_limits *limits)
{
    if (!delivery_make_lane(change->delivery, name, form, sink, limits,
                            &change->lanes[change->count]))
        return false;
    change->added[change->count++] = true;
    return true;
}

/* The new lane that goes on with what an old one has; NULL: none does. */
static struct lane *heir_of(const struct delivery_change *change, const struct lane *lane)
{
    for (size_t i = 0; i < change->count; i++) {
        if (change->added[i] && lane_form(change->lanes[i]) == lane_form(lane) &&
            strcmp(lane_name(change->lanes[i]), lane_name(lane)) == 0)
            return change->lanes[i];
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
        struct lane *lane = delivery->lanes[i], *heir;

        if (change->kept[i])
            continue;
        heir = heir_of(change, lane);
        if (heir)
            lane_inherit(heir, lane);
        left->leavers[left->count++] = (struct leaver){lane, heir};
    }
}

static void hand_on(const struct delivery_left *left, uint64_t deadline_ns)
{
    for (size_t i = 0; i < left->count; i++) {
        if (left->leavers[i].heir)
            lane_leave(left->leavers[i].lane);
    }
    for (size_t i = 0; i < left->count; i++) {
        if (!left->leavers[i].heir)
            continue;
        (void)lane_wait(left->leavers[i].lane, deadline_ns);
        lane_bequeath(left->leavers[i].lane, left->leavers[i].heir);
    }
}

struct delivery_left *delivery_change_apply(struct delivery_change *change, uint64_t deadline_ns)
{
    struct delivery *delivery = change->delivery;
    struct delivery_left *left = change->left;

    find_leavers(change);
    if (delivery->shelf)
        shelf_set_lanes(delivery->shelf, change->lanes, change->count);
    free(delivery->lanes);
    delivery->lanes = change->lanes;
    delivery->count = change->count;
    hand_on(left, deadline_ns);
    change->lanes = NULL;
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
        lane_stop(change->lanes[i]); /* which has had nothing to do, and ends at once */
        (void)lane_wait(change->lanes[i], UINT64_MAX);
        (void)lane_free(change->lanes[i]);
    }
    free_change(change);
}

bool delivery_left_end(struct delivery_left *left, uint64_t deadline_ns)
{
    uint64_t now_ns = left->world.now_ns(left->world.ctx);
    uint64_t last_ns = (deadline_ns > now_ns ? deadline_ns : now_ns) + GRACE_NS;
    bool whole = true;

    for (size_t i = 0; i < left->count; i++) {
        if (!left->leavers[i].heir)
            lane_hurry(left->leavers[i].lane, true);
    }
    for (size_t i = 0; i < left->count; i++) {
        if (left->leavers[i].heir)
            continue;
        (void)lane_wait(left->leavers[i].lane, deadline_ns);
        lane_retire(left->leavers[i].lane);
    }
    for (size_t i = 0; i < left->count; i++) {
        if (!lane_wait(left->leavers[i].lane, 0))
            lane_stop(left->leavers[i].lane);
    }
    for (size_t i = 0; i < left->count; i++) {
        struct lane *lane = left->leavers[i].lane;

        (void)lane_wait(lane, last_ns);
        (void)delivery_take_stock(&left->world, lane);
        whole = lane_free(lane) && whole;
    }
    free_left(left);
    return whole;
}
