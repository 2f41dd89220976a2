/* SPDX-License-Identifier: Apache-2.0 */
/* places.h - the directories, sockets and addresses that settings name. */
#ifndef AGENT_COMMANDS_PLACES_H
#define AGENT_COMMANDS_PLACES_H

#include "conf/conf.h"

struct place {
    const char *name;                                  /* key of the setting, or "exporter NAME" */
    const char *path;                                  /* directory, or address of the socket */
    bool (*can_be)(const char *path, struct err *err); /* checks a socket; NULL: a directory */
    uint64_t min_free_bytes;                           /* least free space on its disk; 0: none */
};

/* Calls `each` for each place. Lends the place until `each` returns. */
void places_each(const struct conf *conf, void (*each)(void *ctx, const struct place *place),
                 void *ctx);

/* Checks, without making anything, that the place can be made or used. False: `err` says why not,
 * for instance a file in the way or an address that the host does not have, and what to do. */
MUST_CHECK bool place_can_be(const struct place *place, struct err *err);

#endif
