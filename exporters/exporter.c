/* SPDX-License-Identifier: Apache-2.0 */
/* exporter.c - passes calls on to the type of the exporter. */
#include "exporters/exporter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/http/client.h"
#include "exporters/http/curl_api.h"
#include "exporters/http/hidden.h"
#include "exporters/ops.h"

/* What each row of exporter_types does. */
static const struct exporter_ops *const type_ops[EXPORTER_TYPES] = {
    [EXPORTER_STORE] = &store_ops,
    [EXPORTER_PYROSCOPE] = &pyroscope_ops,
    [EXPORTER_FILE] = &file_ops,
    [EXPORTER_OTLP] = &otlp_ops,
};

struct exporter {
    const struct exporter_ops *ops; /* static */
    enum exporter_form form;
    void *self; /* owned: of that type */
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

static enum exporter_form form_of(const struct exporter_settings *settings,
                                  const struct exporter *exporter)
{
    if (exporter->ops->is_whole && exporter->ops->is_whole(exporter->self))
        return EXPORTER_WHOLE;
    return settings->gil ? settings->type->gil_form : settings->type->form;
}

enum exporter_rc exporter_open(const struct exporter_settings *settings, struct exporter **out,
                               struct err *err)
{
    struct exporter *exporter = calloc(1, sizeof(*exporter));
    enum exporter_rc rc;

    if (!exporter)
        return EXPORTER_NOMEM;
    exporter->ops = type_ops[settings->type - exporter_types];
    rc = exporter->ops->open(settings, &exporter->self, err);
    if (rc != EXPORTER_OK) {
        err_within(err, "exporter %s", settings->name ? settings->name : "");
        exporter_close(exporter);
        return rc;
    }
    exporter->form = form_of(settings, exporter);
    *out = exporter;
    return EXPORTER_OK;
}

enum exporter_form exporter_form(const struct exporter *exporter)
{
    return exporter->form;
}

enum exporter_rc exporter_send(struct exporter *exporter, const struct exporter_profile *profile,
                               int64_t now_ns, struct exporter_answer *answer)
{
    struct exporter_answer unasked;

    if (!answer)
        answer = &unasked;
    memset(answer, 0, sizeof(*answer));
    return exporter->ops->send(exporter->self, profile, now_ns, answer);
}

bool exporter_probe(struct exporter *exporter, int64_t now_ns, struct exporter_probe *out)
{
    const struct http_body nothing = {.bytes = "", .size = 0};
    struct http_client *client =
        exporter->ops->client ? exporter->ops->client(exporter->self) : NULL;
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
    if (exporter->ops->cancel)
        exporter->ops->cancel(exporter->self);
    else
        http_client_cancel(exporter->ops->client(exporter->self));
}

void exporter_close(struct exporter *exporter)
{
    if (!exporter)
        return;
    exporter->ops->close(exporter->self);
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
