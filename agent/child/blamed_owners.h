/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blamed_owners.h - owners (owner.h) whose processes recently blocked a child that read them, and
 * the pause during which no process of such an owner is read.
 *
 * A blocked child is killed and another one started, which costs CPU time. So the
 * BLAMED_OWNERS_FREE-th block of an owner and each later one begin a pause: 2 s at first, doubled
 * each time, at most 60 s. The first blocks begin none, because a host that is short of memory for
 * a moment blocks reads, too. An owner is forgotten 60 s after its last block and pause.
 *
 * Shape:   all zero bytes is an empty table; nothing to free.
 * Units:   now_ns is CLOCK_MONOTONIC, read by the caller.
 * Cost:    a walk of BLAMED_OWNERS_MAX entries at most.
 */
#ifndef AGENT_CHILD_BLAMED_OWNERS_H
#define AGENT_CHILD_BLAMED_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLAMED_OWNERS_MAX = 64, BLAMED_OWNERS_FREE = 3 };

/*
 * Cache: owners of processes that have blocked a child
 * Key:   owner_hash (owner.h)
 * Ends:  60 s after the last block and pause; a full table replaces the owner with the oldest block
 * Test:  tests/unit/child/test_blamed_owners.c: forgets_who_has_not_blocked_for_a_minute
 */
struct blamed_owner {
    uint64_t owner;      /* owner_hash */
    unsigned blocks;     /* children blocked since the entry was made */
    uint64_t blocked_ns; /* the last block */
    uint64_t pause_ns;   /* length of the pause, which begins at blocked_ns; 0: none */
};

struct blamed_owners {
    struct blamed_owner all[BLAMED_OWNERS_MAX];
    size_t count;
};

/* Counts a child that a process of `owner` blocked (0: the owner is not known). Gives the owner's
 * blocks so far; from BLAMED_OWNERS_FREE on a pause has begun. */
unsigned blamed_owners_add(struct blamed_owners *owners, uint64_t owner, uint64_t now_ns);

/* Number of blocks in the owner's entry; 0: it has none, or `owner` is 0. */
unsigned blamed_owners_blocks(struct blamed_owners *owners, uint64_t owner, uint64_t now_ns);

/* True during a pause of `owner`. 0: false. */
bool blamed_owners_pause(struct blamed_owners *owners, uint64_t owner, uint64_t now_ns);

#endif
