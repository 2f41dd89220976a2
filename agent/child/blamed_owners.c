/* SPDX-License-Identifier: Apache-2.0 */
/* blamed_owners.c - see blamed_owners.h. */
#include "agent/child/blamed_owners.h"

#include "base/time_units.h"

#define PAUSE_FIRST_NS (2 * NS_PER_S)
#define PAUSE_MAX_NS   (60 * NS_PER_S)
#define REMEMBERED_NS  (60 * NS_PER_S)

/* The entry of an owner; NULL: it has none, or it is forgotten now. */
static struct blamed_owner *find_blamed_owner(struct blamed_owners *owners, uint64_t owner,
                                              uint64_t now_ns)
{
    struct blamed_owner *entry;

    for (size_t i = 0; i < owners->count; i++) {
        entry = &owners->all[i];
        if (entry->owner != owner)
            continue;
        if (now_ns < entry->blocked_ns + entry->pause_ns + REMEMBERED_NS)
            return entry;
        *entry = owners->all[--owners->count];
        return NULL;
    }
    return NULL;
}

/* Room for one more. */
static struct blamed_owner *blamed_owner_room(struct blamed_owners *owners)
{
    struct blamed_owner *oldest = &owners->all[0];

    if (owners->count < BLAMED_OWNERS_MAX)
        return &owners->all[owners->count++];
    for (size_t i = 1; i < BLAMED_OWNERS_MAX; i++)
        if (owners->all[i].blocked_ns < oldest->blocked_ns)
            oldest = &owners->all[i];
    return oldest;
}

unsigned blamed_owners_add(struct blamed_owners *owners, uint64_t owner, uint64_t now_ns)
{
    struct blamed_owner *entry = find_blamed_owner(owners, owner, now_ns);

    if (!entry) {
        entry = blamed_owner_room(owners);
        *entry = (struct blamed_owner){.owner = owner};
    }
    entry->blocks++;
    entry->blocked_ns = now_ns;
    if (entry->blocks >= BLAMED_OWNERS_FREE)
        entry->pause_ns = entry->pause_ns ? entry->pause_ns * 2 : PAUSE_FIRST_NS;
    if (entry->pause_ns > PAUSE_MAX_NS)
        entry->pause_ns = PAUSE_MAX_NS;
    return entry->blocks;
}

unsigned blamed_owners_blocks(struct blamed_owners *owners, uint64_t owner, uint64_t now_ns)
{
    const struct blamed_owner *entry = owner ? find_blamed_owner(owners, owner, now_ns) : NULL;

    return entry ? entry->blocks : 0;
}

bool blamed_owners_pause(struct blamed_owners *owners, uint64_t owner, uint64_t now_ns)
{
    const struct blamed_owner *entry = owner ? find_blamed_owner(owners, owner, now_ns) : NULL;

    return entry && now_ns < entry->blocked_ns + entry->pause_ns;
}
