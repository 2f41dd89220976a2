/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp.c - knows how an OTLP receiver takes a request, over HTTP or gRPC, and what its answers
 * mean.
 *
 * A success which rejects a part is final by the specification: what it rejected is counted and
 * told, never sent again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "exporters/grpc.h"
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

static const struct http_protocol over_http = {
    .server = "an OTLP receiver of profiles",
    .hint = "",
    .again = again,
    .again_count = sizeof(again) / sizeof(again[0]),
    .is_answer = is_otlp_answer,
};

/* For what others than gRPC answer. */
static const struct http_protocol over_grpc = {
    .server = "an OTLP receiver of profiles over gRPC",
    .hint = " protocol = http/protobuf is for its port for HTTP, 4318 as a rule",
    .again = again,
    .again_count = sizeof(again) / sizeof(again[0]),
    .is_answer = grpc_is_reply,
};

struct otlp {
    struct http_client *client; /* owned */
    bool plain;                 /* the body goes out unpacked */
    bool grpc;
};

static void otlp_close(void *self)
{
    struct otlp *otlp = self;

    if (!otlp)
        return;
    http_client_close(otlp->client);
    free(otlp);
}

static enum exporter_rc open_http(struct otlp *otlp, const struct exporter_settings *settings,
                                  struct err *err)
{
    const struct http_resource resource = {
        .path = settings->url_is_whole ? NULL : exporter_path(settings),
        .content_type = "application/x-protobuf",
        .content_encoding = otlp->plain ? NULL : "gzip",
        .hint = " (does HTTP listen there? A port for gRPC, 4317 as a rule, needs protocol = grpc)",
    };

    return http_client_open(settings, &resource, &otlp->client, err);
}

static enum exporter_rc open_grpc(struct otlp *otlp, const struct exporter_settings *settings,
                                  struct err *err)
{
    const uint64_t timeout_ns =
        settings->timeout_ns ? settings->timeout_ns : HTTP_TIMEOUT_DEFAULT_MS * NS_PER_MS;
    struct grpc_headers headers;
    struct http_resource resource = {
        .path = exporter_path(settings),
        .content_type = "application/grpc",
        .headers = headers.items,
        .trailed = &grpc_trailed,
        .hint =
            " (does gRPC listen there, with TLS if url begins with https? A port for HTTP, 4318 "
            "as a rule, needs protocol = http/protobuf)",
    };

    grpc_headers(timeout_ns, !otlp->plain, &headers);
    resource.header_count = headers.count;
    return http_client_open(settings, &resource, &otlp->client, err);
}

static enum exporter_rc otlp_open(const struct exporter_settings *settings, void **out,
                                  struct err *err)
{
    struct otlp *otlp = calloc(1, sizeof(*otlp));
    enum exporter_rc rc;

    if (!otlp)
        return EXPORTER_NOMEM;
    otlp->plain = settings->compression && strcmp(settings->compression, "none") == 0;
    otlp->grpc = exporter_is_grpc(settings);
    rc = otlp->grpc ? open_grpc(otlp, settings, err) : open_http(otlp, settings, err);
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
    struct buf *body = http_request_buf(request);
    const struct otlp *otlp = self;
    enum exporter_rc rc = EXPORTER_OK;

    *out = (struct http_body){.bytes = profile->bytes, .size = profile->size};
    if (!otlp->plain && !otlp->grpc)
        return rc;
    if (otlp->grpc)
        grpc_begin(!otlp->plain, body);
    if (otlp->plain)
        rc = unpack_gzip(profile->bytes, profile->size, body);
    else
        buf_add(body, profile->bytes, profile->size);
    if (otlp->grpc)
        grpc_end(body);
    if (rc == EXPORTER_REFUSED)
        err_set(&answer->err, "the request is damaged: it cannot be unpacked");
    else if (buf_failed(body))
        rc = EXPORTER_NOMEM;
    *out = (struct http_body){.bytes = body->data, .size = body->size};
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

static enum exporter_rc judge_http(const struct http_reply *reply, struct exporter_answer *answer)
{
    struct otlp_reply status;

    if (!otlp_reply_status(reply->body, reply->size, &status))
        status = (struct otlp_reply){.words = reply->body, .words_size = reply->size};
    return http_judge(&over_http, reply, status.words, status.words_size, answer);
}

/*
 * What the specification names, and what is 500 over HTTP. A lack of resources passes only if the
 * server says when: else it is a message that is too large.
 */
static bool is_again_by_grpc(enum grpc_code code, bool has_retry_info)
{
    static const bool again_by_code[] = {
        [GRPC_CANCELLED] = true,   [GRPC_UNKNOWN] = true,      [GRPC_DEADLINE_EXCEEDED] = true,
        [GRPC_ABORTED] = true,     [GRPC_OUT_OF_RANGE] = true, [GRPC_INTERNAL] = true,
        [GRPC_UNAVAILABLE] = true, [GRPC_DATA_LOSS] = true,    [GRPC_UNAUTHENTICATED] = false,
    };

    return code == GRPC_RESOURCE_EXHAUSTED ? has_retry_info : again_by_code[code];
}

static enum exporter_rc judge_grpc(const struct http_reply *reply, struct exporter_answer *answer)
{
    const char *advice = http_advice_on(reply->status);
    char words[HTTP_WORDS_MAX], where[HTTP_WORDS_MAX] = "";
    enum grpc_code code;
    bool again_by_info;

    if (!grpc_is_reply(reply))
        return http_judge(&over_grpc, reply, reply->body, reply->size, answer);
    answer->status = reply->status;
    code = grpc_code(reply);
    if (code == GRPC_OK)
        return EXPORTER_OK;
    http_words(grpc_words(reply), strlen(grpc_words(reply)), words);
    if (code == GRPC_UNIMPLEMENTED)
        (void)snprintf(where, sizeof(where), " (is there an OTLP receiver of profiles at %s?)",
                       reply->url);
    err_set(&answer->err, "the server answered %s%s%s%s%s", grpc_code_name(code), advice, where,
            words[0] ? ": " : "", words);
    answer->denied = code == GRPC_UNAUTHENTICATED || code == GRPC_PERMISSION_DENIED;
    again_by_info = grpc_retry_info(reply, &answer->retry_after_ns);
    return answer->denied || is_again_by_grpc(code, again_by_info) ? EXPORTER_RETRY
                                                                   : EXPORTER_REFUSED;
}

static enum exporter_rc otlp_judge(void *self, const struct batch *batch,
                                   const struct http_reply *reply, struct exporter_answer *answer)
{
    const struct otlp *otlp = self;
    enum exporter_rc rc = otlp->grpc ? judge_grpc(reply, answer) : judge_http(reply, answer);

    (void)batch;
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
