/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp.c - knows how an OTLP receiver takes a request over HTTP and what its answers mean.
 *
 * A success which rejects a part is final by the specification: what it rejected is counted and
 * told, never sent again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "exporters/http/judge.h"
#include "exporters/ops.h"
#include "exporters/otlp_reply.h"
#include "exporters/unpack.h"

/* Without it a server supposes version 1, and answers 400 if it has none such (proto PR 857). */
static const char version_header[] = "OTLP-Profiles-Development-Version";

/*
 * 500 is not among those that the specification names, but is what a Pyroscope answers while it
 * starts; and also to a request that it cannot read. So the caller's tries must be finite.
 */
static const long again[] = {429, 500, 502, 503, 504};

/* The type of a success is the request's, by the specification; only 204 has none. */
static bool is_otlp_answer(const struct http_reply *reply)
{
    if (!reply->type[0])
        return reply->size == 0;
    return http_is_type(reply, "application/x-protobuf") ||
           http_is_type(reply, "application/protobuf");
}

static const struct http_protocol protocol = {
    .server = "an OTLP receiver of profiles",
    .hint = "",
    .again = again,
    .again_count = sizeof(again) / sizeof(again[0]),
    .is_answer = is_otlp_answer,
};

struct otlp {
    struct http_client *client; /* owned */
    bool plain;                 /* the body goes out unpacked */
};

static void otlp_close(void *self)
{
    struct otlp *otlp = self;

    if (!otlp)
        return;
    http_client_close(otlp->client);
    free(otlp);
}

static enum exporter_rc otlp_open(const struct exporter_settings *settings, void **out,
                                  struct err *err)
{
    const bool plain = settings->compression && strcmp(settings->compression, "none") == 0;
    const struct http_resource resource = {
        .path = settings->url_is_whole ? NULL : settings->type->path,
        .content_type = "application/x-protobuf",
        .content_encoding = plain ? NULL : "gzip",
    };
    struct otlp *otlp = calloc(1, sizeof(*otlp));
    enum exporter_rc rc;

    if (!otlp)
        return EXPORTER_NOMEM;
    otlp->plain = plain;
    rc = http_client_open(settings, &resource, &otlp->client, err);
    if (rc == EXPORTER_OK)
        *out = otlp;
    else
        otlp_close(otlp);
    return rc;
}

static enum exporter_rc otlp_encode(void *self, const struct batch *batch,
                                    struct http_request *request, struct http_body *out,
                                    struct exporter_answer *answer)
{
    const struct exporter_profile *profile = &batch->profiles[0]; /* there is one: a request */
    struct buf *plain = http_request_buf(request);
    const struct otlp *otlp = self;
    enum exporter_rc rc = EXPORTER_OK;

    *out = (struct http_body){.bytes = profile->bytes, .size = profile->size};
    if (!otlp->plain)
        return rc;
    rc = unpack_gzip(profile->bytes, profile->size, plain);
    if (rc == EXPORTER_REFUSED)
        err_set(&answer->err, "the request is damaged: it cannot be unpacked");
    *out = (struct http_body){.bytes = plain->data, .size = plain->size};
    return rc;
}

/* A success may say that it took a part only. */
static void note_rejected(const struct http_reply *reply, struct exporter_answer *answer)
{
    char words[HTTP_WORDS_MAX];
    struct otlp_reply body;

    otlp_reply_success(reply->body, reply->size, &body);
    answer->dropped = body.rejected;
    if (body.rejected == 0 && body.words_size == 0)
        return;
    http_words(body.words, body.words_size, words);
    if (body.rejected == 0)
        err_set(&answer->note, "the server warns: %s", words);
    else
        err_set(&answer->note, "the server rejected %llu profiles of a request%s%s",
                (unsigned long long)body.rejected, words[0] ? ": " : "", words);
}

static enum exporter_rc otlp_judge(void *self, const struct batch *batch,
                                   const struct http_reply *reply, struct exporter_answer *answer)
{
    struct otlp_reply status;
    enum exporter_rc rc;

    (void)self;
    (void)batch;
    if (!otlp_reply_status(reply->body, reply->size, &status))
        status = (struct otlp_reply){.words = reply->body, .words_size = reply->size};
    rc = http_judge(&protocol, reply, status.words, status.words_size, answer);
    if (rc == EXPORTER_OK)
        note_rejected(reply, answer);
    else if (reply->status == 400 && strcasestr(answer->err.text, version_header))
        err_within(&answer->err,
                   "the server wants another version of OTLP profiles (header.%s = VERSION names "
                   "one)",
                   version_header);
    return rc;
}

/* A request is encoded as a whole, with all services of an interval. */
static size_t otlp_profiles_max(const void *self)
{
    (void)self;
    return 1;
}

static struct http_client *otlp_client(void *self)
{
    struct otlp *otlp = self;

    return otlp->client;
}

/* gzip'd: an empty resource_profiles, and a dictionary whose tables have their zero items. */
static const char empty_request[] =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xe3\x62\x10\xe2\xe3\x62\x10\x62\x90\x62\x50\x62"
    "\xd0\x62\x30\x62\xb0\x62\x00\x00\xbb\x1c\x1d\x99\x12\x00\x00\x00";

const struct exporter_ops otlp_ops = {
    .open = otlp_open,
    .close = otlp_close,
    .client = otlp_client,
    .encode = otlp_encode,
    .empty = empty_request,
    .empty_size = sizeof(empty_request) - 1,
    .judge = otlp_judge,
    .profiles_max = otlp_profiles_max,
};
