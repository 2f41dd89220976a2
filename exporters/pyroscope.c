/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyroscope.c - knows where Pyroscope takes profiles and what its answers mean.
 *
 * A request has all profiles of a batch. Pyroscope handles each by itself, stores the good ones
 * whatever becomes of the others, and answers with one status for all; its words name those that
 * failed (push.h). Nobody there tells repeated profiles apart: where it names none, and all are
 * sent again, some may count twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"
#include "exporters/http/judge.h"
#include "exporters/ingest.h"
#include "exporters/ops.h"
#include "exporters/push.h"

enum {
    SCRATCH_MAX = 1 << 20, /* labels: BATCH_LABELS_MAX of at most 3 KiB, and their messages */
    ID_SIZE = 37,          /* a UUID as text */
    BOUNDARY_SIZE = ID_SIZE + 9
};

/*
 * 500 is among those that are tried again, though it also stands for a broken pprof, as a
 * server that starts or has lost its storage answers so too; 429 although a profile above
 * the tenant's burst never passes. So the caller's tries must be finite. 422 is what
 * ingest says when its storage is down.
 */
static const long again[] = {408, 429, 500, 502, 503, 504, 422};

/* An empty message; its body may have been packed nevertheless. */
static bool is_push_answer(const struct http_reply *reply)
{
    return reply->type[0] ? http_is_type(reply, "application/proto") : reply->size == 0;
}

static bool is_ingest_answer(const struct http_reply *reply)
{
    return reply->size == 0 && !http_is_type(reply, "text/html");
}

static const struct http_protocol push_protocol = {
    .server = "a Pyroscope",
    .hint = " One from before Push wants legacy = ingest",
    .again = again,
    .again_count = sizeof(again) / sizeof(again[0]) - 1,
    .is_answer = is_push_answer,
};

static const struct http_protocol ingest_protocol = {
    .server = "a Pyroscope",
    .hint = "",
    .again = again,
    .again_count = sizeof(again) / sizeof(again[0]),
    .is_answer = is_ingest_answer,
};

struct pyroscope {
    struct http_client *client; /* owned */
    bool ingest;                /* the server is older than Push */
    char boundary[BOUNDARY_SIZE];
    struct arena scratch; /* owned: of one profile */
};

static void pyroscope_close(void *self)
{
    struct pyroscope *pyroscope = self;

    if (!pyroscope)
        return;
    http_client_close(pyroscope->client);
    arena_finish(&pyroscope->scratch);
    free(pyroscope);
}

/* A random UUID, RFC 9562 version 4. */
static bool make_id(char id[ID_SIZE])
{
    unsigned char b[16];

    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
        return false;
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    (void)snprintf(id, ID_SIZE,
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                   b[14], b[15]);
    return true;
}

static const char port_hint[] =
    " (does HTTP listen there? A Pyroscope's port for it is 4040 as a rule)";

static enum exporter_rc open_client(struct pyroscope *pyroscope,
                                    const struct exporter_settings *settings, struct err *err)
{
    const struct http_resource push = {
        .path = exporter_path(settings),
        .content_type = "application/proto",
        .hint = port_hint,
    };
    char id[ID_SIZE], type[BOUNDARY_SIZE + 32];
    const struct http_resource ingest = {
        .path = exporter_path(settings), .content_type = type, .hint = port_hint};

    if (!pyroscope->ingest)
        return http_client_open(settings, &push, &pyroscope->client, err);
    if (!make_id(id)) {
        err_set(err, "no random numbers from the kernel");
        return EXPORTER_BAD_CONFIG;
    }
    (void)snprintf(pyroscope->boundary, sizeof(pyroscope->boundary), "pystrobe-%s", id);
    (void)snprintf(type, sizeof(type), "multipart/form-data; boundary=%s", pyroscope->boundary);
    return http_client_open(settings, &ingest, &pyroscope->client, err);
}

static enum exporter_rc pyroscope_open(const struct exporter_settings *settings, void **out,
                                       struct err *err)
{
    struct pyroscope *pyroscope = calloc(1, sizeof(*pyroscope));
    enum exporter_rc rc;

    if (!pyroscope)
        return EXPORTER_NOMEM;
    pyroscope->ingest = settings->legacy && strcmp(settings->legacy, "ingest") == 0;
    arena_init(&pyroscope->scratch, SCRATCH_MAX);
    rc = open_client(pyroscope, settings, err);
    if (rc == EXPORTER_OK)
        *out = pyroscope;
    else
        pyroscope_close(pyroscope);
    return rc;
}

/* A type comes from a spool, too, and goes into JSON. */
static bool is_plain_type_name(const char *type)
{
    return type[strspn(type, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* Appends a message of one profile: messages one after the other are one with all of them. */
static enum exporter_rc append_push(struct pyroscope *pyroscope,
                                    const struct exporter_profile *profile, struct buf *out,
                                    struct exporter_answer *answer)
{
    struct push_labels labels;
    enum exporter_rc rc;
    char id[ID_SIZE];

    arena_reset(&pyroscope->scratch);
    rc = push_labels(profile, &pyroscope->scratch, &labels, &answer->err);
    if (rc != EXPORTER_OK)
        return rc;
    if (make_id(id))
        return push_encode(&labels, id, profile, &pyroscope->scratch, out);
    err_set(&answer->err, "no random numbers from the kernel");
    return EXPORTER_RETRY;
}

static enum exporter_rc encode_push(struct pyroscope *pyroscope, const struct batch *batch,
                                    struct buf *out, struct exporter_answer *answer)
{
    enum exporter_rc rc = EXPORTER_OK;

    for (size_t i = 0; rc == EXPORTER_OK && i < batch->count; i++)
        rc = append_push(pyroscope, &batch->profiles[i], out, answer);
    return rc;
}

/* The query lies behind the body, in the same buffer. */
static enum exporter_rc encode_ingest(struct pyroscope *pyroscope,
                                      const struct exporter_profile *profile, struct buf *out,
                                      struct http_body *body, struct exporter_answer *answer)
{
    struct push_labels labels;
    enum exporter_rc rc;

    arena_reset(&pyroscope->scratch);
    rc = push_labels(profile, &pyroscope->scratch, &labels, &answer->err);
    if (rc != EXPORTER_OK)
        return rc;
    if (!is_plain_type_name(profile->type))
        return EXPORTER_REFUSED;
    ingest_body(profile, pyroscope->boundary, out);
    body->size = out->size;
    ingest_query(profile, &labels, out);
    buf_add(out, "", 1); /* its NUL */
    return buf_failed(out) ? EXPORTER_REFUSED : EXPORTER_OK;
}

static enum exporter_rc pyroscope_encode(void *self, const struct batch *batch,
                                         struct http_request *request, struct http_body *out,
                                         struct exporter_answer *answer)
{
    struct buf *message = http_request_buf(request);
    struct pyroscope *pyroscope = self;
    enum exporter_rc rc;

    *out = (struct http_body){.bytes = NULL};
    rc = pyroscope->ingest ? encode_ingest(pyroscope, &batch->profiles[0], message, out, answer)
                           : encode_push(pyroscope, batch, message, answer);
    if (rc == EXPORTER_REFUSED && !answer->err.text[0])
        err_set(&answer->err, "the profile is larger than 64 MiB, or its type is not known");
    out->bytes = message->data;
    if (pyroscope->ingest)
        out->query = (const char *)message->data + out->size;
    else
        out->size = message->size;
    return rc;
}

static enum exporter_rc pyroscope_judge(void *self, const struct batch *batch,
                                        const struct http_reply *reply,
                                        struct exporter_answer *answer)
{
    const struct pyroscope *pyroscope = self;
    enum exporter_rc rc = http_judge(pyroscope->ingest ? &ingest_protocol : &push_protocol, reply,
                                     reply->body, reply->size, answer);

    if (rc != EXPORTER_OK && !answer->denied)
        push_failed(reply->body, reply->size, batch, answer);
    return rc;
}

/* The old way has one profile a request. */
static size_t pyroscope_profiles_max(const void *self)
{
    const struct pyroscope *pyroscope = self;

    return pyroscope->ingest ? 1 : BATCH_PROFILES_MAX;
}

static struct http_client *pyroscope_client(void *self)
{
    struct pyroscope *pyroscope = self;

    return pyroscope->client;
}

/* A pprof of cpu/nanoseconds without samples, and of no time: a server takes now for it. */
static const char empty_pprof[] = "\x0a\x04\x08\x01\x10\x02"
                                  "\x32\x00\x32\x03"
                                  "cpu\x32\x0b"
                                  "nanoseconds\x5a\x04\x08\x01\x10\x02\x60\x01";

const struct exporter_ops pyroscope_ops = {
    .open = pyroscope_open,
    .close = pyroscope_close,
    .client = pyroscope_client,
    .encode = pyroscope_encode,
    .empty = empty_pprof,
    .empty_size = sizeof(empty_pprof) - 1,
    .judge = pyroscope_judge,
    .profiles_max = pyroscope_profiles_max,
};
