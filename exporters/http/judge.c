/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c - see judge.h. */
#include "exporters/http/judge.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "exporters/http/text.h"

static bool is_again(const struct http_protocol *protocol, long status)
{
    for (size_t i = 0; i < protocol->again_count; i++) {
        if (protocol->again[i] == status)
            return true;
    }
    return false;
}

const char *http_advice_on(long status)
{
    if (status >= 300 && status <= 399)
        return " (redirects are not followed: put the right address into url)";
    if (status == 401 || status == 403)
        return " (look at user, password_file, token_file and tenant)";
    return status == 407 ? " (the proxy wants a login: look at proxy_login_file)" : "";
}

bool http_is_type(const struct http_reply *reply, const char *type)
{
    size_t size = strlen(type);

    return strncasecmp(reply->type, type, size) == 0 && strchr("; \t", reply->type[size]);
}

void http_words(const void *words, size_t size, char out[HTTP_WORDS_MAX])
{
    const size_t half = ERR_TEXT_MAX / 2; /* of which an err keeps less, of each end */
    const unsigned char *bytes = words;
    size_t used = text_printable(bytes, size < 2 * half ? size : half, out, HTTP_WORDS_MAX);

    if (size >= 2 * half)
        (void)text_printable(bytes + size - half, half, out + used, HTTP_WORDS_MAX - used);
}

/* Says what came where the protocol's server, or its path, is not. */
static void set_absent(const struct http_protocol *protocol, const struct http_reply *reply,
                       bool success, const char *words, struct err *err)
{
    const char *type = reply->type[0] ? reply->type : "no Content-Type";

    err_set(err, "the server answered %ld%s%s (is there %s at %s?%s)%s%s", reply->status,
            success ? " with " : "", success ? type : "", protocol->server, reply->url,
            protocol->hint, words[0] ? ": " : "", words);
}

enum exporter_rc http_judge(const struct http_protocol *protocol, const struct http_reply *reply,
                            const void *words, size_t words_size, struct exporter_answer *answer)
{
    bool success = reply->status >= 200 && reply->status <= 299;
    char shown[HTTP_WORDS_MAX];
    long status = reply->status;

    answer->status = status;
    if (success && protocol->is_answer(reply))
        return EXPORTER_OK;
    http_words(words, words_size, shown);
    if (success || status == 404 || status == 405 || status == 415)
        set_absent(protocol, reply, success, shown, &answer->err);
    else
        err_set(&answer->err, "the server answered %ld%s%s%s", status, http_advice_on(status),
                shown[0] ? ": " : "", shown);
    answer->denied = success || status == 401 || status == 403 || status == 407;
    if (!answer->denied && !is_again(protocol, status))
        return EXPORTER_REFUSED;
    answer->retry_after_ns = reply->retry_after_ns;
    return EXPORTER_RETRY;
}
