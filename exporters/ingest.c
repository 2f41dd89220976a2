/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.c - see ingest.h. */
#include "exporters/ingest.h"

#include <string.h>

#include "base/time_units.h"

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static void add_encoded(struct buf *out, char byte)
{
    if (byte && strchr(ALNUM "-_.~", byte))
        buf_add(out, &byte, 1);
    else
        buf_add_fmt(out, "%%%02X", (unsigned char)byte);
}

/* What is not of `allowed` becomes "_"; NULL: what would end a value does. */
static void add_allowed_chars(struct buf *out, const char *text, const char *allowed)
{
    for (; *text; text++) {
        bool keep = allowed ? strchr(allowed, *text) != NULL
                            : !strchr(",{}", *text) && (unsigned char)*text >= 0x20;

        add_encoded(out, keep ? *text : '_');
    }
}

static void add_ingest_label(struct buf *out, const char *name, const char *value, bool *first)
{
    add_encoded(out, *first ? '{' : ',');
    *first = false;
    add_allowed_chars(out, name, ALNUM "_.");
    add_encoded(out, '=');
    add_allowed_chars(out, value, NULL);
}

static void add_ingest_name(const struct exporter_profile *profile,
                            const struct push_labels *labels, struct buf *out)
{
    static const char in_names[] = ALNUM "_.-/";
    const char *service =
        profile->service && profile->service[0] ? profile->service : "unknown_service";
    bool first = true;

    add_allowed_chars(out, service, in_names);
    if (service[strspn(service, in_names)] != '\0') /* a label may hold what a name may not */
        add_ingest_label(out, "service_name", service, &first);
    for (size_t i = 0; i < labels->count; i++) {
        const struct label *label = &labels->items[i];

        if (strncmp(label->name, "__", 2) != 0 && strcmp(label->name, "service_name") != 0)
            add_ingest_label(out, label->name, label->value, &first);
    }
    if (!first)
        add_encoded(out, '}');
}

/*
 * Old servers divide what they call samples by the rate: with nanoseconds as samples
 * and as many a second, that is seconds.
 */
void ingest_query(const struct exporter_profile *profile, const struct push_labels *labels,
                  struct buf *out)
{
    buf_add_str(out, "name=");
    add_ingest_name(profile, labels, out);
    buf_add_fmt(out,
                "&from=%lld&until=%lld&spyName=pystrobe&sampleRate=1000000000&units=samples"
                "&aggregationType=sum",
                (long long)(profile->start_ns / (int64_t)NS_PER_S),
                (long long)(profile->end_ns / (int64_t)NS_PER_S));
}

void ingest_body(const struct exporter_profile *profile, const char *boundary, struct buf *out)
{
    buf_add_fmt(out,
                "--%s\r\n"
                "Content-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
                "Content-Type: application/octet-stream\r\n\r\n",
                boundary);
    buf_add(out, profile->bytes, profile->size);
    buf_add_fmt(out,
                "\r\n--%s\r\n"
                "Content-Disposition: form-data; name=\"sample_type_config\"; "
                "filename=\"sample_type_config.json\"\r\n"
                "Content-Type: application/json\r\n\r\n"
                "{\"%s\":{\"units\":\"samples\",\"display-name\":\"%s\",\"aggregation\":\"sum\","
                "\"sampled\":true}}"
                "\r\n--%s--\r\n",
                boundary, profile->type, profile->type, boundary);
}
