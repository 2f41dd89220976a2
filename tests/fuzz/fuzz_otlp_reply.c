/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_otlp_reply.c - any reply is read within its bounds, and its words lie in it. */
#include <stdlib.h>

#include "exporters/otlp_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(const uint8_t *bytes, size_t size, const struct otlp_reply *reply)
{
    if (reply->rejected > INT64_MAX)
        abort();
    if (reply->words && (reply->words < bytes || reply->words > bytes + size ||
                         reply->words_size > (size_t)(bytes + size - reply->words)))
        abort();
    if (!reply->words && reply->words_size > 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct otlp_reply reply;

    otlp_reply_success(bytes, size, &reply);
    check(bytes, size, &reply);
    if (otlp_reply_status(bytes, size, &reply) && !reply.words)
        abort();
    check(bytes, size, &reply);
    return 0;
}
