/* SPDX-License-Identifier: Apache-2.0 */
/* exporter.c - passes calls on to the type of the exporter. */
#include "exporters/exporter.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "exporters/http/client.h"
#include "exporters/http/curl_api.h"
#include "exporters/http/hidden.h"
#include "exporters/http/setup.h"
#include "exporters/ops.h"

/* What each row of exporter_types does. */
static const struct exporter_ops *const type_ops[EXPORTER_TYPES] = {
    [EXPORTER_STORE] = &store_ops,
    [EXPORTER_PYROSCOPE] = &pyroscope_ops,
    [EXPORTER_FILE] = &file_ops,
    [EXPORTER_OTLP] = &otlp_ops,
};

enum { WAIT_MS = 1000 };

/* A batch that was started, and has not been told to have ended. */
struct exporter_job {
    bool used, done;
    void *ctx;
    const struct batch *batch; /* borrowed */
    enum exporter_rc rc;
    struct exporter_answer answer;
};

struct exporter {
    const struct exporter_ops *ops; /* static */
    enum exporter_form form;
    void *self;           /* owned: of that type */
    atomic_bool canceled; /* without a server: no more profiles are written */
    struct exporter_job jobs[EXPORTER_IN_FLIGHT_MAX];
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

bool exporter_takes_header(const struct exporter_settings *settings, const struct label *header)
{
    return http_setup_check_header(settings, header, NULL) == EXPORTER_OK;
}

void exporter_global_finish(void)
{
    libcurl.global_cleanup();
}

static enum exporter_form form_of(const struct exporter_settings *settings,
                                  const struct exporter *exporter)
{
    unsigned form = settings->gil ? settings->type->gil_form : settings->type->form;

    if (exporter->ops->is_whole && exporter->ops->is_whole(exporter->self))
        return EXPORTER_WHOLE;
    return (enum exporter_form)(exporter_is_limited(settings) ? form + EXPORTER_LIMITED : form);
}

enum exporter_rc exporter_open(const struct exporter_settings *settings, struct exporter **out,
                               struct err *err)
{
    struct exporter *exporter = calloc(1, sizeof(*exporter));
    enum exporter_rc rc;

    if (err)
        *err = (struct err){""};
    if (!exporter) {
        err_set(err, "out of memory");
        return EXPORTER_NOMEM;
    }
    exporter->ops = type_ops[settings->type - exporter_types];
    rc = exporter->ops->open(settings, &exporter->self, err);
    if (rc == EXPORTER_NOMEM)
        err_set(err, "out of memory"); /* `err` may be of a file that is awaited */
    if (rc != EXPORTER_OK) {
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

static struct http_client *client_of(const struct exporter *exporter)
{
    return exporter->ops->client ? exporter->ops->client(exporter->self) : NULL;
}

size_t exporter_in_flight_max(const struct exporter *exporter)
{
    const struct http_client *client = client_of(exporter);

    return client ? http_client_requests_max(client) : 1;
}

size_t exporter_profiles_max(const struct exporter *exporter)
{
    return exporter->ops->profiles_max ? exporter->ops->profiles_max(exporter->self)
                                       : BATCH_PROFILES_MAX;
}

/* Writes one profile, or gives it up. */
static enum exporter_rc write_or_give_up(struct exporter *exporter,
                                         const struct exporter_profile *profile, int64_t now_ns,
                                         struct exporter_answer *answer)
{
    if (!atomic_load(&exporter->canceled))
        return exporter->ops->write(exporter->self, profile, now_ns, answer);
    err_set(&answer->err, "given up, as asked");
    return EXPORTER_RETRY;
}

/* Writes all profiles of a batch that can be written; of others the last cause is told. */
static void write_batch(struct exporter *exporter, struct exporter_job *job, int64_t now_ns)
{
    struct exporter_answer answer, *whole = &job->answer;

    job->rc = EXPORTER_OK;
    for (size_t i = 0; i < job->batch->count; i++) {
        enum exporter_rc rc;

        answer = (struct exporter_answer){.status = 0};
        rc = write_or_give_up(exporter, &job->batch->profiles[i], now_ns, &answer);
        if (answer.note.text[0])
            whole->note = answer.note;
        if (rc == EXPORTER_OK)
            continue;
        whole->err = answer.err;
        if (job->rc != EXPORTER_RETRY && job->rc != EXPORTER_NOMEM)
            job->rc = rc; /* one that may be taken later keeps all that failed */
        batch_set_add(&whole->failed, i);
        whole->failed_count++;
    }
    job->done = true;
}

static void post_batch(struct exporter *exporter, struct exporter_job *job, int64_t now_ns)
{
    struct http_client *client = client_of(exporter);
    struct http_request *request = http_client_begin(client);
    struct http_body body;

    job->rc = EXPORTER_NOMEM; /* as many as may be in flight have room */
    if (request)
        job->rc = exporter->ops->encode(exporter->self, job->batch, request, &body, &job->answer);
    if (job->rc == EXPORTER_OK) {
        http_client_start(client, request, &body, now_ns, job);
        return;
    }
    if (request)
        http_client_end(client, request);
    job->done = true;
}

void exporter_start(struct exporter *exporter, const struct batch *batch, int64_t now_ns, void *ctx)
{
    struct exporter_job *job = exporter->jobs;

    while (job->used)
        job++; /* whoever starts more than exporter_in_flight_max ends up behind the last one */
    *job = (struct exporter_job){.used = true, .ctx = ctx, .batch = batch};
    if (exporter->ops->client)
        post_batch(exporter, job, now_ns);
    else
        write_batch(exporter, job, now_ns);
}

/* Takes over what became of a request. */
static struct exporter_job *finish_push(struct exporter *exporter, struct http_done *done)
{
    struct exporter_job *job = done->ctx;
    struct exporter_answer *answer = &job->answer;

    job->rc = done->rc;
    answer->unsent = done->reply->unsent;
    answer->err = done->err;
    if (done->rc == EXPORTER_OK)
        job->rc = exporter->ops->judge(exporter->self, job->batch, done->reply, answer);
    http_client_end(client_of(exporter), done->request);
    return job;
}

static struct exporter_job *find_done_job(struct exporter *exporter)
{
    for (size_t i = 0; i < EXPORTER_IN_FLIGHT_MAX; i++)
        if (exporter->jobs[i].used && exporter->jobs[i].done)
            return &exporter->jobs[i];
    return NULL;
}

bool exporter_wait(struct exporter *exporter, unsigned timeout_ms, struct exporter_result *out)
{
    struct http_client *client = client_of(exporter);
    struct exporter_job *job = find_done_job(exporter);
    struct http_done done;

    if (!job && client && http_client_wait(client, timeout_ms, &done))
        job = finish_push(exporter, &done);
    if (!job)
        return false;
    *out = (struct exporter_result){job->ctx, job->rc, job->answer};
    if (out->rc == EXPORTER_NOMEM && !out->answer.err.text[0])
        err_set(&out->answer.err, "out of memory");
    job->used = false;
    return true;
}

void exporter_wake(struct exporter *exporter)
{
    struct http_client *client = client_of(exporter);

    if (client)
        http_client_wake(client);
}

void exporter_reconnect(struct exporter *exporter)
{
    struct http_client *client = client_of(exporter);

    if (client)
        http_client_reconnect(client);
}

enum exporter_rc exporter_send(struct exporter *exporter, const struct batch *batch, int64_t now_ns,
                               struct exporter_answer *answer)
{
    struct exporter_result result;

    exporter_start(exporter, batch, now_ns, NULL);
    while (!exporter_wait(exporter, WAIT_MS, &result))
        ;
    if (answer)
        *answer = result.answer;
    return result.rc;
}

/* Sends the batch, and tells how that went. */
static void probe_with(struct exporter *exporter, const struct batch *batch,
                       struct http_request *request, int64_t now_ns, struct exporter_probe *out)
{
    struct http_client *client = client_of(exporter);
    struct exporter_answer answer = {.status = 0};
    struct http_done done;
    struct http_body body;

    out->rc = exporter->ops->encode(exporter->self, batch, request, &body, &answer);
    out->err = answer.err;
    if (out->rc != EXPORTER_OK)
        return;
    http_client_start(client, request, &body, now_ns, NULL);
    while (!http_client_wait(client, WAIT_MS, &done))
        ;
    http_request_steps(client, request, out);
    out->rc = done.rc;
    out->err = done.err;
    if (done.rc == EXPORTER_OK) {
        out->rc = exporter->ops->judge(exporter->self, batch, done.reply, &answer);
        out->err = answer.err;
        out->status = done.reply->status;
        out->date_ns = done.reply->date_ns;
    } else {
        out->answered_ns = 0;
    }
}

bool exporter_probe(struct exporter *exporter, int64_t now_ns, struct exporter_probe *out)
{
    const struct exporter_profile profile = {.service = "pystrobe-doctor",
                                             .type = "cpu",
                                             .start_ns = now_ns,
                                             .end_ns = now_ns,
                                             .bytes = exporter->ops->empty,
                                             .size = exporter->ops->empty_size};
    const struct batch batch = {.count = 1, .profiles = &profile};
    struct http_client *client = client_of(exporter);
    struct http_request *request = client ? http_client_begin(client) : NULL;

    if (!request)
        return false;
    *out = (struct exporter_probe){0};
    probe_with(exporter, &batch, request, now_ns, out);
    http_client_end(client, request);
    return true;
}

void exporter_cancel(struct exporter *exporter)
{
    struct http_client *client = client_of(exporter);

    if (client)
        http_client_cancel(client);
    else
        atomic_store(&exporter->canceled, true); /* a write that is under way is finished */
}

void exporter_close(struct exporter *exporter)
{
    if (!exporter)
        return;
    exporter->ops->close(exporter->self);
    free(exporter);
}
