/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_web_query.c - any words of an address: what is taken names a folder and times in order. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/serve/web_query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 1024 };

/* The input as lines of NAME=VALUE. */
static const char *get(const void *ctx, const char *name)
{
    const char *at = ctx;
    size_t size = strlen(name);

    for (; *at; at += strlen(at) + 1)
        if (strncmp(at, name, size) == 0 && at[size] == '=')
            return at + size + 1;
    return NULL;
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check(const struct web_query *query)
{
    struct web_command command;
    size_t i;

    require(store_name_is_service(query->service) && !strchr(query->service, '/'));
    require(query->range.from_ms >= 0 && query->range.from_ms < query->range.to_ms);
    require(!query->compares || query->before.from_ms < query->before.to_ms);
    require(query->type[0] != '-');
    require(!query->label[0] || strchr(query->label + 1, '='));
    web_query_command("/store", "graph", query, &command);
    for (i = 0; i < WEB_ARGV_MAX && command.argv[i]; i++)
        require(strlen(command.argv[i]) < WEB_LABEL_SIZE);
    require(i >= 8 && i < WEB_ARGV_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[WORDS_MAX + 2] = {0};
    const struct web_words words = {get, text};
    struct web_query query;
    struct err err = {""};
    size_t i;

    size = size < WORDS_MAX ? size : WORDS_MAX;
    if (size > 0)
        memcpy(text, data, size);
    for (i = 0; i < size; i++)
        if (text[i] == '\n')
            text[i] = '\0';
    if (web_query_read(&words, &query, &err))
        check(&query);
    else
        require(err.text[0] != '\0');
    return 0;
}
