/* SPDX-License-Identifier: Apache-2.0 */
/* types.c - in what the types of exporter differ, as data alone: conf/ reads it. */
#include "base/time_units.h"
#include "exporters/settings.h"

/* A Pyroscope takes no profile that began over an hour ago: ten minutes are for the send. */
#define PYROSCOPE_AGE_NS (50 * 60 * NS_PER_S)

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
            .max_age_ns = PYROSCOPE_AGE_NS,
            .path = "push.v1.PusherService/Push",
            .needs_url = true,
            .spread = true,
            .plain_names = true,
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
