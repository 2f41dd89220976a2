/* SPDX-License-Identifier: Apache-2.0 */
/* exporter.c - knows which types of exporter there are, and passes calls on to them. */
#include "exporters/exporter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/http/client.h"
#include "exporters/http/curl_api.h"
#include "exporters/http/hidden.h"
#include "exporters/type.h"

/* To add a type, add a row. */
static const struct exporter_type *const types[] = {&store_type, &pyroscope_type, &file_type,
                                                    &otlp_type};

enum { TYPE_COUNT = sizeof(types) / sizeof(types[0]) };

struct exporter {
    const struct exporter_type *type; /* static */
    void *self;                       /* owned: of that type */
};

enum exporter_rc exporter_global_init(struct err *err)
{
    enum exporter_rc rc = EXPORTER_OK;

    if (!curl_api_load(err))
        return EXPORTER_BAD_CONFIG;
    hidden_keys();
    if (libcurl.global_init_mem(CURL_GLOBAL_DEFAULT, hidden_malloc, hidden_free, hidden_realloc,
                                hidden_strdup, hidden_calloc) != CURLE_OK) {
        err_set(err, "libcurl cannot be used");
        rc = EXPORTER_NOMEM;
    }
    return rc;
}

const char *exporter_curl_version(void)
{
    return curl_api_load(NULL) ? libcurl.version() : "no libcurl";
}

char *exporter_hide(const char *secret)
{
    return hidden_strdup(secret);
}

void exporter_forget(char *secret)
{
    hidden_free(secret);
}

void exporter_global_finish(void)
{
    libcurl.global_cleanup();
}

static enum exporter_rc find_exporter_type(const char *name, const struct exporter_type **out,
                                           struct err *err)
{
    char known[128] = "";
    size_t used = 0;

    for (size_t i = 0; name && i < TYPE_COUNT; i++) {
        if (strcmp(types[i]->name, name) == 0) {
            *out = types[i];
            return EXPORTER_OK;
        }
    }
    for (size_t i = 0; i < TYPE_COUNT && used < sizeof(known); i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, " %s", types[i]->name);
    err_set(err, "type: \"%s\" is not known; it is one of those:%s", name ? name : "", known);
    return EXPORTER_BAD_CONFIG;
}

enum exporter_rc exporter_open(const struct exporter_settings *settings, struct exporter **out,
                               struct err *err)
{
    const char *name = settings->name ? settings->name : "";
    struct exporter *exporter = calloc(1, sizeof(*exporter));
    enum exporter_rc rc = EXPORTER_NOMEM;

    if (!exporter)
        return rc;
    rc = find_exporter_type(settings->type, &exporter->type, err);
    if (rc != EXPORTER_OK)
        goto fail;
    rc = exporter->type->open(settings, &exporter->self, err);
    if (rc != EXPORTER_OK)
        goto fail;
    *out = exporter;
    return EXPORTER_OK;

fail:
    err_within(err, "exporter %s", name);
    exporter_close(exporter);
    return rc;
}

enum exporter_form exporter_form(const struct exporter *exporter)
{
    return exporter->type->form_of ? exporter->type->form_of(exporter->self) : exporter->type->form;
}

enum exporter_rc exporter_send(struct exporter *exporter, const struct exporter_profile *profile,
                               int64_t now_ns, struct exporter_answer *answer)
{
    struct exporter_answer unasked;

    if (!answer)
        answer = &unasked;
    memset(answer, 0, sizeof(*answer));
    return exporter->type->send(exporter->self, profile, now_ns, answer);
}

bool exporter_probe(struct exporter *exporter, int64_t now_ns, struct exporter_probe *out)
{
    const struct http_body nothing = {.bytes = "", .size = 0};
    struct http_client *client =
        exporter->type->client ? exporter->type->client(exporter->self) : NULL;
    struct http_reply reply = {0};
    enum exporter_rc rc;

    if (!client)
        return false;
    *out = (struct exporter_probe){0};
    rc = http_client_post(client, &nothing, now_ns, &reply, &out->err);
    http_client_steps(client, out);
    if (rc != EXPORTER_OK) {
        out->answered_ns = 0;
        return true;
    }
    out->status = reply.status;
    out->date_ns = reply.date_ns;
    return true;
}

void exporter_cancel(struct exporter *exporter)
{
    exporter->type->cancel(exporter->self);
}

void exporter_close(struct exporter *exporter)
{
    if (!exporter)
        return;
    if (exporter->type)
        exporter->type->close(exporter->self);
    free(exporter);
}

const char *exporter_rc_label(enum exporter_rc rc)
{
    static const char *const labels[] = {
#define EXPORTER_LABEL(name, label, text) label,
        EXPORTER_OUTCOMES(EXPORTER_LABEL)
#undef EXPORTER_LABEL
    };

    return (size_t)rc < sizeof(labels) / sizeof(labels[0]) ? labels[rc] : "unknown";
}
