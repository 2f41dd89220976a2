/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c - see judge.h. */
#include "exporters/http/judge.h"

#include <stdio.h>

#include "exporters/http/text.h"

enum { ADVICE_MAX = 128 };

static bool is_again(const struct http_protocol *protocol, long status)
{
    for (size_t i = 0; i < protocol->again_count; i++) {
        if (protocol->again[i] == status)
            return true;
    }
    return false;
}

static void advise(const struct http_protocol *protocol, long status, char out[ADVICE_MAX])
{
    out[0] = '\0';
    if (status >= 300 && status <= 399)
        (void)snprintf(out, ADVICE_MAX,
                       " (redirects are not followed: put the right address into url)");
    else if (status == 401 || status == 403)
        (void)snprintf(out, ADVICE_MAX, " (look at user, password_file, token_file and tenant)");
    else if (status == 407)
        (void)snprintf(out, ADVICE_MAX, " (the proxy wants a login: look at proxy_login_file)");
    else if (status == 404 || status == 405 || status == 415)
        (void)snprintf(out, ADVICE_MAX, " (%s)", protocol->absent);
}

void http_words(const void *words, size_t size, char out[HTTP_WORDS_MAX])
{
    const size_t half = ERR_TEXT_MAX / 2; /* of which an err keeps less, of each end */
    const unsigned char *bytes = words;
    size_t used = text_printable(bytes, size < 2 * half ? size : half, out, HTTP_WORDS_MAX);

    if (size >= 2 * half)
        (void)text_printable(bytes + size - half, half, out + used, HTTP_WORDS_MAX - used);
}

enum exporter_rc http_judge(const struct http_protocol *protocol, const struct http_reply *reply,
                            const void *words, size_t words_size, struct exporter_answer *answer)
{
    char shown[HTTP_WORDS_MAX], advice[ADVICE_MAX];

    answer->status = reply->status;
    if (reply->status >= 200 && reply->status <= 299)
        return EXPORTER_OK;
    advise(protocol, reply->status, advice);
    http_words(words, words_size, shown);
    err_set(&answer->err, "the server answered %ld%s%s%s", reply->status, advice,
            shown[0] ? ": " : "", shown);
    answer->denied = reply->status == 401 || reply->status == 403 || reply->status == 407;
    if (!answer->denied && !is_again(protocol, reply->status))
        return EXPORTER_REFUSED;
    answer->retry_after_ns = reply->retry_after_ns;
    return EXPORTER_RETRY;
}
