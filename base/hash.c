/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c - see hash.h. */
#include "base/hash.h"

#include <string.h>

uint64_t hash_fnv(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    while (size-- > 0)
        hash = (hash ^ *at++) * UINT64_C(1099511628211);
    return hash;
}

uint64_t hash_text(const char *text)
{
    return hash_fnv(HASH_START, text, strlen(text));
}

uint32_t hash_text_32(const char *text)
{
    uint32_t hash = 2166136261U;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619U;
    return hash;
}
