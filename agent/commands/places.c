/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - see places.h. */
#include "agent/commands/places.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "agent/serve/control_socket.h"
#include "agent/serve/web_listen.h"
#include "base/file.h"
#include "base/folder.h"

static void place_of_exporter(const struct exporter_settings *exporter,
                              void (*each)(void *ctx, const struct place *place), void *ctx)
{
    char name[128], folder[PATH_MAX];
    struct place place = {.name = name, .path = exporter->path};
    int size;

    (void)snprintf(name, sizeof(name), "exporter %.64s", exporter->name);
    if (exporter->pattern) {
        size = (int)(file_base_name(exporter->pattern) - exporter->pattern);
        (void)snprintf(folder, sizeof(folder), "%.*s", size > 1 ? size - 1 : 1, exporter->pattern);
        place.path = folder;
    }
    if (place.path)
        each(ctx, &place);
}

void places_each(const struct conf *conf, void (*each)(void *ctx, const struct place *place),
                 void *ctx)
{
    struct place spool = {.name = "spool",
                          .path = conf->agent.spool,
                          .min_free_bytes = conf->agent.spool_min_free_bytes};
    struct place control = {
        .name = "control", .path = conf->agent.control, .can_be = control_socket_can_be};
    struct place listen = {
        .name = "listen", .path = conf->http.listen, .can_be = web_listen_can_be};

    if (spool.path && strcmp(spool.path, "off") != 0)
        each(ctx, &spool);
    if (control.path)
        each(ctx, &control);
    if (listen.path)
        each(ctx, &listen);
    for (size_t i = 0; i < conf->exporter_count; i++)
        place_of_exporter(&conf->exporters[i], each, ctx);
}

bool place_can_be(const struct place *place, struct err *err)
{
    return place->can_be ? place->can_be(place->path, err) : folder_can_be(place->path, err);
}
