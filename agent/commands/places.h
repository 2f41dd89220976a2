/* SPDX-License-Identifier: Apache-2.0 */
/* places.h - the directories, sockets and addresses that settings name. */
#ifndef AGENT_COMMANDS_PLACES_H
#define AGENT_COMMANDS_PLACES_H

#include "conf/conf.h"

struct place {
    const char *name;                                  /* of the key or the exporter */
    const char *path;                                  /* of the directory, or as can_be wants it */
    bool (*can_be)(const char *path, struct err *err); /* of a socket; NULL: it is a directory */
    uint64_t min_free_bytes;                           /* on its disk; 0: no matter */
};

/* Calls `each` for all of them. Lends the place until it returns. */
void places_each(const struct conf *conf, void (*each)(void *ctx, const struct place *place),
                 void *ctx);

/* True unless a file stands in the way, say, or the host has no such address. Makes nothing. False:
 * `err` says what, and what to do. */
MUST_CHECK bool place_can_be(const struct place *place, struct err *err);

#endif
