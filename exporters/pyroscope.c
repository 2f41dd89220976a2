/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyroscope.c - knows where Pyroscope takes profiles and what its answers mean.
 *
 * One profile a request: Pyroscope handles the series of a request one by one and
 * answers for all with one code, so that a batch that is tried again is counted
 * twice. Nobody there tells repeated profiles apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/buf.h"
#include "exporters/http/judge.h"
#include "exporters/ingest.h"
#include "exporters/ops.h"
#include "exporters/push.h"

enum {
    MESSAGE_MAX = 64 * 1024 * 1024, /* servers take 4 MiB of plain pprof by default */
    SCRATCH_MAX = 512 * 1024,       /* labels: 28 of at most 3 KiB, and their messages */
    QUERY_MAX = 512 * 1024,         /* 28 labels, each byte as %XX */
    ID_SIZE = 37,                   /* a UUID as text */
    BOUNDARY_SIZE = ID_SIZE + 9
};

/*
 * 500 is among those that are tried again, though it also stands for a broken pprof, as a
 * server that starts or has lost its storage answers so too; 429 although a profile above
 * the tenant's burst never passes. So the caller's tries must be finite. 422 is what
 * ingest says when its storage is down.
 */
static const long again[] = {408, 429, 500, 502, 503, 504, 422};

static const struct http_protocol push_protocol = {
    .absent = "is there a Pyroscope at url? One from before Push wants legacy = ingest",
    .again = again,
    .again_count = sizeof(again) / sizeof(again[0]) - 1,
};

static const struct http_protocol ingest_protocol = {
    .absent = "is there a Pyroscope at url? One from before Push wants legacy = ingest",
    .again = again,
    .again_count = sizeof(again) / sizeof(again[0]),
};

struct pyroscope {
    struct http_client *client; /* owned */
    bool ingest;                /* the server is older than Push */
    bool told;                  /* of labels that are left out */
    char boundary[BOUNDARY_SIZE];
    struct arena scratch; /* owned: of one send */
    struct buf message;   /* owned: of one send, memory kept */
    struct buf query;     /* owned: of one send; empty with Push */
};

static void pyroscope_close(void *self)
{
    struct pyroscope *pyroscope = self;

    if (!pyroscope)
        return;
    http_client_close(pyroscope->client);
    arena_finish(&pyroscope->scratch);
    buf_finish(&pyroscope->message);
    buf_finish(&pyroscope->query);
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

static enum exporter_rc open_client(struct pyroscope *pyroscope,
                                    const struct exporter_settings *settings, struct err *err)
{
    static const struct http_resource push = {
        .path = "push.v1.PusherService/Push",
        .content_type = "application/proto",
    };
    char id[ID_SIZE], type[BOUNDARY_SIZE + 32];
    const struct http_resource ingest = {.path = "ingest", .content_type = type};

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
    buf_init(&pyroscope->message, MESSAGE_MAX);
    buf_init(&pyroscope->query, QUERY_MAX);
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

static enum exporter_rc encode_ingest(struct pyroscope *pyroscope,
                                      const struct exporter_profile *profile,
                                      const struct push_labels *labels)
{
    if (!is_plain_type_name(profile->type))
        return EXPORTER_REFUSED;
    ingest_query(profile, labels, &pyroscope->query);
    ingest_body(profile, pyroscope->boundary, &pyroscope->message);
    return buf_failed(&pyroscope->query) || buf_failed(&pyroscope->message) ? EXPORTER_REFUSED
                                                                            : EXPORTER_OK;
}

static enum exporter_rc encode_push(struct pyroscope *pyroscope,
                                    const struct exporter_profile *profile,
                                    const struct push_labels *labels, struct err *err)
{
    char id[ID_SIZE];

    if (make_id(id))
        return push_encode(labels, id, profile, &pyroscope->scratch, &pyroscope->message);
    err_set(err, "no random numbers from the kernel");
    return EXPORTER_RETRY;
}

/* Once: the labels of the next profile are most likely the same. */
static void tell(struct pyroscope *pyroscope, const struct push_labels *labels, struct err *note)
{
    if (!labels->left_out || pyroscope->told)
        return;
    pyroscope->told = true;
    err_set(note,
            "a Pyroscope takes no more than %d labels: \"%.64s\", and what comes after it, "
            "is left out",
            PUSH_LABELS_MAX, labels->left_out);
}

static enum exporter_rc encode_push_message(struct pyroscope *pyroscope,
                                            const struct exporter_profile *profile,
                                            struct exporter_answer *answer)
{
    struct push_labels labels;
    enum exporter_rc rc;

    arena_reset(&pyroscope->scratch);
    buf_reset(&pyroscope->message);
    buf_reset(&pyroscope->query);
    rc = push_labels(profile, &pyroscope->scratch, &labels, &answer->err);
    if (rc != EXPORTER_OK)
        return rc;
    tell(pyroscope, &labels, &answer->note);
    rc = pyroscope->ingest ? encode_ingest(pyroscope, profile, &labels)
                           : encode_push(pyroscope, profile, &labels, &answer->err);
    if (rc == EXPORTER_REFUSED)
        err_set(&answer->err, "the profile is larger than 64 MiB, or its type is not known");
    return rc;
}

static enum exporter_rc pyroscope_send(void *self, const struct exporter_profile *profile,
                                       int64_t now_ns, struct exporter_answer *answer)
{
    struct pyroscope *pyroscope = self;
    struct http_reply reply;
    struct http_body body;
    enum exporter_rc rc = encode_push_message(pyroscope, profile, answer);

    if (rc != EXPORTER_OK)
        return rc;
    body = (struct http_body){.bytes = pyroscope->message.data,
                              .size = pyroscope->message.size,
                              .query = pyroscope->ingest ? buf_text(&pyroscope->query) : NULL};
    rc = http_client_post(pyroscope->client, &body, now_ns, &reply, &answer->err);
    if (rc != EXPORTER_OK) {
        answer->unsent = reply.unsent;
        return rc;
    }
    return http_judge(pyroscope->ingest ? &ingest_protocol : &push_protocol, &reply, reply.body,
                      reply.size, answer);
}

static struct http_client *pyroscope_client(void *self)
{
    struct pyroscope *pyroscope = self;

    return pyroscope->client;
}

const struct exporter_ops pyroscope_ops = {
    .open = pyroscope_open,
    .send = pyroscope_send,
    .client = pyroscope_client,
    .close = pyroscope_close,
};
