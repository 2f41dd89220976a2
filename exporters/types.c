/* SPDX-License-Identifier: Apache-2.0 */
/* types.c - in what the types of exporter differ, as data alone: conf/ reads it. */
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
            .needs_url = true,
            .spread = true,
            .reads_otel = true,
        },
};
