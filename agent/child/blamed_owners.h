/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blamed_owners.h - owners (owner.h) whose processes have blocked a child of ours lately, and how
 * long their other processes are left alone for it.
 *
 * Each child that is killed costs the start of another. So the BLAMED_OWNERS_FREE-th block and each
 * after it begin a pause: of two seconds at first, twice as long each time, of a minute at most.
 * The blocks before them cost the owner nothing, as a host that is out of memory for a moment
 * blocks reads, too. An owner that has not blocked for a minute after its pause is forgotten.
 *
 * Shape:   zeroed at first; nothing to free.
 * Units:   all instants are of one monotonic clock, which the caller reads.
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
 * Ends:  as said above; the one that blocked longest ago makes room
 * Test:  tests/unit/child/test_blamed_owners.c: forgets_who_has_not_blocked_for_a_minute
 */
struct blamed_owner {
    uint64_t owner;
    unsigned blocks;
    uint64_t blocked_ns; /* the last of them */
    uint64_t pause_ns;   /* from then on; 0: none */
};

struct blamed_owners {
    struct blamed_owner all[BLAMED_OWNERS_MAX];
    size_t count;
};

/* A process of that owner (0: it is not known) has blocked a child. Gives how many have lately;
 * from BLAMED_OWNERS_FREE on a pause has begun. */
unsigned blamed_owners_add(struct blamed_owners *owners, uint64_t owner, uint64_t now_ns);

/* How many blocks of that owner there were lately; 0 for an owner that is not known. */
unsigned blamed_owners_blocks(struct blamed_owners *owners, uint64_t owner, uint64_t now_ns);

/* True during a pause of that owner. */
bool blamed_owners_pause(struct blamed_owners *owners, uint64_t owner, uint64_t now_ns);

#endif
