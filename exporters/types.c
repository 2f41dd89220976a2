/* SPDX-License-Identifier: Apache-2.0 */
/* types.c - in what the types of exporter differ, as data alone: conf/ reads it. */
#include <string.h>

#include "exporters/settings.h"

const struct exporter_type exporter_types[EXPORTER_TYPES] = {
    [EXPORTER_STORE] =
        {
            .name = "store",
            .form = EXPORTER_WHOLE,
            .gil_form = EXPORTER_WHOLE,
            .is_store = true,
        },
    [EXPORTER_PYROSCOPE] =
        {
            .name = "pyroscope",
            .form = EXPORTER_PER_TYPE,
            .gil_form = EXPORTER_PER_TYPE_GIL,
            .path = "push.v1.PusherService/Push",
            .needs_url = true,
            .spread = true,
            .is_pyroscope = true,
        },
    [EXPORTER_FILE] =
        {
            .name = "file",
            .form = EXPORTER_PER_TYPE,
            .gil_form = EXPORTER_PER_TYPE_GIL,
        },
    [EXPORTER_OTLP] =
        {
            .name = "otlp",
            .form = EXPORTER_REQUEST,
            .gil_form = EXPORTER_REQUEST_GIL,
            .path = "v1development/profiles",
            .grpc_path = "opentelemetry.proto.collector.profiles.v1development.ProfilesService/"
                         "Export",
            .needs_url = true,
            .spread = true,
            .reads_otel = true,
        },
};

bool exporter_is_grpc(const struct exporter_settings *settings)
{
    return settings->type->grpc_path && settings->protocol &&
           strcmp(settings->protocol, "grpc") == 0;
}

const char *exporter_path(const struct exporter_settings *settings)
{
    if (exporter_is_grpc(settings))
        return settings->type->grpc_path;
    return settings->legacy ? settings->legacy : settings->type->path;
}
